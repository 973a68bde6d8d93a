"""A sweep's folder at a URL that fsspec knows."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from asyncdp_sim.errors import Fault, ResultError
from asyncdp_sim.result import read_manifest, write_into
from asyncdp_sim.scenario import Scenario, dump
from asyncdp_sim.sweeps.folder import Metadata, unreachable


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
            raise unreachable(self.url, error) from None
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

    def discard(self) -> None:
        """Remove everything."""
        system, root = self._place
        with self._reaching():
            system.rm(root, recursive=True)

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
            raise unreachable(self.url, error) from None


def _last(name: str) -> str:
    """Return the file that makes a directory complete."""
    return "updates.parquet" if name.strip("/").startswith("traces/") else "manifest.json"
