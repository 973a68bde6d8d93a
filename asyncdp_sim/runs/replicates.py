"""Replicates in parallel: jobs mapped over processes, which never show in the result."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core import plugins
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import InvariantError, MachineError
from asyncdp_sim.core.progress import Advance, Progress, counted
from asyncdp_sim.core.starting import TO_RUN, one_thread, require_address_space
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.units import to_units
from asyncdp_sim.data.tables.file_form import RAISED
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives.records import GradientMonitor, Observed
from asyncdp_sim.learning.recording import Trajectory
from asyncdp_sim.learning.replay import CellTask, replay_together
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.runs.problem import Task
from asyncdp_sim.trace import Trace

P = ParamSpec("P")
T = TypeVar("T")


class InProcess(Executor):
    """Does all work at once, in this process; exceptions are raised to the caller of ``submit``."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do the work and return its result as a future that is done."""
        future: Future[T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Carrying(Executor):
    """Does work on other processes, which load what it needs of code from outside the package."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send work, as it is where no such code is in use."""
        with _interrupted_later():  # it may start a process
            if not plugins.any_executed():
                return self._pool.submit(fn, *args, **kwargs)
            return self._pool.submit(plugins.call, plugins.packed((fn, args, kwargs)))


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Block Ctrl-C inside, here and for good in a process that is started there.

    A terminal sends it to all processes, and one that is still importing would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True)
class Workers:
    """Processes at work, or this one alone.

    Attributes
    ----------
    count : int
        How many pieces of work they do at a time.
    pool : Executor
    """

    count: int
    pool: Executor

    def map(
        self,
        function: Callable[..., Any],
        *items: Sequence[Any],
        advance: Advance | None = None,
        sizes: Sequence[int] = (),
    ) -> list[Any]:
        """Return what a function makes of each piece of work, in their order.

        Parameters
        ----------
        function : callable
        *items : sequence
            Its arguments, one of each for a piece.
        advance : callable, optional
            Receives the size of each piece as soon as it is done.
        sizes : sequence of int
            Of the pieces, where that is asked for.
        """
        waited: list[Future[Any]] = []
        for place, item in enumerate(zip(*items, strict=True)):
            waited.append(self.pool.submit(function, *item))
            if advance is not None:
                waited[-1].add_done_callback(partial(_report, advance, sizes[place]))
        return [future.result() for future in waited]


def _report(advance: Advance, size: int, _: Future[Any]) -> None:
    advance(size)


@contextmanager
def processes(workers: int | Workers) -> Iterator[Workers]:
    """Give this many processes (1: this one), which end with this one; or those that are there.

    Each computes with one BLAS thread: more would get in each other's way, and sums that are split
    over another number of threads have other bits.

    Parameters
    ----------
    workers : int or Workers

    Raises
    ------
    MachineError
        If a process is killed, or may have too few addresses for any work.
    """
    if isinstance(workers, Workers):
        yield workers
        return
    require_address_space(TO_RUN)
    if workers == 1:
        with one_thread():
            yield Workers(1, InProcess())
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, get_context("spawn"), begin, (RAISED.get({}),))
    try:
        yield Workers(workers, Carrying(pool))
    except BrokenProcessPool:
        _terminate(before)  # one that was just starting is none that the pool has ended
        raise MachineError("a worker process was killed (for want of memory?)") from None
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        _terminate(before)  # else the last pieces of work would be waited for
        raise
    finally:
        pool.shutdown()


def _terminate(but: set[BaseProcess]) -> None:
    """End the processes of this one, but for these."""
    for process in set(multiprocessing.active_children()) - but:
        process.terminate()


def begin(limits: Mapping[str, int]) -> None:
    """Set up a worker: no ear for Ctrl-C, no life after its parent's, and limits on tables."""
    require_address_space(TO_RUN)
    RAISED.set(limits)
    one_thread()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()  # a killed parent tells nobody
    os._exit(1)


CURVE = np.dtype(
    [
        ("replicate", "i4"),
        ("k", "i4"),
        ("tick", "i8"),
        ("time", "f8"),
        ("relative_fitness", "f8"),
        ("fitness", "f8"),
    ]
)
"""ψ and f of θ_L at k = 0, the multiples of ``record_every``, and the last k of a replicate.

Where rows are held out, ``held_out_loss`` follows, ``held_out_error`` of models that classify, and
the :mod:`~asyncdp_sim.measures.scores` that the model has.
"""

