"""The folder of a sweep: entries that appear whole or not at all, and its networks' traces."""

import errno
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.files import file_bytes
from asyncdp_sim.results import read_parquet
from asyncdp_sim.results.columns import (
    README,
    Columns,
    arrow_array,
    arrow_texts,
    from_arrow,
    update_columns,
)
from asyncdp_sim.results.manifest import VERSIONS, versions
from asyncdp_sim.results.write import Writer, remove_leftovers, write_into
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.trace import Ending, Trace
from asyncdp_sim.trace.vocabulary import EXCHANGES, OCCUPATION, OWNERS

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

    def entries(self, name: str = "") -> dict[str, float]:
        """Return the entries of a directory and when they came (seconds).

        Directories appear by being renamed, so they are complete.
        """
        came: dict[str, float] = {}
        try:
            with os.scandir(self.root / name) as entries:
                for entry in entries:
                    if not entry.name.startswith("."):
                        with suppress(FileNotFoundError):  # a link to nothing, or renamed just now
                            came[entry.name] = entry.stat().st_mtime
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise unreachable(self.root, error) from None
        return came

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

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Lock ``scenario.toml``: the lock ends with the process, however that ends."""
        place = self.root / "scenario.toml"
        writable = os.access(place, os.W_OK)  # NFS locks a file only for who may write it
        with place.open("r+b" if writable else "rb") as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                remedy = "allowed is one sweep at a time: wait for it, or name another --out"
                fault = Fault("--out", "a sweep that is running", remedy)
                raise ResultError([fault], str(self.root)) from None
            except (ImportError, OSError):  # a system, or a file system, without such locks
                pass
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


_ONE_EACH = (
    "end_tick", "in_flight_total", "recomputed", "on_air_ticks", "one_on_one", "one_each",
    "answers_per_update", "in_order",
)  # fmt: skip
"""What a trace has one of."""
_OCCUPATION = "occupation.parquet"
_ONCE = "answers_once"
"""What it has one of where it is so: files of other traces are as they always were."""


def write_traces(
    traces: Sequence[Trace],
    directory: Path,
    metadata: dict[str, str],
    owners: Participants,
    *,
    whole: bool,
) -> None:
    """Write the updates of all replicates, from 1, and where asked all that traces consist of.

    Owners have their own numbers in tables, as everywhere.

    Raises
    ------
    ResultError
        If the directory exists or cannot be written.
    """
    numbers = range(1, len(traces) + 1)
    with Writer(directory, room="traces/") as writer:
        if whole:
            for name in ("exchanges", "owners"):
                columns = owners.numbered(_joined(name, traces))
                writer.table(f"{name}.parquet", columns, metadata)
            writer.table("runs.parquet", _runs(traces), metadata)
            if all(trace.occupation is not None for trace in traces):
                reported = owners.numbered(_joined("occupation", traces))
                writer.table(_OCCUPATION, reported, metadata)
        writer.put(VERSIONS, versions())
        writer.table("updates.parquet", owners.numbered(update_columns(traces, numbers)), metadata)


def read_traces(directory: Path, owners: Participants) -> tuple[Trace, ...]:
    """Return the traces that :func:`write_traces` has written whole, of these owners.

    Raises
    ------
    ResultError
        If they are damaged.
    """
    try:
        return _read(directory, owners)
    except (ValueError, LookupError, TypeError, OverflowError):
        fault = Fault("", "damaged traces", "delete this folder, and they are simulated again")
        raise ResultError([fault], str(directory)) from None


def _read(directory: Path, owners: Participants) -> tuple[Trace, ...]:
    runs = read_parquet(directory / "runs.parquet").to_pylist()
    exchanges = _parts(directory / "exchanges.parquet", EXCHANGES, len(runs), owners)
    accounts = _parts(directory / "owners.parquet", OWNERS, len(runs), owners)
    lines: list[npt.NDArray[np.void] | None] = [None] * len(runs)
    if (directory / _OCCUPATION).exists():
        lines = [*_parts(directory / _OCCUPATION, OCCUPATION, len(runs), owners)]
    return tuple(
        Trace(
            exchanges=asked,
            owners=item,
            occupation=occupied,
            events=None,
            ending=Ending[text["ending"]],
            update_ticks=np.array(text["update_ticks"], dtype=np.int64),
            **{name: text[name] for name in (*_ONE_EACH, _ONCE) if name in text},
        )
        for text, asked, item, occupied in zip(runs, exchanges, accounts, lines, strict=True)
    )


def _runs(traces: Sequence[Trace]) -> Columns:
    import pyarrow as pa

    columns: dict[str, Any] = {"replicate": np.arange(1, len(traces) + 1, dtype=np.int32)}
    columns |= {name: np.array([getattr(t, name) for t in traces]) for name in _ONE_EACH}
    if any(trace.answers_once for trace in traces):
        columns[_ONCE] = np.array([trace.answers_once for trace in traces])
    columns["ending"] = arrow_texts([trace.ending.name for trace in traces])
    ticks = [trace.update_ticks for trace in traces]
    ends = np.cumsum([0, *map(len, ticks)], dtype=np.int32)
    columns["update_ticks"] = pa.ListArray.from_arrays(
        arrow_array(ends), arrow_array(np.concatenate(ticks))
    )
    return columns


def _joined(name: str, traces: Sequence[Trace]) -> Columns:
    tables = [getattr(trace, name) for trace in traces]
    numbers = np.arange(1, len(traces) + 1, dtype=np.int32)
    columns = {"replicate": np.repeat(numbers, [len(table) for table in tables])}
    names = tables[0].dtype.names
    return columns | {item: np.concatenate([table[item] for table in tables]) for item in names}


def _parts(
    file: Path, dtype: np.dtype[np.void], count: int, owners: Participants
) -> list[npt.NDArray[np.void]]:
    read = read_parquet(file)
    table = np.empty(read.num_rows, dtype=dtype)
    for name in dtype.names or ():
        table[name] = from_arrow(read[name])
    table["owner"] = owners.places(table["owner"])
    ends = np.searchsorted(from_arrow(read["replicate"]), np.arange(1, count), side="right")
    return [part.copy() for part in np.split(table, ends)]
