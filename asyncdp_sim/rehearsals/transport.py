"""Messages over TCP, and simulated ticks by this machine's clock, which all processes share.

Each message has its length in front, a head in JSON, and numbers as they are.
"""

import asyncio
import hmac
import json
import selectors
from collections.abc import Coroutine
from contextlib import suppress
from struct import Struct
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.units import TICKS_PER_UNIT

Numbers = Array

_LENGTHS = Struct("<II")
TOKEN_BYTES, _NUMBER_BYTES = 16, 4
_PATIENCE = 5.0
"""Seconds in which an owner has to identify itself."""


class WireMessage(NamedTuple):
    """A message from one end to the other.

    Attributes
    ----------
    kind : str
        What it is about.
    said : dict
        Whole numbers and texts, by name.
    numbers : array (p,)
        A model, a query or an answer; of length 0 in other messages.
    """

    kind: str
    said: dict[str, Any]
    numbers: Numbers


class Wire:
    """One end of a connection.

    Parameters
    ----------
    reader, writer
        asyncio's streams.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, kind: str, numbers: Numbers | None = None, /, **said: Any) -> None:
        """Send a message; one that the other end is not there for is lost."""
        head = json.dumps({"kind": kind, **said}).encode()
        body = b"" if numbers is None else numbers.astype("<f8").tobytes()
        if not self._writer.is_closing():
            self._writer.write(_LENGTHS.pack(len(head), len(body)) + head + body)

    async def receive(self) -> WireMessage | None:
        """Return the next message; None where there will be no other."""
        try:
            head, body = _LENGTHS.unpack(await self._reader.readexactly(_LENGTHS.size))
            fields = json.loads(await self._reader.readexactly(head))
            numbers = np.frombuffer(await self._reader.readexactly(body), dtype="<f8")
        except (OSError, EOFError):
            return None
        return WireMessage(fields.pop("kind"), fields, numbers.astype(np.float64))

    def hang_up(self) -> None:
        """Close the connection for further messages; those that were sent still leave."""
        self._writer.close()

    async def close(self) -> None:
        """Hang up, and wait until that is done."""
        self.hang_up()
        with suppress(OSError):
            await self._writer.wait_closed()


async def connect(port: int, token: bytes, owner: int) -> Wire:
    """Return an owner's connection to a port of this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(token + owner.to_bytes(_NUMBER_BYTES))
    return Wire(reader, writer)


async def identified(reader: asyncio.StreamReader, token: bytes) -> int | None:
    """Return which owner connects; None of a connection that does not begin with the token."""
    try:
        async with asyncio.timeout(_PATIENCE):
            start = await reader.readexactly(TOKEN_BYTES + _NUMBER_BYTES)
    except (TimeoutError, OSError, EOFError):
        return None
    if not hmac.compare_digest(start[:TOKEN_BYTES], token):
        return None
    return int.from_bytes(start[TOKEN_BYTES:])


T = TypeVar("T")


class Pace:
    """Tells ticks by the time since the start, and waits for them.

    Deadlines are absolute: one that is met late delays none that follows.

    Parameters
    ----------
    start : float
        When tick 0 is, in seconds of the machine's monotonic clock.
    unit : float
        Seconds that a unit of time takes, > 0.

    Attributes
    ----------
    tick : int
        As it was at the last :meth:`look`.
    """

    def __init__(self, start: float, unit: float) -> None:
        self._start = start
        self._seconds = unit / TICKS_PER_UNIT
        self.tick = 0

    def look(self) -> int:
        """Look at the clock, and return the tick; none is before 0, or before the last one."""
        self.tick = max(self.tick, round((monotonic() - self._start) / self._seconds))
        return self.tick

    async def until(self, tick: int, unless: asyncio.Future[Any] | None = None) -> None:
        """Wait for a tick, or for what may come before; return at once where it has passed."""
        left = self._start + tick * self._seconds - monotonic()
        if left > 0 and unless is None:
            await asyncio.sleep(left)
        elif left > 0 and unless is not None:
            await asyncio.wait([unless], timeout=left)


class RunPace(Pace):
    """A pace that can be stopped, as the simulation's kernel can.

    Attributes
    ----------
    over : asyncio.Event
        Whether it was.
    broken : BaseException or None
        Why, where it is a bug.
    """

    def __init__(self, start: float, unit: float) -> None:
        super().__init__(start, unit)
        self.over = asyncio.Event()
        self.broken: BaseException | None = None

    @override
    def look(self) -> int:
        return self.tick if self.over.is_set() else super().look()

    def stop(self) -> None:
        """Let no more time pass."""
        self.over.set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start work beside all other; if it fails, all is over."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.broken = task.exception()
            self.stop()


def run_here(work: Coroutine[Any, Any, T]) -> T:
    """Run asynchronous work with timers that are exact.

    Those of asyncio's usual selector, epoll, are rounded up to whole milliseconds.
    """
    with asyncio.Runner(
        loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())
    ) as runner:
        return runner.run(work)
