"""Many scenarios: the grid of a ``[sweep]``, cell by cell, each network simulated once."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

from asyncdp_sim.core.errors import ReplayError
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.results import read_manifest
from asyncdp_sim.results.manifest import placeless
from asyncdp_sim.runs.outcome import all_numbers
from asyncdp_sim.runs.replay import made_again, require_same
from asyncdp_sim.runs.replicates import LEARNING, Workers, processes, simulate_all
from asyncdp_sim.runs.run import OnNote, reproduce
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweeps import batch, status
from asyncdp_sim.sweeps.cluster import connected
from asyncdp_sim.sweeps.folder import Folder
from asyncdp_sim.sweeps.grid import Cell, batches, grid, networks
from asyncdp_sim.theory.predict.all import require_room

CELLS = "running cells"
"""Text of the progress of a sweep; it counts cells, and parts of them."""


def sweep(
    scenario: Scenario,
    place: Path,
    *,
    workers: int = 1,
    address: str | None = None,
    mixed_versions: bool = False,
    progress: Progress | None = None,
) -> status.Status:
    """Run every cell of a scenario's grid into a sweep directory.

    Cells that have the same network share one set of traces, unless their timing depends on the
    model, and those that have the same records besides learn together. Each result appears whole
    or not at all, and finished ones are kept, so that the same call continues an interrupted
    sweep; of a finished one it does nothing. A cell that fails is recorded and does not stop the
    others; the same call tries it again. Where every cell fails on its input nothing is kept.

    Parameters
    ----------
    scenario : Scenario
        With a sweep.
    place : Path
        A directory. Must not exist, or hold a sweep of the same scenario: with the same contents
        of data files, wherever these lie.
    workers : int
        Number of processes, ≥ 1. Results do not depend on it.
    address : str, optional
        Of a Dask scheduler whose workers do the work instead; all must reach ``place``.
    mixed_versions : bool
        Whether cells and traces that other versions have made may stand beside those of these
        versions; the manifest then lists which is which.
    progress : Progress, optional
        Told of each finished cell and of the number of cells; of parts of cells too, where all is
        done in this process.

    Returns
    -------
    Status
        What is done, and which cells failed.

    Raises
    ------
    SpecError
        If the scenario has no sweep, the cluster is not there, or a cell is too large for this
        machine's memory.
    ResultError
        If the directory holds something else, or what other versions have made, or cannot be
        written.
    MachineError
        If a worker process is killed, or the disk is full.
    DataError
        If a data file cannot be read.
    """
    cells = grid(scenario)
    text = placeless(scenario)  # reads every data file once, before anything is written
    into = Folder(place if address is None else place.absolute())  # workers start elsewhere
    if address is None:
        present = into.entries() if into.begun else {}
        for alike in networks([cell for cell in cells if cell.name not in present]):
            require_room(max(alike, key=attrgetter("size")).scenario)
    with _at_work(workers, address) as at_work:
        if not into.begun:
            into.begin(scenario)
        status.require_same_scenario(scenario, into, place)
        if status.is_finished(text, into, cells, place):
            return status.status(scenario, place)
        with into.claimed():
            status.require_same_making(text, into, cells, place, mixed_versions=mixed_versions)
            finished = into.entries()
            todo = [cell for cell in cells if cell.name not in finished]
            reported = _Cells(progress, len(cells), len(cells) - len(todo))
            inside = reported.parts if at_work.count == 1 and address is None else None
            on_input = 0
            for failed_on_input in _cells_as_they_end(at_work, into, todo, inside):
                reported.another()
                on_input += failed_on_input
            failed = status.errors(into)
            if on_input == len(cells):
                into.discard()
                return status.Status(len(cells), 0, failed, None)
            status.close(scenario, text, into, cells, failed)
    return status.status(scenario, place)


class _Cells:
    """Tells how many cells are finished; before the first, those that were already."""

    def __init__(self, progress: Progress | None, total: int, finished: int) -> None:
        self._progress, self._total, self._finished = progress, total, finished
        if finished > 0:
            self._tell(finished)

    def another(self) -> None:
        """Tell that another cell is finished."""
        self._finished += 1
        self._tell(self._finished)

    def parts(self, count: int) -> Progress | None:
        """Return the receiver of the progress of this many cells that learn together."""
        if self._progress is None:
            return None

        def part(doing: str, done: float, total: float | None) -> None:
            if doing == LEARNING and total is not None and 0 < done < total:
                self._tell(self._finished + count * done / total)

        return part

    def _tell(self, done: float) -> None:
        if self._progress is not None:
            self._progress(CELLS, done, self._total)


def reproduce_all(
    directory: Path,
    *,
    workers: int = 1,
    settings: Sequence[str] = (),
    allow_code: bool = False,
    on_note: OnNote = lambda _: None,
    progress: Progress | None = None,
) -> int:
    """Make a result, or a sweep with its cells and traces, again; return how many results agree.

    Arguments and errors as for :func:`~asyncdp_sim.runs.run.reproduce`; a directory that is
    neither, or whose sweep is not finished, is a ``ResultError``.
    """
    if "cells" not in read_manifest(directory):
        options: Any = {"workers": workers, "settings": settings, "allow_code": allow_code}
        reproduce(directory, **options, on_note=on_note, progress=progress)
        return 1
    with made_again(directory, settings, allow_code=allow_code) as (scenario, again):
        result = sweep(scenario, again, workers=workers, progress=progress)
        if not again.exists():
            text = "; ".join(result.errors())
            raise ReplayError(f"{directory}: not reproduced: no cell could be run again: {text}")
        for note in require_same(directory, again):
            on_note(note)
    return result.done


@contextmanager
def _at_work(workers: int, address: str | None) -> Iterator[Workers]:
    try:
        with processes(workers) if address is None else connected(address) as at_work:
            yield at_work
    finally:
        for kept in (batch.known_traces, batch.kept_records):
            kept.cache_clear()


def _cells_as_they_end(
    workers: Workers,
    into: Folder,
    todo: Sequence[Cell],
    inside: Callable[[int], Progress | None] | None,
) -> Iterator[bool]:
    """Yield of cells as they end whether they failed on what was given.

    Some work is kept in reserve, so that no worker waits.
    """
    waiting: set[Future[list[bool]]] = set()
    reserve = 1 if workers.count == 1 else 2 * workers.count
    for cells in _batches(workers, into, todo):
        reported = () if inside is None else (inside(len(cells)),)  # stays in this process
        waiting.add(workers.pool.submit(batch.learn, into, cells, *reported))
        if len(waiting) == reserve:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for item in done:
                yield from item.result()
    for item in as_completed(waiting):
        yield from item.result()


def _batches(workers: Workers, into: Folder, todo: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Yield what is learned together, after simulating what several cells have in common."""
    kept = into.entries("traces")
    for alike in networks(todo):
        if len(alike) > 1 and alike[0].network not in kept:
            scenario = alike[0].scenario
            if scenario.run.learning != "live":
                numbers = all_numbers(scenario)
                traces = simulate_all(scenario.network, scenario.run.seed, numbers, workers)
                batch.keep_traces(into, alike[0], traces, whole=True)
        yield from batches(alike, workers.count)
