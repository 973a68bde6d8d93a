"""Rehearsals in which only what is slept takes time: a clock that jumps whenever nothing happens.

Peers talk over real sockets, within one process; the machine costs nothing.
"""

import asyncio
import selectors
from collections.abc import Mapping
from typing import Any

import pytest

from asyncdp_sim.rehearsals import learner as learners
from asyncdp_sim.rehearsals import transport as paces
from asyncdp_sim.rehearsals.config import Order
from asyncdp_sim.rehearsals.learner import Rehearsed
from tests.rehearsals.scenes import talking

_QUIET = 0.0005
"""Seconds without a message after which none is under way: loopback delivers at once."""


class Clock(selectors.BaseSelector):
    """A selector that tells the time, which passes only when it is waited for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._inner = selectors.SelectSelector()

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = self._inner.select(0)
        if len(ready) == 0 and (timeout is None or timeout > 0):
            ready = self._inner.select(_QUIET)
            if len(ready) == 0 and timeout is not None:
                self.now += timeout
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.modify(fileobj, events, data)

    def close(self) -> None:
        self._inner.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()


class Loop(asyncio.SelectorEventLoop):
    """A loop whose time is that of its selector."""

    def __init__(self) -> None:
        self._clock = Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def timeless(order: Order) -> Rehearsed:
    """Return what peers give to whom the machine costs no time."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=Loop) as runner:
        loop = runner.get_loop()
        for module in (paces, learners):
            patch.setattr(module, "monotonic", loop.time)
        return runner.run(talking(order))
