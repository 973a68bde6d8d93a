"""Results on disk, opened for reading: tables, a result directory, or a sweep of several."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.errors import InputError, ResultError
from asyncdp_sim.core.files import file_bytes, is_file
from asyncdp_sim.core.words import known
from asyncdp_sim.network import Network
from asyncdp_sim.results.columns import COUNT, NUMBER, column, from_arrow
from asyncdp_sim.results.manifest import not_a_result, read_manifest
from asyncdp_sim.scenario import Participants, load
from asyncdp_sim.scenario.paths import words
from asyncdp_sim.theory.prediction import Unknown

UNIQUE: Mapping[str, tuple[str, ...]] = {
    "alone": ("owner", "coordinate"),
    "cells": ("cell",),
    "curve": ("replicate", "k"),
    "events": ("replicate", "seq"),
    "models": ("replicate", "coordinate"),
    "optimum": ("coordinate",),
    "owners": ("replicate", "owner"),
}
"""Columns of which no two rows of a table have the same values."""
_COUNTED = ("replicate", "owner", "k", "tick")
"""Read with any other columns of a table that has them."""
_LEAST = {COUNT: 0, NUMBER: 1, "≥ 0": 0}


def require_keys(directory: Path, name: str, read: Any, most: Mapping[str, int]) -> None:
    """Refuse a table whose rows are of nothing in the result, or twice of the same.

    Parameters
    ----------
    directory : Path
    name : str
        The table's.
    read : pyarrow.Table
        Some of its columns.
    most : mapping
        The largest value of some columns.

    Raises
    ------
    ResultError
        With the column, a wrong value and what is allowed.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for key in read.column_names:
        about = column(name, key)
        least = None if about is None else _LEAST.get(about.domain)
        if least is None or not pa.types.is_primitive(read[key].type):
            continue
        ends = pc.min_max(read[key]).as_py()
        if ends["min"] is None:
            continue
        wrong = ends["min"] if ends["min"] < least else ends["max"]
        if wrong < least or wrong > most.get(key, wrong):
            rule = f"at least {least}" if key not in most else f"{least} to {most[key]}"
            raise not_a_result(directory, f"{key} {wrong} in {name}.parquet", f"allowed is {rule}")
    _require_unique(directory, name, read)


def _require_unique(directory: Path, name: str, read: Any) -> None:
    keys = UNIQUE.get(name, ())
    if len(keys) == 0 or not {*keys} <= {*read.column_names}:
        return
    columns = [from_arrow(read[key]) for key in keys]
    order = np.lexsort(columns[::-1])
    twice = np.ones(max(len(order) - 1, 0), dtype=bool)
    for values in columns:
        twice &= values[order][1:] == values[order][:-1]
    if np.any(twice):
        row = order[np.argmax(twice)]
        place = ", ".join(f"{key} {values[row]}" for key, values in zip(keys, columns, strict=True))
        problem = f"{place} twice in {name}.parquet"
        raise not_a_result(directory, problem, "allowed is one row")


def read_table(directory: Path, name: str, most: Mapping[str, int] | None = None) -> Any:
    """Return a table of a result as a pandas frame.

    Parameters
    ----------
    directory : Path
    name : str
        The table's.
    most : mapping, optional
        The largest values of some columns of keys; without it keys may be impossible.

    Raises
    ------
    ResultError
        If it is not there or damaged.
    """
    try:
        table = read_parquet(directory / f"{name}.parquet")
        frame = table.to_pandas()
    except ValueError:
        raise _unreadable(directory, name) from None
    if most is not None:
        require_keys(directory, name, table, most)
    return frame


def read_columns(
    directory: Path, name: str, wanted: Sequence[str], most: Mapping[str, int] | None = None
) -> tuple[npt.NDArray[Any], ...]:
    """Return columns of a table of a result as arrays, without pandas.

    Parameters
    ----------
    directory : Path
    name : str
        The table's.
    wanted : sequence of str
        Columns.
    most : mapping, optional
        The largest values of some columns of keys.

    Raises
    ------
    ResultError
        If it is not there or damaged, lacks a column, or has impossible keys.
    """
    with_keys = dict.fromkeys([*wanted, *UNIQUE.get(name, ()), *_COUNTED])
    try:
        table = read_parquet(directory / f"{name}.parquet", list(with_keys))
    except ValueError:
        raise _unreadable(directory, name) from None
    missing = [column for column in wanted if column not in table.column_names]
    if missing:
        raise not_a_result(directory, f"{name}.parquet without {', '.join(missing)}")
    require_keys(directory, name, table, most or {})
    return tuple(from_arrow(table[column]) for column in wanted)


