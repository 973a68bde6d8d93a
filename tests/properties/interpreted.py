"""The compiled loop as Python runs it, uncompiled: for tests that are shorter than compiling."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numba
import numpy as np
import pytest

from asyncdp_sim.network import compiled
from asyncdp_sim.network.compiled.world import World

STEPS = f"{compiled.__name__}.steps"


@contextmanager
def interpreted() -> Iterator[None]:
    """Let the loop run as it is written."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(numba.config, "DISABLE_JIT", True)
        for name in [name for name in sys.modules if name.startswith(STEPS)]:
            patched.delitem(sys.modules, name)
        loop: Any = import_module(f"{STEPS}.loop")
        run = loop.run
        patched.setattr(loop, "run", lambda w, generator: run(by_name(w), generator))
        with np.errstate(over="ignore"):  # seeds are worked out modulo 2⁶⁴
            yield
        for name in [name for name in sys.modules if name.startswith(STEPS)]:
            del sys.modules[name]


def by_name(world: World) -> World:
    """Return the same memory with fields as attributes, as compiled code has them."""

    def named(table: Any) -> Any:
        return table if table.dtype.names is None else table.view(np.recarray)

    draws = type(world.draws)(*map(named, world.draws))
    return World(*map(named, world[:-1]), draws)
