"""The process of the learner: connections to all owners, the model, and the books."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, cast

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import InvariantError
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.units import LAST_TICK, TICKS_PER_UNIT, to_ticks
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.rehearsals.config import Order
from asyncdp_sim.rehearsals.owner import NULL_SECONDS
from asyncdp_sim.rehearsals.serving import RemoteLearning, Serving, ServingAlone, ServingInRounds
from asyncdp_sim.rehearsals.transport import Numbers, RunPace, Wire, WireMessage, identified
from asyncdp_sim.runs.replicates import Learned, judged, watch_of
from asyncdp_sim.trace import Ending, Recorder, Trace


class Notes(Recorder):
    """Takes notes of a rehearsal; owners tell in the end what they alone know."""

    def __init__(self, n_owners: int, kernel: Kernel) -> None:
        super().__init__(n_owners, kernel)
        self._shares = np.full(n_owners, np.nan)

    def note_farewell(self, owner: int, lost: int, online: float) -> None:
        """Note how many requests of an owner (from 1) were lost, and its share of time online."""
        self.attempts[owner] += lost
        self.unheard[owner] += lost
        self._shares[owner - 1] = online

    @override
    def online_shares(self, end_tick: int) -> Array:
        return self._shares


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """The record of one replicate of a rehearsal.

    Attributes
    ----------
    trace : Trace
    learned : Learned
    excess : array of float (m,)
        Seconds of each exchange that ended in its answer, beyond what its owner slept.
    null : array of float (n,)
        Seconds of each null exchange before the run, beyond what its owner slept.
    """

    trace: Trace
    learned: Learned
    excess: Array
    null: Array


class LearnerPeer:
    """A learner that owners connect to.

    Parameters
    ----------
    order : Order
    tell : callable
        Told the number of updates so far, now and then.
    """

    def __init__(self, order: Order, tell: Callable[[int], object]) -> None:
        self._order = order
        self._tell = tell
        self._told = monotonic()
        self._wires: dict[int, Wire] = {}
        self._all_here = asyncio.Event()
        self._nulls: asyncio.Queue[None] = asyncio.Queue()
        self._farewells: dict[int, WireMessage] = {}
        self._left = asyncio.Event()
        self._pace = RunPace(0.0, 1.0)
        self._broken: BaseException | None = None

    async def run(self, listens: Callable[[int], None]) -> Rehearsed:
        """Run with all owners, which receive the port of this server."""
        server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        listens(server.sockets[0].getsockname()[1])
        await self._all_here.wait()
        null = await self._measure()
        unit = self._order.unit
        ending = await self._run(unit)
        await self._farewell()
        server.close()
        trace = self._closed(ending)
        path = self._remote.trajectory()
        self._remote.show(trace)
        learned = judged(self._order.task, path, [trace], [self._order.number], self._watch)
        excess = np.array(self._serving.excess) * unit / TICKS_PER_UNIT
        return Rehearsed(trace, learned, excess, null)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Let an owner in, and receive its messages until its connection ends."""
        wire = Wire(reader, writer)
        try:
            owner = await identified(reader, self._order.token)
            if owner is None:
                _LOG.warning("rehearse: refused a connection without the token")
            else:
                await self._talk(owner, wire)
        except Exception as error:  # asyncio would log it, and the run go on
            self._broken = error
            self._all_here.set()
            self._nulls.put_nowait(None)
            self._pace.stop()
        finally:
            await wire.close()

    async def _talk(self, owner: int, wire: Wire) -> None:
        self._wires[owner] = wire
        if len(self._wires) == self._order.network.n_owners:
            self._all_here.set()
        while (heard := await wire.receive()) is not None:
            self._hear(owner, heard)
        del self._wires[owner]
        if len(self._wires) == 0:
            self._left.set()

    def _hear(self, owner: int, heard: WireMessage) -> None:
        if heard.kind == "null":
            self._nulls.put_nowait(None)
        elif heard.kind == "bye":
            self._farewells[owner] = heard
        elif not self._pace.over.is_set():
            if self._pace.look() < self._horizon:
                self._serving.hear(owner, heard)
            if monotonic() > self._told + 0.2:
                self._told = monotonic()
                self._tell(self._books.updates)

    def _send(self, owner: int, kind: str, numbers: Numbers | None = None, /, **said: Any) -> None:
        if owner in self._wires:
            self._wires[owner].send(kind, numbers, **said)

    async def _measure(self) -> Array:
        """Return the seconds that null exchanges take beyond what owners sleep, one by one."""
        self._require_whole()
        points, seconds = np.zeros(self._order.task.steps.n_features), list[float]()
        for owner in self._wires:
            before = monotonic()
            self._send(owner, "null", points)
            await self._nulls.get()
            self._require_whole()
            seconds.append(monotonic() - before - NULL_SECONDS)
        return np.array(seconds)

    def _require_whole(self) -> None:
        if self._broken is not None:
            raise self._broken

    async def _run(self, unit: float) -> Ending:
        """Let owners begin, and wait for the end; return why it is one."""
        network = self._order.network
        start = monotonic() + 0.05 + 0.002 * network.n_owners
        self._pace = RunPace(start, unit)
        self._horizon = LAST_TICK if network.until is None else to_ticks(network.until)
        self._books, self._serving = self._opened()
        for owner in self._wires:
            self._send(owner, "begin", start=start, unit=unit)
        await self._pace.until(0)
        rounds = self._pace.start(self._serving.begin())
        over = asyncio.create_task(self._pace.over.wait())
        if network.until is None:
            await over
        else:
            await self._pace.until(self._horizon, unless=over)
        for task in (rounds, over):
            task.cancel()
        self._serving.stop()
        self._broken = self._broken or self._pace.broken
        self._require_whole()
        if self._pace.over.is_set():
            return self._books.ending
        self._pace.tick = self._horizon
        self._pace.stop()
        return Ending.horizon

    def _opened(self) -> tuple[Learner, Serving]:
        network, task, streams = self._order.network, self._order.task, self._order.streams
        self._watch = watch_of(task)
        self._remote = RemoteLearning(
            task.steps, task.reply, streams, task.record_every, task.asks,
            target=task.target, watch=self._watch,
        )  # fmt: skip
        kernel = cast(Kernel, self._pace)  # the books ask it for the tick, and to stop
        self._notes = Notes(network.n_owners, kernel)
        counted = (kernel, self._notes, network.updates, network.answers_allowed)
        trained: Any = {"learning": self._remote, "stops": network.stops}
        books = Learner(*counted, network.answers_per_update, **trained)
        parts: Any = (network, books, self._remote, self._pace, self._send)
        if network.protocol.rehearsed == "in rounds":
            return books, ServingInRounds(*parts)
        return books, (ServingAlone if network.protocol.one_on_one else Serving)(*parts)

    async def _farewell(self) -> None:
        """Send the end of the run to all owners, and wait for their final messages."""
        for owner in self._wires:
            self._send(owner, "end", tick=self._pace.tick)
        await self._left.wait()

    def _closed(self, ending: Ending) -> Trace:
        """Close the accounts with the owners' final messages and their charges."""
        network, end_tick = self._order.network, self._pace.tick
        charged = {
            owner: dict(farewell_message.said["charged"])
            for owner, farewell_message in self._farewells.items()
        }
        self._serving.settle(charged)
        self._books.close(end_tick)
        for owner, farewell in self._farewells.items():
            self._notes.note_farewell(owner, farewell.said["lost"], farewell.said["online"])
        trace = self._notes.trace(
            end_tick,
            ending,
            on_air_ticks=0,
            one_on_one=network.protocol.one_on_one,
            one_each=network.protocol.one_each,
            answers_per_update=network.answers_per_update,
        )
        paid = [len(charged[owner]) for owner in range(1, network.n_owners + 1)]
        if paid != trace.released.tolist():
            raise InvariantError("the owners' charges and the trace disagree on what was released")
        return trace
