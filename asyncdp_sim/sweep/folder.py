"""Where a sweep's results go: a folder, or a URL that fsspec knows. All appears whole or not."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from asyncdp_sim.errors import Fault, ResultError
from asyncdp_sim.result import Writer, read_manifest, write_into
from asyncdp_sim.scenario import Scenario, dump

Metadata = Mapping[str, str]


class Folder(Protocol):
    """A place that all workers reach, with entries such as ``cell-0003`` or ``traces/1f…``."""

    def entries(self, name: str = "") -> dict[str, float | None]:
        """Return the complete entries of a directory and when they came (seconds), if known."""

    def building(self, name: str) -> AbstractContextManager[Path]:
        """Give a path at which a directory that appears there appears in the folder."""

    def fetched(self, name: str) -> AbstractContextManager[Path]:
        """Give a path at which an entry can be read."""

    def put(self, name: str, content: Any, metadata: Metadata | None = None) -> None:
        """Write a file of the folder, as :func:`asyncdp_sim.result.write_into` does."""

    def text(self, name: str) -> str | None:
        """Return the text of a file; None where there is none."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def begin(self, scenario: Scenario) -> None:
        """Write ``scenario.toml`` where nothing is yet."""

    def manifest(self, name: str, *needed: str) -> dict[str, Any]:
        """Return the manifest of a cell, as :func:`asyncdp_sim.result.read_manifest` does."""

    def claimed(self) -> AbstractContextManager[None]:
        """Hold the folder against another sweep, and remove what an interrupted one left."""

    @property
    def begun(self) -> bool:
        """Whether anything is there."""

    @property
    def placed(self) -> bool:
        """Whether paths of data files can be relative to what is written here."""


@dataclass(frozen=True)
class LocalFolder:
    """A directory of this machine, or one that is mounted on all.

    Attributes
    ----------
    root : Path
    """

    root: Path

    def entries(self, name: str = "") -> dict[str, float | None]:
        """Return what is there; directories appear by being renamed, so they are complete."""
        try:
            with os.scandir(self.root / name) as found:
                return {e.name: e.stat().st_mtime for e in found if not e.name.startswith(".")}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise _unreachable(self.root, error) from None

    @contextmanager
    def building(self, name: str) -> Iterator[Path]:
        """Give its very path: who writes there renames."""
        yield self.root / name

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """Give its very path."""
        yield self.root / name

    def put(self, name: str, content: Any, metadata: Metadata | None = None) -> None:
        """Write a file beside its place and rename it."""
        place = self.root / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unreachable(self.root, error) from None
        write_into(place.parent, place.name, content, metadata)

    def text(self, name: str) -> str | None:
        """Return the text of a file; None where there is none."""
        try:
            return (self.root / name).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
            return None
        except OSError as error:
            raise _unreachable(self.root, error) from None

    def remove(self, name: str) -> None:
        """Remove a file, and its directory when that is empty then."""
        (self.root / name).unlink(missing_ok=True)
        with suppress(OSError):
            (self.root / name).parent.rmdir()

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
                allowed = "allowed is one sweep at a time: wait for it, or name another --out"
                fault = Fault("--out", "a sweep that is running", allowed)
                raise ResultError([fault], str(self.root)) from None
            for parent in (self.root, self.root / "traces"):
                for leftover in parent.glob(".partial-*"):
                    shutil.rmtree(leftover, ignore_errors=True)
            yield

    @property
    def begun(self) -> bool:
        """Whether anything is there, be it what it may."""
        return os.path.lexists(self.root)

    def begin(self, scenario: Scenario) -> None:
        """Make the directory, with its first file."""
        with Writer(self.root) as writer:
            writer.scenario(scenario)

    @property
    def placed(self) -> bool:
        """Yes: results and data files may move together."""
        return True


