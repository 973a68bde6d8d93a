"""A bounded directory of data sets; where it cannot be used, everything works without."""

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from asyncdp_sim.data.dataset import Dataset
from asyncdp_sim.data.kept.form import read, write

VARIABLE = "ASYNCDP_CACHE"
"""Environment variable that names the directory; empty, nothing is kept."""
LEAST = 2**23
"""Bytes of records from which on reading them is much faster than drawing them."""
MOST = 2**30
"""Bytes of all files; the oldest are removed."""
_ENDING = ".records"


@dataclass(frozen=True)
class Cache:
    """Data sets by the digest of what they are of.

    Attributes
    ----------
    directory : Path, optional
        Made when it is first written to; None keeps nothing.
    most : int
        Bytes that its files have together at most.
    """

    directory: Path | None
    most: int = MOST

    @classmethod
    def of_user(cls) -> "Cache":
        """Return the user's: of :data:`VARIABLE`, else in the platform's place for caches."""
        named = os.environ.get(VARIABLE)
        if named is not None:
            return cls(Path(named) if named != "" else None)
        try:
            return cls(_platform_caches() / "asyncdp")
        except RuntimeError:  # a user without a home
            return cls(None)

    def get(self, key: str) -> Dataset | None:
        """Return what is kept under a key; None where there is nothing, or nothing sound."""
        if self.directory is None:
            return None
        try:
            return read(self.directory / f"{key}{_ENDING}", key)
        except (OSError, ValueError, LookupError, TypeError, MemoryError):
            return None

    def put(self, key: str, dataset: Dataset) -> None:
        """Keep a data set, whole or not at all, and remove the oldest ones beyond the bound."""
        if self.directory is None:
            return
        partial = self.directory / f".partial-{uuid4().hex}{_ENDING}"
        with contextlib.suppress(OSError, TypeError, ValueError):
            self.directory.mkdir(parents=True, exist_ok=True)
            try:
                write(partial, key, dataset)
                partial.replace(self.directory / f"{key}{_ENDING}")
            finally:
                partial.unlink(missing_ok=True)
            _shrink(self.directory, self.most)


def _shrink(directory: Path, most: int) -> None:
    """Remove the oldest files, so that the others have so many bytes at most."""
    files = [(file.stat(), file) for file in directory.glob(f"*{_ENDING}")]
    for stat, file in sorted(files, key=lambda each: each[0].st_mtime_ns, reverse=True):
        most -= stat.st_size
        if most < 0:
            file.unlink(missing_ok=True)


def _platform_caches() -> Path:
    if sys.platform == "win32" and "LOCALAPPDATA" in os.environ:
        return Path(os.environ["LOCALAPPDATA"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
