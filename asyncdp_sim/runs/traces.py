"""Traces on disk: a sweep simulates each network once, and its cells learn over the same traces."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.results import read_parquet
from asyncdp_sim.results.columns import (
    Columns,
    arrow_array,
    arrow_texts,
    from_arrow,
    update_columns,
)
from asyncdp_sim.results.manifest import VERSIONS, versions
from asyncdp_sim.results.write import Writer
from asyncdp_sim.scenario import Participants
from asyncdp_sim.trace import Ending, Trace
from asyncdp_sim.trace.vocabulary import EXCHANGES, OCCUPATION, OWNERS

_ONE_EACH = (
    "end_tick", "in_flight_total", "recomputed", "on_air_ticks", "one_on_one", "one_each",
    "answers_per_update", "in_order",
)  # fmt: skip
"""What a trace has one of."""
_OCCUPATION = "occupation.parquet"
_ONCE = "answers_once"
"""What it has one of where it is so: files of other traces are as they always were."""


def write_traces(
    traces: Sequence[Trace],
    directory: Path,
    metadata: dict[str, str],
    owners: Participants,
    *,
    whole: bool,
) -> None:
    """Write the updates of all replicates, from 1, and where asked all that traces consist of.

    Owners have their own numbers in tables, as everywhere.

    Raises
    ------
    ResultError
        If the directory exists or cannot be written.
    """
    numbers = range(1, len(traces) + 1)
    with Writer(directory, room="traces/") as writer:
        if whole:
            writer.table(
                "exchanges.parquet", owners.numbered(_joined("exchanges", traces)), metadata
            )
            writer.table("owners.parquet", owners.numbered(_joined("owners", traces)), metadata)
            writer.table("runs.parquet", _runs(traces), metadata)
            if all(trace.occupation is not None for trace in traces):
                reported = owners.numbered(_joined("occupation", traces))
                writer.table(_OCCUPATION, reported, metadata)
        writer.put(VERSIONS, versions())
        writer.table("updates.parquet", owners.numbered(update_columns(traces, numbers)), metadata)


def read_traces(directory: Path, owners: Participants) -> tuple[Trace, ...]:
    """Return the traces that :func:`write_traces` has written whole, of these owners.

    Raises
    ------
    ResultError
        If they are damaged.
    """
    try:
        return _read(directory, owners)
    except (ValueError, LookupError, TypeError, OverflowError):
        fault = Fault("", "damaged traces", "delete this folder, and they are simulated again")
        raise ResultError([fault], str(directory)) from None


def _read(directory: Path, owners: Participants) -> tuple[Trace, ...]:
    runs = read_parquet(directory / "runs.parquet").to_pylist()
    exchanges = _parts(directory / "exchanges.parquet", EXCHANGES, len(runs), owners)
    accounts = _parts(directory / "owners.parquet", OWNERS, len(runs), owners)
    lines: list[npt.NDArray[np.void] | None] = [None] * len(runs)
    if (directory / _OCCUPATION).exists():
        lines = [*_parts(directory / _OCCUPATION, OCCUPATION, len(runs), owners)]
    return tuple(
        Trace(
            exchanges=asked,
            owners=item,
            occupation=occupied,
            events=None,
            ending=Ending[text["ending"]],
            update_ticks=np.array(text["update_ticks"], dtype=np.int64),
            **{name: text[name] for name in (*_ONE_EACH, _ONCE) if name in text},
        )
        for text, asked, item, occupied in zip(runs, exchanges, accounts, lines, strict=True)
    )


def _runs(traces: Sequence[Trace]) -> Columns:
    import pyarrow as pa

    columns: dict[str, Any] = {"replicate": np.arange(1, len(traces) + 1, dtype=np.int32)}
    columns |= {name: np.array([getattr(t, name) for t in traces]) for name in _ONE_EACH}
    if any(trace.answers_once for trace in traces):
        columns[_ONCE] = np.array([trace.answers_once for trace in traces])
    columns["ending"] = arrow_texts([trace.ending.name for trace in traces])
    ticks = [trace.update_ticks for trace in traces]
    ends = np.cumsum([0, *map(len, ticks)], dtype=np.int32)
    columns["update_ticks"] = pa.ListArray.from_arrays(
        arrow_array(ends), arrow_array(np.concatenate(ticks))
    )
    return columns


def _joined(name: str, traces: Sequence[Trace]) -> Columns:
    tables = [getattr(trace, name) for trace in traces]
    numbers = np.arange(1, len(traces) + 1, dtype=np.int32)
    columns = {"replicate": np.repeat(numbers, [len(table) for table in tables])}
    names = tables[0].dtype.names
    return columns | {item: np.concatenate([table[item] for table in tables]) for item in names}


def _parts(
    file: Path, dtype: np.dtype[np.void], count: int, owners: Participants
) -> list[npt.NDArray[np.void]]:
    read = read_parquet(file)
    table = np.empty(read.num_rows, dtype=dtype)
    for name in dtype.names or ():
        table[name] = from_arrow(read[name])
    table["owner"] = owners.places(table["owner"])
    ends = np.searchsorted(from_arrow(read["replicate"]), np.arange(1, count), side="right")
    return [part.copy() for part in np.split(table, ends)]
