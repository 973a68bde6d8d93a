"""Limits on what is read of a table: a small file may unpack to more than a machine has.

Both limits are settings of the machine, not of a scenario: no result depends on them. They are
raised by ``asyncdp --most-rows N --most-bytes N run …``, or by the environment.
"""

import gzip
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from asyncdp_sim.core.errors import Fault, InputError

ROWS = "ASYNCDP_MOST_ROWS"
BYTES = "ASYNCDP_MOST_BYTES"
DEFAULTS = {ROWS: 20_000_000, BYTES: 4 * 2**30}
LONGEST_LINE = 2**24
"""Bytes of a line at most: what has none that ends is no table, such as zeros."""
_OPTIONS = {ROWS: "--most-rows", BYTES: "--most-bytes"}
_UNITS = {ROWS: "rows", BYTES: "bytes"}
RAISED: ContextVar[Mapping[str, int]] = ContextVar("raised")
"""Limits by name that count in place of the environment's; workers are given those of a command."""


class TooMuch(ValueError):  # noqa: N818
    """A file has more than is read."""


@contextmanager
def raised(limits: Mapping[str, int]) -> Iterator[None]:
    """Read tables up to these limits inside, and in the worker processes that are started there."""
    before = RAISED.set(limits)
    try:
        yield
    finally:
        RAISED.reset(before)


def most(name: str) -> int:
    """Return a limit: how many rows are read of a file, or bytes as they are unpacked.

    Raises
    ------
    InputError
        If the environment says something else than a whole number ≥ 1.
    """
    limits = RAISED.get({})
    if name in limits:
        return limits[name]
    limit = os.environ.get(name, str(DEFAULTS[name]))
    if not limit.isdecimal() or int(limit) < 1:
        raise InputError([Fault(name, repr(limit), "allowed is a whole number ≥ 1")])
    return int(limit)


def require_at_most(name: str, count: int, limit: int | None = None) -> None:
    """Raise :class:`TooMuch` where a file has more rows, or bytes, than are read."""
    limit = most(name) if limit is None else limit
    if count > limit:
        raise TooMuch(f"more than {limit:,} {_UNITS[name]}; {_OPTIONS[name]} raises this limit")


def require_cells(rows: int, columns: int) -> None:
    """Raise :class:`TooMuch` where a table has more rows or cells than are read.

    A cell counts as a byte, however little of the file it takes.
    """
    require_at_most(ROWS, rows)
    require_at_most(BYTES, rows * columns)


def opened(path: str) -> io.BufferedReader:
    """Return a file's bytes, unpacked, that end in :class:`TooMuch` where there are too many."""
    packed = path.endswith(".gz")
    file: Any = gzip.open(path, "rb") if packed else Path(path).open("rb")  # noqa: SIM115
    return io.BufferedReader(_Bounded(file, seekable=not packed), 1 << 20)


class _Bounded(io.RawIOBase):
    """Bytes of a file, counted.

    Parameters
    ----------
    file : binary file
    seekable : bool
        Whether it can be read from any place at once.
    """

    def __init__(self, file: Any, *, seekable: bool) -> None:
        self._file = file
        self._seekable = seekable
        self._most = most(BYTES)  # asked here, for a library may read in a thread of its own
        self._read = 0
        self._line = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._seekable

    def seek(self, offset: int, whence: int = 0) -> int:
        self._line = 0
        self._read = int(self._file.seek(offset, whence))
        return self._read

    def tell(self) -> int:
        return self._read

    def readinto(self, buffer: Any) -> int:
        count = int(self._file.readinto(buffer))
        self._read += count
        require_at_most(BYTES, self._read, self._most)
        read = bytes(memoryview(buffer)[:count])
        last = max(read.rfind(b"\n"), read.rfind(b"\r"))
        self._line = self._line + count if last < 0 else count - last - 1
        if self._line > LONGEST_LINE:
            raise TooMuch(f"a line of more than {LONGEST_LINE:,} bytes: this is no table")
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