def _unreadable(directory: Path, name: str) -> ResultError:
    """Return the error for a table that is not there or damaged; events are kept on request."""
    file = directory / f"{name}.parquet"
    if name == "events" and not file.exists():
        remedy = "run the scenario again with --events (Python: events=True) to have them"
        return not_a_result(directory, "a result without events", remedy)
    return not_a_result(directory, f"no readable {file.name}")


def read_parquet(path: Path, wanted: Sequence[str] | None = None) -> Any:
    """Return a table of a result as pyarrow has it, or these of its columns.

    Raises
    ------
    ValueError
        If it is not there or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        columns = None if wanted is None else list(wanted)
        file = pq.ParquetFile(pa.BufferReader(file_bytes(path)))
        table = file.read(columns, use_threads=False)  # threads take longer than a small table
        table.validate(full=True)  # texts are decoded when they are used, if ever
        return table
    except (OSError, ValueError, pa.ArrowException) as error:  # names that are no text, too
        raise ValueError(str(error)) from None


def column_names(directory: Path, name: str) -> list[str]:
    """Return the names of the columns of a table of a result.

    Raises
    ------
    ResultError
        If it is not there or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(pa.BufferReader(file_bytes(directory / f"{name}.parquet")))
        return [str(item) for item in schema.names]
    except (OSError, ValueError, pa.ArrowException):
        raise _unreadable(directory, name) from None


_Law = TypeVar("_Law")


