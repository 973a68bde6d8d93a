"""The folder of a sweep's results, in which every entry appears whole or not at all."""

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.files import file_bytes
from asyncdp_sim.results import read_manifest
from asyncdp_sim.results.columns import README
from asyncdp_sim.results.write import Writer, remove_leftovers, write_into
from asyncdp_sim.scenario import Scenario

Metadata = Mapping[str, str]

FAILED = "failed"
"""Where the errors of cells that failed are kept."""
OF_A_SWEEP = (FAILED, "traces", "cells.parquet", "manifest.json", "scenario.toml", README)
"""What a sweep writes besides its cells."""
_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL)
"""Errors of the system where there is no file: nothing, a folder, a pipe."""


@dataclass(frozen=True)
class Folder:
    """A directory that all workers reach, with entries such as ``cell-0003`` or ``traces/1f…``.

    Attributes
    ----------
    root : Path
    """

    root: Path

    def entries(self, name: str = "") -> dict[str, float | None]:
        """Return the entries of a directory and when they came (seconds).

        Directories appear by being renamed, so they are complete.
        """
        try:
            with os.scandir(self.root / name) as result:
                return {e.name: e.stat().st_mtime for e in result if not e.name.startswith(".")}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise unreachable(self.root, error) from None

    def put(self, name: str, content: Any, metadata: Metadata | None = None) -> None:
        """Write a file of the folder, as :func:`asyncdp_sim.results.write.write_into` does."""
        place = self.root / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unreachable(self.root, error) from None
        write_into(place.parent, place.name, content, metadata)

    def text(self, name: str) -> str | None:
        """Return the text of a file; None where there is none, or no text."""
        try:
            return file_bytes(self.root / name).decode()
        except UnicodeDecodeError:
            return None
        except OSError as error:
            if error.errno in _NO_FILE:
                return None
            raise unreachable(self.root, error) from None

    def remove(self, name: str) -> None:
        """Remove a file, and its directory when that is empty then."""
        place = os.path.join(self.root, name)
        with suppress(FileNotFoundError):
            os.unlink(place)
        with suppress(OSError):
            os.rmdir(os.path.dirname(place))

    def manifest(self, name: str, *needed: str) -> dict[str, Any]:
        """Return the manifest of a cell."""
        return read_manifest(self.root / name, *needed)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Lock ``scenario.toml``: the lock ends with the process, however that ends."""
        with (self.root / "scenario.toml").open(encoding="utf-8") as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # a system without such locks
                pass
            except BlockingIOError:
                remedy = "allowed is one sweep at a time: wait for it, or name another --out"
                fault = Fault("--out", "a sweep that is running", remedy)
                raise ResultError([fault], str(self.root)) from None
            self._tidy()
            yield

    def _tidy(self) -> None:
        """Remove what an interrupted sweep left half built: directories, and single files."""
        for parent in (self.root, self.root / "traces"):
            for leftover in parent.glob(".partial-*"):
                shutil.rmtree(leftover, ignore_errors=True)
        for parent in (self.root, self.root / FAILED):
            for unfinished in parent.glob("*.tmp"):
                _remove(unfinished)

    @property
    def begun(self) -> bool:
        """Whether anything is there, be it what it may."""
        return os.path.lexists(self.root)

    def begin(self, scenario: Scenario) -> None:
        """Make the directory, with its first file."""
        remove_leftovers(self.root)
        with Writer(self.root) as writer:
            writer.scenario(scenario)

    def discard(self) -> None:
        """Remove what the sweep has written, and the directory unless others wrote there too."""
        for name in OF_A_SWEEP:
            _remove(self.root / name)
        with suppress(OSError):
            self.root.rmdir()


def _remove(written: Path) -> None:
    """Remove a file or a directory, if it is there and can be."""
    if written.is_dir() and not written.is_symlink():
        shutil.rmtree(written, ignore_errors=True)
    else:
        with suppress(OSError):
            written.unlink()


def unreachable(place: Path | str, error: Exception) -> ResultError:
    """Return the error of a place that cannot be read or written."""
    content = getattr(error, "strerror", None) or str(error) or type(error).__name__
    remedy = "allowed is a place that can be read and written to"
    return ResultError([Fault("--out", " ".join(content.split()), remedy)], str(place))
