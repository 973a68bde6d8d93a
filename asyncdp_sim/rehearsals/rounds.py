"""Rounds of a rehearsal: the learner asks all owners at once, and waits."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from typing_extensions import override

from asyncdp_sim.rehearsals.serving import Serving
from asyncdp_sim.trace import Exchange
from asyncdp_sim.units import to_ticks


class ServingInRounds(Serving):
    """A learner that asks all owners at once, and updates when all have answered or failed.

    Parameters
    ----------
    present : callable
        Yields the owners that are connected.
    """

    def __init__(self, *given: Any, present: Callable[[], Iterator[int]]) -> None:
        super().__init__(*given)
        self._present = present
        self._idle = asyncio.Event()

    @override
    async def begin(self) -> None:
        books, deadline = self._books, self._network.protocol.round_deadline
        books.hold()
        while not books.done and any(map(books.awaits, self._everybody())):
            asked = [owner for owner in self._present() if books.awaits(owner)]
            if len(asked) == 0:  # until one that was killed is back
                await asyncio.sleep(0.01)
                continue
            self._pace.look()
            self._idle.clear()
            for owner in asked:
                self.read(owner, books.begin(owner), self._pace.tick)
            await self._until_idle(None if deadline is None else to_ticks(deadline))
            if books.collected > 0:
                books.update()
        books.finish()

    def _everybody(self) -> range:
        return range(1, self._network.n_owners + 1)

    async def _until_idle(self, ticks: int | None) -> None:
        """Wait for the answers of a round; give up those that have not come in time."""
        idle = asyncio.create_task(self._idle.wait())
        if ticks is None:
            await idle
        else:
            await self._pace.until(self._pace.tick + ticks, unless=idle)
        self._pace.look()
        for exchange in list(self._books.open.values()):
            self.give_up(exchange)
        if not idle.done():
            idle.cancel()
            with suppress(asyncio.CancelledError):
                await idle

    @override
    def free(self, exchange: Exchange) -> None:
        super().free(exchange)
        if len(self._books.open) == 0:
            self._idle.set()


__all__ = ["ServingInRounds"]