Numbers = Sequence[int]
LEARNING = "learning: updates"
"""Text of the progress while models learn; it counts updates."""
_PIECES = 25
"""Pieces of a worker's replicates; progress is reported after each."""


@dataclass(frozen=True, eq=False)
class Learned:
    """Curves and models of a list of replicates.

    Attributes
    ----------
    curve : structured array (columns ``CURVE``)
    starts, models : array (R, p)
        θ_L before the first and after the last update.
    clipped : array of int (R,)
        Updates in which a projection was active.
    met : Observed, optional
        How long record gradients were at the queries that were answered, where that is watched.
    """

    curve: npt.NDArray[np.void]
    starts: Array
    models: Array
    clipped: Ints
    met: Observed | None = None


def blocks(count: int, workers: int) -> list[slice]:
    """Split replicates into one contiguous block per worker."""
    edges = np.linspace(0, count, min(workers, count) + 1).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(edges)]


def simulate_all(
    network: Network,
    seed: int,
    numbers: Numbers,
    workers: Workers,
    *,
    events: bool = False,
    progress: Progress | None = None,
) -> list[Trace]:
    """Simulate the network of every replicate; one trace per number."""
    parts = _pieces(numbers, workers, progress)
    work = partial(simulate_some, network, seed, events=events)
    advance = counted(progress, "simulating runs", len(numbers))
    done = workers.map(work, parts, advance=advance, sizes=[len(part) for part in parts])
    return [trace for part in done for trace in part]


def learn_all(
    tasks: Sequence[Task],
    seed: int,
    numbers: Numbers,
    traces: Sequence[Trace],
    workers: Workers,
    *,
    progress: Progress | None = None,
) -> list[Learned]:
    """Learn tasks over recorded traces of one network, each worker's replicates in lockstep.

    Tasks that can learn together do.
    """
    parts = blocks(len(numbers), workers.count)
    replicates = [numbers[block] for block in parts]
    recorded = [traces[block] for block in parts]
    sizes = [len(tasks) * _updates(item) for item in recorded]
    advance = counted(progress, LEARNING, sum(sizes))
    if len(parts) == 1:  # in this process, which can tell how far it is
        return _replay_block(tasks, seed, replicates[0], recorded[0], advance)
    work = partial(_replay_block, tasks, seed)
    done = workers.map(work, replicates, recorded, advance=advance, sizes=sizes)
    return [joined(future) for future in zip(*done, strict=True)]


def live_all(
    network: Network,
    task: Task,
    seed: int,
    numbers: Numbers,
    workers: Workers,
    *,
    events: bool = False,
    progress: Progress | None = None,
) -> tuple[list[Trace], Learned]:
    """Simulate and learn in one, replicate by replicate."""
    parts = _pieces(numbers, workers, progress)
    work = partial(_live_block, network, task, seed, events=events)
    advance = counted(progress, "simulating runs that learn", len(numbers))
    done = workers.map(work, parts, advance=advance, sizes=[len(part) for part in parts])
    traces = [trace for part, _ in done for trace in part]
    return traces, joined([learned for _, learned in done])


def _pieces(numbers: Numbers, workers: Workers, progress: Progress | None) -> list[Numbers]:
    """Split replicates among workers, into smaller parts where progress is reported."""
    values = 1 if progress is None else _PIECES
    return [numbers[block] for block in blocks(len(numbers), values * workers.count)]


def _updates(traces: Sequence[Trace]) -> int:
    return sum(trace.n_updates for trace in traces)


def scopes_of(seed: int, numbers: Numbers, owners: tuple[int, ...] | None = None) -> list[Scope]:
    """Return the streams of replicates, none of them handed out."""
    streams = Streams(seed)
    return [streams.within("replicate", number).of_owners(owners) for number in numbers]


