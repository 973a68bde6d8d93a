"""The work of one worker: learns cells that go together, and writes their results."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from traceback import extract_tb

from asyncdp_sim.core.errors import InputError, MachineError, ResultError, gave_way
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.results.write import Writer, all_on_disk
from asyncdp_sim.runs.outcome import ready
from asyncdp_sim.runs.problem import Problem, build_dataset, records
from asyncdp_sim.runs.run import build, run, run_together, write
from asyncdp_sim.scenario import Participants
from asyncdp_sim.sentences.label import network_metadata
from asyncdp_sim.sweeps.folder import FAILED, Folder, read_traces, write_traces
from asyncdp_sim.sweeps.grid import Cell
from asyncdp_sim.trace import Trace


def keep_traces(folder: Folder, cell: Cell, traces: Sequence[Trace], *, whole: bool) -> None:
    """Keep a network's traces with the sweep: its updates, or all that they consist of."""
    accounted = cell.scenario.timing_unaccounted is None
    metadata = network_metadata(timing_accounted=accounted)
    try:
        place = folder.root / "traces" / cell.network
        write_traces(traces, place, metadata, cell.scenario.participants(()), whole=whole)
    except ResultError:
        if cell.network not in folder.entries("traces"):  # else another worker was quicker
            raise


def learn(folder: Folder, cells: Sequence[Cell], progress: Progress | None = None) -> list[bool]:
    """Learn cells with one network and the same records, and write each one's result.

    Traces are taken from the folder; without them, each cell simulates its own. An error ends its
    cell alone and is written down, unless it is the folder's.

    Returns
    -------
    list of bool
        Of each cell whether it failed on what was given, so that the same command will not do
        better.

    Raises
    ------
    ResultError
        If a result cannot be written.
    """
    with one_thread():
        return _learned(folder, cells, progress)


def _learned(folder: Folder, cells: Sequence[Cell], progress: Progress | None) -> list[bool]:
    ended = []
    prepared: list[tuple[Cell, Problem]] = []
    shared = f"traces/{cells[0].network}"
    value = "runs.parquet" in folder.entries(shared)
    for cell in cells:
        scenario = cell.scenario
        try:
            dataset = build_dataset(scenario, read=kept_records)
            if value and scenario.run.learning != "live":
                like = prepared[-1][1] if len(prepared) > 0 else None
                prepared.append((cell, ready(scenario, dataset, like)))
                continue
            reported = progress if len(cells) == 1 else None
            outcome = run(scenario, dataset=dataset, progress=reported)
            if cell.network not in folder.entries("traces"):
                keep_traces(folder, cell, outcome.traces, whole=False)
            write(outcome, folder.root / cell.name, updates=False)
            ended.append(_done(folder, cell))
        except Exception as error:
            ended.append(_failed(folder, cell, error))
    if len(prepared) > 0:
        owners = prepared[0][0].scenario.participants(())
        traces = known_traces(folder.root / shared, owners)
        reported = progress if len(prepared) == len(cells) else None
        ended += _learn_together(folder, prepared, traces, reported)
    return ended


def _learn_together(
    folder: Folder,
    prepared: Sequence[tuple[Cell, Problem]],
    traces: Sequence[Trace],
    progress: Progress | None = None,
) -> list[bool]:
    """Learn cells, build all of their results, and let them appear once all are on disk.

    What interrupts it comes after that, so that results which are built are kept.
    """
    ended: list[bool] = []
    built: list[tuple[Cell, Writer]] = []
    outcomes = run_together([problem for _, problem in prepared], traces, progress)
    try:
        for number, (cell, _) in enumerate(prepared):
            try:
                place = folder.root / cell.name
                built.append((cell, build(next(outcomes), place, updates=False)))
            except Exception as error:
                ended.append(_failed(folder, cell, error))
                if len(prepared) > 1:  # the others one by one, so that one error is one cell's
                    for other in prepared[number + 1 :]:
                        ended += _learn_together(folder, [other], traces)
                    break
    finally:
        ended += _appeared(folder, built)
    return ended


def _appeared(folder: Folder, built: Sequence[tuple[Cell, Writer]]) -> list[bool]:
    ended = []
    try:
        all_on_disk([writer for _, writer in built])
        for cell, writer in built:
            try:
                writer.appear()
                ended.append(_done(folder, cell))
            except ResultError as error:
                ended.append(_failed(folder, cell, error))
    finally:
        for _, writer in built:
            writer.discard()
    return ended


def _done(folder: Folder, cell: Cell) -> bool:
    folder.remove(f"{FAILED}/{cell.name}.json")
    return False


def _failed(folder: Folder, cell: Cell, error: Exception) -> bool:
    """Write down why a cell failed; return whether it did so on what was given.

    Raises
    ------
    ResultError, MachineError
        If the error is the folder's: no other cell could be written either.
    """
    machine = gave_way(error)
    if machine is not None and not isinstance(error, MemoryError):  # others may want less
        raise machine from error
    if isinstance(error, ResultError):
        if cell.name in folder.entries():  # another worker, taken for dead, was quicker
            return False
        raise error
    text = _in_words(machine or error)
    content = {"cell": cell.number, "error": text, "machine": machine is not None}
    folder.put(f"{FAILED}/{cell.name}.json", content)
    return isinstance(error, InputError)


def _in_words(error: Exception) -> str:
    """Return an error in one line; an unexpected one with the place in this package."""
    if isinstance(error, InputError):
        return "; ".join(error.lines())
    if isinstance(error, MachineError):
        return str(error)
    last = extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{': ' * (text != '')}{text} (in {last.name}, line {last.lineno})"


@lru_cache(maxsize=1)
def known_traces(directory: Path, owners: Participants) -> tuple[Trace, ...]:
    """Return a network's traces: the latest are kept, since the next batch mostly has the same."""
    return read_traces(directory, owners)


kept_records = lru_cache(maxsize=1)(records)
"""The latest are kept, since the next batch may have the same."""
