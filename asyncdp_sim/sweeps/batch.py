"""Cells of a sweep, the work of one worker, and workers of a Dask cluster."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from math import ceil
from pathlib import Path
from traceback import extract_tb
from typing import Any, ParamSpec, TypeVar

from asyncdp_sim.core.errors import (
    Fault,
    InputError,
    MachineError,
    ResultError,
    SpecError,
    gave_way,
)
from asyncdp_sim.core.files import unreadable
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.results.manifest import network_digest, sources, versions
from asyncdp_sim.results.write import Writer, all_on_disk
from asyncdp_sim.runs.directory import build, write
from asyncdp_sim.runs.outcome import ready
from asyncdp_sim.runs.problem import Problem, build_dataset, records
from asyncdp_sim.runs.replicates import Carrying, Workers
from asyncdp_sim.runs.run import run, run_together
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.sentences.label import network_metadata
from asyncdp_sim.sweeps.folder import FAILED, Folder, read_traces, write_traces
from asyncdp_sim.trace import Trace

TOGETHER = 16
"""Cells of a batch at most: what an interruption can lose of each worker's work."""
ENOUGH = 4
"""Batches for each worker, so that none waits long for the others at the end."""
_ROOM = 2**27
"""Bytes of all recorded models of a batch, unless one cell has more."""


