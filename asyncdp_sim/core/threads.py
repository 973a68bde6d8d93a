"""Threads: one of linear algebra, so that no number of cores changes bits."""

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from asyncdp_sim.core.errors import MachineError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

TO_START, TO_RUN = 192 << 20, 640 << 20
"""Bytes of addresses, measured, that NumPy alone reserves, and that SciPy and Arrow do besides.
With less OpenBLAS asks again and again for ever, ends the program, or interrupts it."""


def one_thread() -> AbstractContextManager[object]:
    """Compute with one BLAS thread from now on, or, in a ``with`` statement, inside of it.

    So bits do not depend on the number of cores. SciPy's BLAS is loaded first: it would come with
    threads of its own.
    """
    import_module("scipy.special")
    limits: AbstractContextManager[object] = _libraries(len(sys.modules)).limit(
        limits=1, user_api="blas"
    )
    return limits


@lru_cache(maxsize=1)
def _libraries(_: int) -> "ThreadpoolController":
    """Return the libraries of linear algebra that so many imported modules have loaded.

    Looking for them takes milliseconds, and only an import brings new ones.
    """
    from threadpoolctl import ThreadpoolController  # the command line starts without it

    return ThreadpoolController()


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
            problem = f"address space is limited to {most >> 20} MiB (ulimit -v)"
            raise MachineError(f"{problem}, and this takes {least >> 20}")
        if least == TO_RUN:  # before Arrow, which reserves all that it can get
            import_module("scipy.special")


__all__ = ["TO_RUN", "TO_START", "one_thread", "require_address_space"]
