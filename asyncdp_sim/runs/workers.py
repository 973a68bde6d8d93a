"""Workers: jobs mapped over this process, or over processes of its own."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from asyncdp_sim.core import plugins
from asyncdp_sim.core.errors import MachineError
from asyncdp_sim.core.threads import TO_RUN, one_thread, require_address_space
from asyncdp_sim.data.tables.limits import RAISED

P = ParamSpec("P")
T = TypeVar("T")
Map = Callable[..., list[Any]]


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
        if not plugins.any_executed():
            return self._pool.submit(fn, *args, **kwargs)
        return self._pool.submit(plugins.call, plugins.packed((fn, args, kwargs)))


@contextmanager
def executor(workers: int) -> Iterator[Executor]:
    """Give an executor of this many processes (1: this one), which end with this one.

    Each computes with one BLAS thread: more would get in each other's way, and sums that are split
    over another number of threads have other bits.

    Parameters
    ----------
    workers : int

    Raises
    ------
    MachineError
        If a process is killed, or may have too few addresses for any work.
    """
    require_address_space(TO_RUN)
    if workers == 1:
        with one_thread():
            yield InProcess()
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, get_context("spawn"), begin, (RAISED.get({}),))
    try:
        yield Carrying(pool)
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


@contextmanager
def processes(workers: int) -> Iterator[Map]:
    """Give a ``map`` over this many processes (1: in this one)."""
    with executor(workers) as pool:

        def mapped(
            function: Callable[..., Any],
            *items: Sequence[Any],
            on_done: Callable[[int], None] = lambda _: None,
        ) -> list[Any]:
            """Map, and tell the place of each piece as soon as it is done."""
            waited: list[Future[Any]] = []
            for place, item in enumerate(zip(*items, strict=True)):
                waited.append(pool.submit(function, *item))
                waited[-1].add_done_callback(partial(_tell, on_done, place))
            return [each.result() for each in waited]

        yield mapped


def _tell(on_done: Callable[[int], None], place: int, _: Future[Any]) -> None:
    on_done(place)


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
