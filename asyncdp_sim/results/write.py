"""The result directory, written. Files appear whole or not at all."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic_core import to_json

from asyncdp_sim.core.errors import EXHAUSTED, AsyncDPError, Fault, MachineError, ResultError
from asyncdp_sim.core.files import synchronise
from asyncdp_sim.results.columns import ROW_GROUP, Columns, arrow_table, is_exact
from asyncdp_sim.scenario import Scenario, dump, jsonable

if TYPE_CHECKING:
    from asyncdp_sim.sentences.label import Label

Content = str | Mapping[str, Any] | Iterator[Mapping[str, Any]]
PLAIN = 2**15
"""Bytes of a table that is not compressed: it would be little smaller, and take twice as long."""
OF_NETWORK = ("updates.parquet", "events.parquet")
"""Tables that are the same whatever is learned."""


def require_free(directory: Path) -> None:
    """Raise if a result cannot be written here.

    Raises
    ------
    ResultError
        If something stands there already, or the place cannot be written to.
    """
    try:
        if os.path.lexists(directory):
            remedy = "allowed is a directory that does not exist yet: name another with --out"
            raise ResultError([Fault("--out", "an existing path", remedy)], str(directory))
        parent = next(p for p in directory.absolute().parents if os.path.lexists(p))
        os.lstat(parent / f".partial-{directory.name}-12345678.tmp")  # is the name too long, say?
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise _unwritable(directory, error) from None
    if not os.path.isdir(parent) or not os.access(parent, os.W_OK | os.X_OK):
        content = "not writable" if os.path.isdir(parent) else "not a directory"
        raise _unwritable(directory, OSError(0, f"{parent} is {content}"))


def remove_leftovers(directory: Path) -> None:
    """Remove what killed writers of this very directory have left beside it.

    One that is still writing holds a lock on what it builds, which ends with its process: its
    files are left alone.
    """
    leftover = re.compile(rf"\.partial-{re.escape(directory.name)}-[0-9a-f]{{8}}")
    with suppress(OSError), os.scandir(directory.absolute().parent) as beside:
        for path in [Path(e.path) for e in beside if leftover.fullmatch(e.name) is not None]:
            lock = _lock(path)
            if lock is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _lock(directory: Path) -> int | None:
    """Return a directory opened and locked, until it is closed or the process ends.

    None where another process has locked it, or where there are no such locks.
    """
    try:
        import fcntl
    except ImportError:
        return None
    opened = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened


class Writer:
    """Builds a directory beside its final place, and renames it when all is on disk.

    Use as a context manager; what is written inside appears at :meth:`__exit__`, or not at all.
    Several may be built first and then appear one by one, after :func:`all_on_disk`.

    Parameters
    ----------
    directory : Path
        Where the result is to appear; must not exist.
    label : Label, optional
        The result's privacy label, for the metadata of its tables.
    room : str
        What the dictionary of columns has before the names of its tables, such as "traces/".

    Attributes
    ----------
    building : Path
        The directory that is built; what others write below it they put on disk themselves.
    files : list of Path
        Those that are built.

    Raises
    ------
    ResultError
        If the path exists or cannot be written.
    """

    def __init__(self, directory: Path, label: "Label | None" = None, room: str = "") -> None:
        self.directory = directory
        self.columns: dict[str, tuple[str, ...]] = {}
        self._label = label
        self._room = room
        self.building = directory.with_name(f".partial-{directory.name}-{uuid4().hex[:8]}")
        self.files: list[Path] = []
        self._held: int | None = None
        try:
            if os.path.lexists(directory):
                require_free(directory)
            self.building.mkdir(parents=True)
            self._held = _lock(self.building)
        except (OSError, ValueError) as error:
            require_free(directory)
            raise _unwritable(directory, error) from None

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                all_on_disk([self])
                self.appear()
        finally:
            self.discard()

    def appear(self) -> None:
        """Rename the directory to its final place."""
        try:
            if os.path.lexists(self.directory):
                require_free(self.directory)
            os.rename(self.building, self.directory)
        except OSError as error:
            raise _unwritable(self.directory, error) from None

    def discard(self) -> None:
        """Let go of what is built, which is removed unless it has appeared."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
        shutil.rmtree(self.building, ignore_errors=True)

    def table(self, name: str, columns: Columns, metadata: Mapping[str, str] | None = None) -> None:
        """Write a Parquet table of NumPy or Arrow columns, with the label or other metadata."""
        content = self._said_of(name, columns) if metadata is None else metadata
        self.put(name, columns, content)
        self.columns[name.removesuffix(".parquet")] = tuple(columns)

    def row_groups(self, name: str, groups: Iterator[Columns]) -> None:
        """Write a Parquet table of row groups that come one by one, at least one."""
        table = name.removesuffix(".parquet")

        def noted() -> Iterator[Columns]:
            for columns in groups:
                self.columns[table] = tuple(columns)
                yield columns

        self.put(name, noted(), self._said_of(name, ()))

    def put(self, name: str, content: Content, said: Mapping[str, str] | None = None) -> None:
        """Write a file, as :func:`write_into` does; it becomes visible with the whole directory."""
        self.files.append(self.building / name)
        write_into(self.building, name, content, said, self._room, on_disk=False)

    def _said_of(self, name: str, columns: Iterable[str]) -> Mapping[str, str] | None:
        """Return the metadata of a table: its privacy label."""
        if self._label is None:
            return None
        if name in OF_NETWORK:
            return self._label.metadata_of_network()
        exact = any(map(is_exact, columns))
        return self._label.metadata_of_exact() if exact else self._label.metadata()

    def scenario(self, scenario: Scenario) -> None:
        """Write ``scenario.toml``, with a data path that loads from where the file will lie."""
        self.put("scenario.toml", dump(scenario, self.directory))