@dataclass(frozen=True)
class Result:
    """One result directory.

    Attributes
    ----------
    directory : Path
    manifest : dict
        Of one run.
    """

    directory: Path
    manifest: dict[str, Any]

    @classmethod
    def read(cls, directory: Path) -> "Result":
        """Open a result directory.

        Raises
        ------
        ResultError
            If it is not one.
        """
        return cls(directory, read_manifest(directory, "summary"))

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario as resolved."""
        return dict(self.manifest["scenario"])

    @property
    def summary(self) -> dict[str, Any]:
        """The manifest's summary figures."""
        return dict(self.manifest["summary"])

    @property
    def warnings(self) -> list[str]:
        """What a reader of the result must know."""
        return list(self.manifest["warnings"])

    @property
    def replicates(self) -> list[int]:
        """The replicates that were run."""
        return list(self.manifest["replicates"])

    @property
    def n_owners(self) -> int:
        """N."""
        return int(self.scenario["owners"]["count"])

    @property
    def participants(self) -> Participants:
        """Who took part, in the order of the tables."""
        names = tuple(self.manifest.get("owner_names", ()))
        numbers = self.scenario["owners"].get("numbers", range(1, self.n_owners + 1))
        return Participants(tuple(numbers), names)

    @property
    def updates(self) -> int:
        """T."""
        return int(self.scenario["run"]["updates"])

    @property
    def _most(self) -> dict[str, int]:
        """The largest numbers of replicates, owners and updates."""
        return {
            "replicate": max(self.replicates),
            "owner": max(self.participants.numbers),
            "k": self.updates,
        }

    @property
    def mean_psi(self) -> float:
        """Mean over replicates of ψ of the last model; infinite where one diverged."""
        return known(self.summary["psi_final"]["mean"], np.inf)

    @property
    def projected(self) -> float:
        """Share of the updates in which the projection onto Θ changed a model; NaN if unknown."""
        return known(self.summary.get("clip_count")) / max(1.0, float(self.summary["updates"]))

    @property
    def network_digest(self) -> str:
        """Digest under which the cells of a sweep share their updates."""
        return str(self.manifest.get("network", ""))

    @cached_property
    def network(self) -> Network | Unknown:
        """The network, from the result's own scenario; or why it is not known.

        A file that the scenario names may be gone.
        """
        try:
            return load(self.directory / "scenario.toml")[0].network
        except InputError as error:
            fault = error.faults[0]
            return Unknown(f"its scenario does not load ({fault.key or fault.given})")

    def theory(self, law: Callable[[Network], _Law | Unknown]) -> _Law | Unknown:
        """Return the predictions for the network, or why there are none."""
        network = self.network
        return network if isinstance(network, Unknown) else law(network)

    def has(self, name: str) -> bool:
        """Return whether the table was kept."""
        return (self._place(name) / f"{name}.parquet").is_file()

    @property
    def has_events(self) -> bool:
        """Whether it has events that can be drawn: those of a trigger, which is gone, cannot."""
        return self.has("events") and "trigger" not in self.scenario

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names of a table's columns.

        Raises
        ------
        ResultError
            If the table is absent or damaged.
        """
        return tuple(column_names(self._place(name), name))

    def frame(self, name: str) -> Any:
        """Return a table as a pandas frame.

        Raises
        ------
        ResultError
            If the table is absent or damaged.
        """
        return read_table(self._place(name), name, self._most)

    def columns(self, name: str, *wanted: str) -> tuple[npt.NDArray[Any], ...]:
        """Return columns of a table as arrays.

        Raises
        ------
        ResultError
            If the table is absent or damaged, or lacks a column.
        """
        return read_columns(self._place(name), name, wanted, self._most)

    def last(self, *wanted: str) -> tuple[npt.NDArray[Any], ...]:
        """Return columns of the curve at the last record of every replicate, shape (R,) each."""
        replicate, *result = self.columns("curve", "replicate", *wanted)
        ends = np.flatnonzero(np.diff(replicate, append=-1) != 0)
        return tuple(column[ends] for column in result)

    def of_owners(self, name: str) -> npt.NDArray[Any]:
        """Return a column of ``owners``, a row for each replicate, shape (R, N)."""
        return self.columns("owners", name)[0].reshape(-1, self.n_owners)

    def _place(self, name: str) -> Path:
        """Return the folder of a table: a cell's updates may lie with its sweep's traces."""
        shared = self.directory.resolve().parent / "traces" / self.network_digest
        own = (self.directory / f"{name}.parquet").is_file()
        return shared if name == "updates" and not own and shared.is_dir() else self.directory


@dataclass(frozen=True)
class Cell:
    """One cell of a sweep: its number, its swept values by path, and its result."""

    number: int
    values: dict[str, Any]
    result: Result

    def label(self, paths: Sequence[str]) -> str:
        """Return the values of these paths in words, such as ``ε = 0.1, N = 3``."""
        return ", ".join(words(path, self.values[path]) for path in paths)


@dataclass(frozen=True)
class Sweep:
    """A sweep directory, with the cells that are done.

    Attributes
    ----------
    directory : Path
    paths : tuple of str
        The swept dotted paths.
    cells : tuple of Cell
        At least one.
    missing : tuple of int
        Numbers of cells that are listed but have no result yet.
    """

    directory: Path
    paths: tuple[str, ...]
    cells: tuple[Cell, ...]
    missing: tuple[int, ...]

    @property
    def varying(self) -> dict[str, list[Any]]:
        """The paths with several values in these cells, and each path's values in their order."""
        values = {p: list(dict.fromkeys(cell.values[p] for cell in self.cells)) for p in self.paths}
        return {path: item for path, item in values.items() if len(item) > 1}

    @classmethod
    def read(cls, directory: Path) -> "Sweep":
        """Open a sweep directory.

        Raises
        ------
        ResultError
            If it is not one, is damaged, or has no finished cell.
        """
        if is_file(directory / "manifest.json"):  # a sweep that was interrupted has none yet
            read_manifest(directory, "cells")
        names = column_names(directory, "cells")
        if "cell" not in names or "status" not in names:
            raise not_a_result(directory, "cells.parquet without cell or status")
        paths = tuple(names[names.index("cell") + 1 : names.index("status")])
        cells, missing = [], []
        columns = [column.tolist() for column in read_columns(directory, "cells", ("cell", *paths))]
        for number, *values in sorted(zip(*columns, strict=True), key=lambda row: int(row[0])):
            place = directory / f"cell-{int(number):04d}"
            if place.is_dir():
                swept = dict(zip(paths, values, strict=True))
                cells.append(Cell(int(number), swept, Result.read(place)))
            else:
                missing.append(int(number))
        if len(paths) == 0:
            raise not_a_result(directory, "cells.parquet without a swept path")
        if not cells:
            raise not_a_result(directory, "a sweep without a finished cell")
        return cls(directory, paths, tuple(cells), tuple(missing))


def open_directory(directory: Path) -> Result | Sweep:
    """Open a result or a sweep directory.

    Raises
    ------
    ResultError
        If it is neither.
    """
    if is_file(directory / "cells.parquet"):
        return Sweep.read(directory)
    return Result.read(directory)
