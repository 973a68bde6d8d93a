"""A sweep directory, opened for reading: its cells are results."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncdp_sim.opened.result import Result
from asyncdp_sim.reading import column_names, not_a_result, read_columns
from asyncdp_sim.scenario.setting_words import words


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
        return {path: some for path, some in values.items() if len(some) > 1}

    @classmethod
    def read(cls, directory: Path) -> "Sweep":
        """Open a sweep directory.

        Raises
        ------
        ResultError
            If it is not one, or has no finished cell.
        """
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
