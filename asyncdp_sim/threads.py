"""Threads: one of linear algebra, so that no number of cores changes bits."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from asyncdp_sim.errors import MachineError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

LIMIT = "OMP_NUM_THREADS"
"""The variable by which others, too, are told how many threads may compute."""

TO_START, TO_RUN = 192 << 20, 640 << 20
"""Bytes of addresses, measured, that NumPy alone reserves, and that SciPy and Arrow do besides.
With less OpenBLAS asks again and again for ever, ends the program, or interrupts it."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one BLAS thread inside, so that bits do not depend on the number of cores."""
    with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries(modules: int) -> "ThreadpoolController":  # noqa: ARG001
    """Return the libraries of linear algebra that this many imported modules have loaded.

    Looking for them takes milliseconds, and only an import brings new ones.
    """
    from threadpoolctl import ThreadpoolController  # the command line starts without it

    return ThreadpoolController()


def cores() -> int:
    """Return how many threads may compute here: what ``OMP_NUM_THREADS`` says, or one a core."""
    said = os.environ.get(LIMIT, "").strip()
    if said.isdecimal() and int(said) > 0:
        return int(said)
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))  # fewer than the machine has where others were told so
    return os.cpu_count() or 1


def limit_cores(most: int) -> None:
    """Let no more threads than this compute in this process, and in those that it starts."""
    os.environ[LIMIT] = str(most)


def require_address_space(least: int) -> None:
    """Refuse to go on where ``ulimit -v`` leaves too little for the libraries.

    Parameters
    ----------
    least : int
        Bytes that this process, and so each of its workers, must be allowed.

    Raises
    ------
    MachineError
        If it is allowed less.
    """
    if sys.platform != "win32":  # which has no such limit
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY:
            return
        if most < least:
            given = f"address space is limited to {most >> 20} MiB (ulimit -v)"
            raise MachineError(f"{given}, and this takes {least >> 20}")
        if least == TO_RUN:  # before Arrow, which reserves all that it can get
            import_module("scipy.special")


__all__ = [
    "TO_RUN",
    "TO_START",
    "cores",
    "limit_cores",
    "one_thread",
    "require_address_space",
]