def simulate_some(
    network: Network, seed: int, numbers: Numbers, *, events: bool = False
) -> list[Trace]:
    """Simulate some replicates of a network; one trace per number."""
    try:
        return [simulate(network, scope, events=events) for scope in scopes_of(seed, numbers)]
    except InvariantError as error:
        first, last = numbers[0], numbers[-1]
        which = f"replicate {first}" if first == last else f"replicates {first} to {last}"
        raise InvariantError(f"{error} ({which} of seed {seed})") from None


def _replay_block(
    tasks: Sequence[Task],
    seed: int,
    numbers: Numbers,
    traces: Sequence[Trace],
    advance: Advance | None = None,
) -> list[Learned]:
    watches = [watch_of(task) for task in tasks]
    cells = [
        CellTask(task.steps, task.reply, task.record_every, watch)
        for task, watch in zip(tasks, watches, strict=True)
    ]
    by_name: dict[int, Learned] = {}
    for place, path in replay_together(
        traces,
        cells,
        lambda: scopes_of(seed, numbers, tasks[0].owner_numbers),
        tasks[0].asks,
        advance,
    ):
        by_name[place] = judged(tasks[place], path, traces, numbers, watches[place])
    return [by_name[place] for place in range(len(tasks))]


def _live_block(
    network: Network, task: Task, seed: int, numbers: Numbers, *, events: bool
) -> tuple[list[Trace], Learned]:
    traces, learned = [], []
    for number, scope in zip(numbers, scopes_of(seed, numbers, task.owner_numbers), strict=True):
        arguments = (task.steps, task.reply, scope, task.record_every, task.asks)
        watch = watch_of(task)
        live = LiveLearning(*arguments, target=task.target, watch=watch)
        trace = simulate(network, scope, learning=live, events=events)
        live.show(trace)
        traces.append(trace)
        learned.append(judged(task, live.trajectory(), [trace], [number], watch))
    return traces, joined(learned)


def watch_of(task: Task) -> GradientMonitor | None:
    """Return the checker of queries, where a bound was declared."""
    return None if task.watched is None else GradientMonitor(task.watched)


def judged(
    task: Task,
    path: Trajectory,
    traces: Sequence[Trace],
    numbers: Numbers,
    watch: GradientMonitor | None,
) -> Learned:
    """Judge where models have gone, one replicate per trace."""
    parts = [
        _curve(task, path, row, number, trace)
        for row, (number, trace) in enumerate(zip(numbers, traces, strict=True))
    ]
    further = [(name, "f8") for name in parts[0] if name not in (CURVE.names or ())]
    curve = np.empty(sum(len(part["k"]) for part in parts), dtype=CURVE.descr + further)
    for name in parts[0]:
        curve[name] = np.concatenate([part[name] for part in parts])
    starts, met = path.central[0].copy(), None if watch is None else watch.observed()
    return Learned(curve, starts, path.final, path.clipped, met)


def _curve(task: Task, path: Trajectory, row: int, number: int, trace: Trace) -> dict[str, Array]:
    """Return the columns of a replicate's curve, in their order."""
    ks, models = path.ks(row), path.models(row)
    ticks = np.concatenate([[0], trace.update_ticks])[ks]
    with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
        excess = task.objective.excess(models) if task.fitted else np.full(len(ks), np.nan)
        relative = excess / task.objective.least
    return {
        "replicate": np.full(len(ks), number),
        "k": ks,
        "tick": ticks,
        "time": to_units(ticks),
        "relative_fitness": relative,
        "fitness": excess + task.objective.least,
        **({} if path.bounds is None else {"clip_bound": path.bounds[ks, row]}),
        **_unseen(task, models),
    }


def _unseen(task: Task, models: Array) -> dict[str, Array]:
    """Return what models (J, p) are worth on held-out rows, by column of the curve."""
    judge = task.held_out
    if judge is None:
        return {}
    by_name = {"held_out_loss": judge.mean_loss(models)}
    if judge.loss.classifies:
        by_name["held_out_error"] = judge.error_rate(models)
    return by_name | {f"held_out_{s.name}": item for s, item in judge.scored(models).items()}


def joined(parts: Sequence[Learned]) -> Learned:
    """Return what was learned in several parts of a run as one."""
    names = ("curve", "starts", "models", "clipped")
    tables = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    met = [part.met for part in parts if part.met is not None]
    return Learned(**tables, met=Observed.joined(met) if len(met) > 0 else None)
