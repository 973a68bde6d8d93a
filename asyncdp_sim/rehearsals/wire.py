"""Messages over TCP: each has its length in front, a head in JSON, and numbers as they are."""

import asyncio
import json
from contextlib import suppress
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

_LENGTHS = Struct("<II")
_MOST, OF_STRANGER = 2**30, 2**12
"""Bytes of a message at most, and of one by an end that has not said the token yet."""


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

    def send(self, kind: str, numbers: Numbers | None = None, /, **said: int | float | str) -> None:
        """Send a message; one that the other end is not there for is lost."""
        head = json.dumps({"kind": kind, **said}).encode()
        body = b"" if numbers is None else numbers.astype("<f8").tobytes()
        if not self._writer.is_closing():
            self._writer.write(_LENGTHS.pack(len(head), len(body)) + head + body)

    async def receive(self, most: int = _MOST) -> WireMessage | None:
        """Return the next message; None where there will be no other, or it is no such message.

        Parameters
        ----------
        most : int
            Bytes that are read of it.
        """
        try:
            head, body = _LENGTHS.unpack(await self._reader.readexactly(_LENGTHS.size))
            if head + body > most:
                return None
            said = json.loads(await self._reader.readexactly(head))
            numbers = np.frombuffer(await self._reader.readexactly(body), dtype="<f8")
            return WireMessage(said.pop("kind"), said, numbers.astype(np.float64))
        except (OSError, EOFError, ValueError, LookupError, AttributeError, TypeError):
            return None
        except RecursionError:  # brackets within brackets
            return None

    async def drain(self) -> None:
        """Wait until what was sent has left."""
        try:
            await self._writer.drain()
        except OSError:
            self.hang_up()

    def hang_up(self) -> None:
        """Let nothing more be said."""
        self._writer.close()

    async def close(self) -> None:
        """Hang up, and wait until that is done."""
        self.hang_up()
        with suppress(OSError):
            await self._writer.wait_closed()


async def connect(port: int) -> Wire | None:
    """Return a connection to a port of this machine; None where nobody listens."""
    try:
        return Wire(*await asyncio.open_connection("127.0.0.1", port))
    except OSError:
        return None


__all__ = ["OF_STRANGER", "Numbers", "Wire", "WireMessage", "connect"]
