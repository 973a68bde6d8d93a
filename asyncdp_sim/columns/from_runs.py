"""The columns of a result's tables, made from runs; the dictionary has their meanings."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.columns.arrow import arrow_array, arrow_texts
from asyncdp_sim.columns.dictionary import COUNT, NUMBER, TEXT, YES, summary
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.units import to_units
from asyncdp_sim.scenario import jsonable
from asyncdp_sim.trace import Detail, EventKind, Trace

Columns = Mapping[str, Any]
ROW_GROUP = 2**20
"""Rows that a Parquet file has together, and that are in memory at a time of a long table."""


def update_columns(traces: Sequence[Trace], numbers: Sequence[int]) -> Columns:
    """Return ``updates``: one row per answer used, sorted by replicate and k.

    ``peer`` is there where models were read from others than the one learner.
    """
    tables = [trace.updates for trace in traces]
    names = tables[0].dtype.names or ()  # of all at once there would be two copies
    joined = {name: np.concatenate([table[name] for table in tables]) for name in names}
    columns: dict[str, Any] = {
        "replicate": _repeat(numbers, tables),
        "k": joined["k"],
        "tick": joined["tick"],
        "time": to_units(joined["tick"]),
        "owner": joined["owner"],
        "read_tick": joined["read_tick"],
        "staleness": joined["staleness"],
        "message": joined["message"],
    }
    if np.any(joined["peer"] != 0):
        columns["peer"] = joined["peer"]
    return columns


def event_groups(
    traces: Sequence[Trace], numbers: Sequence[int], rows: int = ROW_GROUP
) -> Iterator[Columns]:
    """Yield ``events``, a row per event by replicate and seq, so many rows at a time.

    A long run takes no more room than that.
    """
    tables = [trace.events for trace in traces if trace.events is not None]
    begin = np.cumsum([0, *map(len, tables)])
    for first in range(0, max(1, int(begin[-1])), rows):
        low = np.clip(first - begin[:-1], 0, None).tolist()
        stop = np.clip(first + rows - begin[:-1], 0, None).tolist()
        part = [table[a:b] for table, a, b in zip(tables, low, stop, strict=True)]
        yield _of_events(part, numbers, low)


def _of_events(
    tables: Sequence[npt.NDArray[np.void]], numbers: Sequence[int], seqs: Sequence[int]
) -> Columns:
    """Return columns of events of several replicates, each from a place in its order on."""
    import pyarrow as pa

    joined = np.concatenate(tables)
    message, attempt = joined["message"], joined["attempt"]
    kinds = arrow_texts([kind.name for kind in EventKind])
    return {
        "replicate": _repeat(numbers, tables),
        "seq": np.concatenate(
            [seq + np.arange(len(t), dtype=np.int64) for seq, t in zip(seqs, tables, strict=True)]
        ),
        "tick": joined["tick"],
        "time": to_units(joined["tick"]),
        "kind": pa.DictionaryArray.from_arrays(arrow_array(joined["kind"]), kinds),
        "owner": joined["owner"],
        "message": arrow_array(message, message == 0),
        "attempt": arrow_array(attempt, attempt == 0),
        "detail": pa.DictionaryArray.from_arrays(
            arrow_array(joined["detail"], joined["detail"] == 0),
            arrow_texts([detail.name.replace("_", "-") for detail in Detail]),
        ),
    }


def model_columns(models: Array, numbers: Sequence[int]) -> Columns:
    """Return ``models``: the final central model of every replicate, shape (R, p)."""
    n_features = models.shape[1]
    return {
        "replicate": np.repeat(np.array(numbers, dtype=np.int32), n_features),
        "coordinate": np.tile(np.arange(n_features, dtype=np.int32), len(models)),
        "theta_L": models.reshape(-1),
    }


def optimum_columns(theta: Array) -> Columns:
    """Return ``optimum``: θ*, shape (p,)."""
    return {"coordinate": np.arange(len(theta), dtype=np.int32), "theta": theta}


def alone_columns(theta: Array) -> Columns:
    """Return ``alone``: each owner's own optimum θ_i*, shape (N, p), sorted by owner."""
    n_owners, n_features = theta.shape
    return {
        "owner": np.repeat(np.arange(1, n_owners + 1, dtype=np.int32), n_features),
        "coordinate": np.tile(np.arange(n_features, dtype=np.int32), n_owners),
        "theta": theta.reshape(-1),
    }


def summary_column(name: str, values: Sequence[Any]) -> Any:
    """Return a column of the sweep's ``cells`` from a figure of the cells' summaries."""
    entry = summary().get(name)  # none of what another version wrote under another name
    domain = None if entry is None else entry.domain
    if domain == TEXT:
        return arrow_texts(values)
    absent = np.array([value is None for value in values], dtype=bool)
    entries = [0 if value is None else value for value in values]
    if domain == YES:
        return arrow_array(np.array(entries, dtype=bool), absent)
    complete = domain in (COUNT, NUMBER) and name != "largest_staleness"  # a float, as it ever was
    result = np.array(entries, dtype=float)
    return arrow_array(result.astype(np.int64) if complete else result, absent)


def swept_column(values: Sequence[Any]) -> Any:
    """Return a column of swept values: as they are where all are alike, else as JSON texts."""
    if all(isinstance(value, str) for value in values):
        return arrow_texts(values)
    if all(type(value) is bool for value in values):
        return arrow_array(np.array(values, dtype=bool))
    if all(type(value) is int and abs(value) < 2**63 for value in values):
        return arrow_array(np.array(values, dtype=np.int64))
    if all(type(value) in (int, float) for value in values):
        result = np.array([float(value) for value in values])
        return arrow_array(result, np.zeros(len(result), dtype=bool))
    return arrow_texts([json.dumps(jsonable(value)) for value in values])


def _repeat(numbers: Sequence[int], tables: Sequence[npt.NDArray[np.void]]) -> Any:
    lengths = [len(table) for table in tables]
    return np.repeat(np.array(numbers, dtype=np.int32), lengths)