@dataclass(frozen=True)
class UrlFolder:
    """A folder of a file system that fsspec knows, such as ``s3://bucket/results``.

    What is written is built in a temporary directory and sent, the file that makes an entry
    complete last.

    Attributes
    ----------
    url : str
    """

    url: str

    @cached_property
    def _place(self) -> tuple[Any, str]:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            allowed = "allowed is a folder; for a URL: pip install 'asyncdp_sim[cluster]'"
            raise ResultError([Fault("--out", repr(self.url), allowed)]) from None
        try:
            system, path = url_to_fs(self.url)
        except (ImportError, ValueError, OSError) as error:
            raise _unreachable(self.url, error) from None
        return system, path.rstrip("/")

    def entries(self, name: str = "") -> dict[str, float | None]:
        """Return the entries whose last file is there; when they came is not known."""
        system, root = self._place
        with self._reaching():
            system.invalidate_cache()
            base = "/".join(part for part in (root, name) if part)
            if not system.exists(base):
                return {}
            found: dict[str, float | None] = {}
            for each in system.ls(base, detail=True):
                entry = each["name"].rstrip("/").rpartition("/")[2]
                whole = f"{base}/{entry}/{_last(f'{name}/{entry}')}"
                if each["type"] == "file" or system.exists(whole):
                    found[entry] = None
            return found

    @contextmanager
    def building(self, name: str) -> Iterator[Path]:
        """Give a place in a temporary directory; send what is there at the end."""
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(temporary) / Path(name).name
            yield place
            names = sorted(os.listdir(place), key=lambda each: (each == _last(name), each))
            for each in names:
                self._send(place / each, f"{name}/{each}")

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """Give a temporary copy."""
        system, root = self._place
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(temporary) / "copy"
            place.mkdir()
            with self._reaching():
                for each in system.ls(f"{root}/{name}", detail=False):
                    system.get_file(each, str(place / each.rpartition("/")[2]))
            yield place

    def put(self, name: str, content: Any, metadata: Metadata | None = None) -> None:
        """Write a file here and send it."""
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary) / Path(name).name
            write_into(file.parent, file.name, content, metadata)
            self._send(file, name)

    def text(self, name: str) -> str | None:
        """Return the text of a file; None where there is none."""
        system, root = self._place
        with self._reaching():
            try:
                return str(system.cat_file(f"{root}/{name}").decode())
            except FileNotFoundError:
                return None

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        system, root = self._place
        with self._reaching(), suppress(FileNotFoundError):
            system.rm_file(f"{root}/{name}")

    def manifest(self, name: str, *needed: str) -> dict[str, Any]:
        """Return the manifest of a cell."""
        with tempfile.TemporaryDirectory() as temporary:
            said = self.text(f"{name}/manifest.json")
            (Path(temporary) / "manifest.json").write_text(said or "", encoding="utf-8")
            return read_manifest(Path(temporary), *needed)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Do nothing: such file systems have no locks, and nothing half-written counts."""
        yield

    @property
    def begun(self) -> bool:
        """Whether there is any file."""
        return len(self.entries()) > 0

    def begin(self, scenario: Scenario) -> None:
        """Send the first file."""
        self.put("scenario.toml", dump(scenario, None))

    @property
    def placed(self) -> bool:
        """No: a URL is no place to be relative to."""
        return False

    def _send(self, file: Path, name: str) -> None:
        system, root = self._place
        with self._reaching():
            system.makedirs(f"{root}/{name}".rpartition("/")[0], exist_ok=True)
            system.put_file(str(file), f"{root}/{name}")

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except (ResultError, FileNotFoundError):
            raise
        except Exception as error:  # each file system has exceptions of its own
            raise _unreachable(self.url, error) from None


def folder(place: Path | str) -> Folder:
    """Return the folder at a path, or at a URL (anything with ``://``)."""
    text = str(place)
    return UrlFolder(text.rstrip("/")) if "://" in text else LocalFolder(Path(place))


def _last(name: str) -> str:
    """Return the file that makes a directory complete."""
    return "updates.parquet" if name.strip("/").startswith("traces/") else "manifest.json"


def _unreachable(place: Path | str, error: Exception) -> ResultError:
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    allowed = "allowed is a place that can be read and written to"
    return ResultError([Fault("--out", " ".join(said.split()), allowed)], str(place))
