"""Files held until they are on disk, many at once."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

AT_ONCE = 16
"""Files waited for at a time: a disk that writes its journal for one of them writes it for all, so
that 112 take as long as 8 do one by one."""


def synchronise(files: Iterable[Path]) -> None:
    """Wait until files are on disk.

    Raises
    ------
    OSError
        If one cannot be written there.
    """
    with ThreadPoolExecutor(AT_ONCE) as waiting:
        for _ in waiting.map(_synchronise, files):
            pass


def _synchronise(file: Path) -> None:
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())
