"""Traces on disk, and models learned again over those of a rehearsal.

A sweep simulates each network once and keeps its traces; a rehearsal's can be had in no other way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.columns import Columns, arrow_array, arrow_texts, from_arrow, update_columns
from asyncdp_sim.core.errors import Fault, InvariantError, ResultError
from asyncdp_sim.learning.answers import ReleasedAnswers
from asyncdp_sim.learning.replay import fold
from asyncdp_sim.learning.replay_cells import CellTask
from asyncdp_sim.measures import summarise
from asyncdp_sim.results import read_parquet
from asyncdp_sim.results.provenance import VERSIONS, versions
from asyncdp_sim.results.write import Writer
from asyncdp_sim.runs.outcome import Ready, RunResult
from asyncdp_sim.runs.problem import Task, build_dataset
from asyncdp_sim.runs.replicates import Learned, judged, scopes_of, watch_of
from asyncdp_sim.runs.workers import processes
from asyncdp_sim.scenario import Participants, Scenario
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


def relearned(
    scenario: Scenario, directory: Path, measured: Mapping[str, Any], numbers: Sequence[int]
) -> RunResult:
    """Return a rehearsal with its models recomputed over its recorded trace.

    Raises
    ------
    ResultError
        If the trace is not there, or damaged.
    """
    ready = Ready.from_scenario(scenario, build_dataset(scenario))
    traces = _recorded(directory, scenario, len(numbers))
    learned = learn_released(ready.problem.task, scenario.run.seed, numbers, traces)
    return accounted(ready, numbers, traces, learned, measured)


def accounted(
    ready: Ready,
    numbers: Sequence[int],
    traces: Sequence[Trace],
    learned: Learned,
    measured: Mapping[str, Any],
) -> RunResult:
    """Account for what was learned in a rehearsal."""
    with processes(1) as mapped:
        behaved = summarise(traces, ready.scenario.network.airtime)
        outcome = ready.outcome(numbers, traces, behaved, learned, workers=1, run_map=mapped)
    return replace(outcome, measured=measured)


def learn_released(
    task: Task, seed: int, numbers: Sequence[int], traces: Sequence[Trace]
) -> Learned:
    """Learn over traces, each owner's noise being of its own stream, by the order of release."""
    scopes, watch = scopes_of(seed, numbers, task.owner_numbers), watch_of(task)
    value = ReleasedAnswers(task.reply, scopes, task.steps.answer_size, traces)
    cell = CellTask(task.steps, task.reply, task.record_every, watch)
    [path] = fold(traces, [cell], scopes, task.asks, given=value)
    return judged(task, path, traces, numbers, watch)


def _recorded(directory: Path, scenario: Scenario, count: int) -> tuple[Trace, ...]:
    try:
        traces = read_traces(directory / "traces", scenario.participants(()))
    except (ResultError, InvariantError):
        traces = ()
    if len(traces) != count:
        fault = Fault("", "no readable traces", "allowed is a result directory")
        raise ResultError([fault], str(directory))
    return traces
