"""Compiling by numba: the loop, and its steps into it."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def step(function: F) -> F:
    """Compile a step of the loop, into the loop."""
    made = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy", _nrt=False)
    return cast("F", made(function))


def entered(function: F) -> F:
    """Compile the loop, which Python calls, and keep it on the disk where that can be.

    Unpacking a world is slow to compile, so that there is one of these.
    """
    try:
        return cast("F", njit(cache=True, error_model="numpy", _nrt=False)(function))
    except RuntimeError:  # nowhere to keep what was compiled
        return cast("F", njit(error_model="numpy", _nrt=False)(function))