@dataclass(frozen=True)
class Cell:
    """One point of the grid.

    Attributes
    ----------
    number : int
        From 0, last swept path fastest.
    values : mapping
        The swept paths and their values.
    base : Scenario
        The scenario whose grid it is of.
    seed : int
        The cell's.
    network, data : str
        Under which cells share traces, and records.
    size : int
        Bytes of the models that its curve is made of.
    """

    number: int
    values: Mapping[str, Any]
    base: Scenario
    seed: int
    network: str
    data: str
    size: int

    @classmethod
    def from_grid(
        cls, number: int, values: Mapping[str, Any], base: Scenario, scenario: Scenario
    ) -> "Cell":
        """Return the cell of these values, which make this scenario of the base."""
        run = scenario.run
        content = scenario.model_dump_json(include={"data", "owners"})
        read = len(scenario.model.labels), scenario.model.intercept
        data = hashlib.sha256(f"{run.seed} {read} {content}".encode()).hexdigest()
        rows = run.replicates * (run.updates // run.record_every + 2)
        network = network_digest(scenario, run.replicates)
        size = 8 * rows * (scenario.data.features + 8)
        return cls(number, values, base, run.seed, network, data, size)

    @property
    def scenario(self) -> Scenario:
        """Its scenario, made again at each access: thousands of them need not be kept."""
        return self.base.cell(self.values)

    @property
    def name(self) -> str:
        """Name of the cell's directory."""
        return f"cell-{self.number:04d}"


def grid(scenario: Scenario) -> list[Cell]:
    """Return the cells of a scenario's sweep, in their order.

    Raises
    ------
    SpecError
        If it has none, or values do not fit together.
    """
    scenario.require_sweep()
    return [
        Cell.from_grid(number, values, scenario, scenario.cell(values))
        for number, values in enumerate(scenario.grid())
    ]


def networks(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Yield the cells of each network, in the order of the first ones."""
    by_name: dict[str, list[Cell]] = {}
    for cell in cells:
        by_name.setdefault(cell.network, []).append(cell)
    yield from by_name.values()


def batches(cells: Sequence[Cell], workers: int) -> Iterator[list[Cell]]:
    """Yield what is learned together of the cells of one network: cells with the same records.

    Where there are enough of them for all workers they stay together, so that records and noise
    are drawn once; else each worker has some. What is in a batch does not change its results.
    """
    by_name: dict[str, list[Cell]] = {}
    for cell in cells:
        by_name.setdefault(cell.data, []).append(cell)
    parts = 1 if len(by_name) >= ENOUGH * workers else workers
    for alike in by_name.values():
        most = min(TOGETHER, ceil(len(alike) / parts), 1 + _ROOM // max(c.size for c in alike))
        yield from (alike[start : start + most] for start in range(0, len(alike), most))


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
    options = {"cell": cell.number, "error": text, "machine": machine is not None}
    folder.put(f"{FAILED}/{cell.name}.json", options)
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


P = ParamSpec("P")
T = TypeVar("T")
PATIENCE = 10.0
"""Seconds to wait for the scheduler, and for its first worker."""


@contextmanager
def connected(address: str) -> Iterator[Workers]:
    """Give the workers of a cluster.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://10.0.0.1:8786``.

    Raises
    ------
    SpecError
        If Dask is not installed, the scheduler or its workers are not there, or these have other
        versions of what decides a result's bits, be it that they join later.
    MachineError
        If the scheduler goes away, or workers are killed again and again.
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise _refused(address, "pip install 'asyncdp_sim[cluster]' first") from None
    try:
        get_address_host_port(address)  # a client that cannot be made prints a traceback at its end
    except ValueError:
        raise _refused(address, "a host and a port, such as tcp://10.0.0.1:8786") from None
    _require_certificates(address)
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        text = " ".join(str(error).split())
        raise _refused(address, f"a scheduler that answers ({text})") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise _refused(address, "a scheduler with at least one worker") from None
        try:
            result = client.run(made_with)
        except Exception:  # whatever a worker raises that cannot load the package
            raise _refused(address, "workers that have asyncdp_sim installed") from None
        for worker in result.values():
            _require_same(address, worker)
        pool = Carrying(_OnWorkers(address, client.get_executor(pure=False)))
        with _scheduler_there(address):
            yield Workers(sum(client.nthreads().values()), pool)


def _require_certificates(address: str) -> None:
    """Refuse what settings of TLS do not fit: Dask half opens it, and raises anything."""
    from distributed import Security

    try:
        value = Security().get_connection_args("client")
    except OSError as error:
        raise _refused(address, f"certificates that can be read ({unreadable(error)})") from None
    encrypted = address.startswith(("tls:", "wss:"))
    if encrypted and value["ssl_context"] is None:
        raise _refused(address, "tls:// where certificates are set")
    if value["require_encryption"] and not encrypted:
        raise _refused(address, "tls://…, as encryption is required by Dask's settings")


@contextmanager
def _scheduler_there(address: str) -> Iterator[None]:
    """Say in one line that the scheduler went away, and that the same command continues."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except (CancelledError, CommClosedError):
        raise MachineError(f"the scheduler {address} is gone") from None
    except KilledWorker as error:
        text = " ".join(str(error).split())
        raise MachineError(f"workers of {address} were killed ({text})") from None


def made_with() -> dict[str, str]:
    """Return the versions that decide a result's bits, the package's own modules among them."""
    return {**versions(), "sources": sources()}


class _OnWorkers(Executor):
    """An executor whose workers compute with one BLAS thread, as local ones do.

    Each piece of work asks its worker for its versions, as workers may join at any time.
    """

    def __init__(self, address: str, pool: Executor) -> None:
        self._address = address
        self._pool = pool

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send work to a worker; if that is lost, another does it."""
        work = partial(_on_a_worker, self._address, made_with(), fn)
        return self._pool.submit(work, *args, **kwargs)


def _on_a_worker(
    address: str,
    wanted: Mapping[str, str],
    fn: Callable[P, T],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    _require_same(address, made_with(), wanted)
    one_thread()  # for good: a worker may have several threads of its own
    return fn(*args, **kwargs)


def _require_same(
    address: str, theirs: Mapping[str, str], wanted: Mapping[str, str] | None = None
) -> None:
    ours = made_with() if wanted is None else wanted
    differ = [f"{name} {theirs.get(name)}" for name in ours if theirs.get(name) != ours[name]]
    if len(differ) > 0:
        text = ", ".join(f"{name} {version}" for name, version in ours.items())
        raise _refused(address, f"workers with {text}; one has {', '.join(differ)}")


def _refused(address: str, allowed: str) -> SpecError:
    return SpecError([Fault("--cluster", repr(address), f"allowed is {allowed}")])