def all_on_disk(writers: Sequence[Writer]) -> None:
    """Wait until all that is built is on disk, together.

    Raises
    ------
    ResultError
        If it cannot be written.
    """
    try:
        synchronise([file for writer in writers for file in writer.files])
    except OSError as error:
        raise _unwritable(writers[0].directory, error) from None


def write_into(
    directory: Path,
    name: str,
    content: Content,
    metadata: Mapping[str, str] | None = None,
    room: str = "",
    *,
    on_disk: bool = True,
) -> None:
    """Write one file, whole or not at all: as ``name.tmp``, synchronised, then renamed.

    Parameters
    ----------
    directory : Path
        Must exist.
    name : str
        ``.parquet`` takes columns, or those of each row group, ``.json`` a mapping (infinities
        become the text "inf"); in both NaN becomes null. Anything else takes text.
    content : str, mapping, or iterator of mappings
    metadata : mapping of text, optional
        Of a Parquet file.
    room : str
        Before the name of a table, in the dictionary that says what its columns are.
    on_disk : bool
        Whether to wait until it is on disk; else somebody else does, before the directory counts,
        and it has its own name at once.

    Raises
    ------
    ResultError
        If it cannot be written.
    """
    unfinished = os.path.join(directory, f"{name}.tmp" if on_disk else name)
    title = room + name.removesuffix(".parquet")
    try:
        with open(unfinished, "wb") as opened:
            if isinstance(content, str):
                opened.write(content.encode())
            elif name.endswith(".json"):
                opened.write(to_json(jsonable(content), indent=2) + b"\n")
            else:
                groups = iter([content]) if isinstance(content, Mapping) else content
                _write_parquet(opened, (arrow_table(title, group, metadata) for group in groups))
        if on_disk:
            synchronise([unfinished])
            Path(unfinished).rename(directory / name)
    except OSError as error:
        with suppress(OSError):
            os.unlink(unfinished)
        raise _unwritable(directory, error) from None


def _write_parquet(sink: Any, tables: Iterator[Any]) -> None:
    """Write tables of one schema beneath each other, each as soon as it comes."""
    import pyarrow.parquet as pq

    table = next(tables)
    size = table.get_total_buffer_size()  # all of it: no column is part of a longer one
    packed = "none" if size < PLAIN else "zstd"
    with pq.ParquetWriter(sink, table.schema, compression=packed) as file:
        while table is not None:
            file.write_table(table, ROW_GROUP)
            table = next(tables, None)


def _unwritable(directory: Path, error: OSError | ValueError) -> AsyncDPError:
    remedy = "allowed is a place that can be written to"
    content = getattr(error, "strerror", None) or str(error)
    if getattr(error, "errno", None) in EXHAUSTED:
        return MachineError(f"{directory}: {content.lower()}")
    return ResultError([Fault("--out", content, remedy)], str(directory))
