"""A neighbouring table: one record replaced before anything is made of the table.

Two datasets are neighbours when one record is replaced; every n_i is public. What learns from
records (a dictionary, an imputed value, a projection) must see the replaced one, hence it is
replaced in the raw table, not in an owner's features.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.data.dataset import Array, Encoded, Rows, Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Swap:
    """The record of one table row becomes a copy of another's, its features scaled.

    Rows count from 0 in the table as used: without the rows that a loader always leaves out. Of
    ``gaussian`` data they count owner after owner, owner 1's n_1 rows first.

    Attributes
    ----------
    row : int
        The row that is replaced. Who owns it stays: membership is public.
    by : int
        The row whose record takes its place.
    factor : float
        Finite; what the record's encoded features are multiplied by. Its target is not.

    Raises
    ------
    ValueError
        If ``factor`` is not finite; from the methods, if the table has no such row.
    """

    row: int
    by: int
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.factor):
            raise ValueError(f"a swap's factor must be finite, not {self.factor}")

    def sources(self, n_rows: int) -> Rows:
        """Return, for each of ``n_rows`` rows, the row that its record comes from."""
        for name, row in (("row", self.row), ("by", self.by)):
            if not 0 <= row < n_rows:
                raise ValueError(f"a swap's {name} must lie in [0, {n_rows}), not be {row}")
        source = np.arange(n_rows)
        source[self.row] = self.by
        return source

    def in_frame(self, frame: "pd.DataFrame", owner_column: str | None) -> "pd.DataFrame":
        """Return a raw table with the record replaced, all but its ``owner_column``, unscaled."""
        copied = frame.take(self.sources(len(frame))).reset_index(drop=True)
        if owner_column in frame.columns:
            copied[owner_column] = frame[owner_column].array
        return copied

    def in_table(self, table: Encoded) -> Table:
        """Return an encoded table with the record replaced and scaled: a table without raw rows."""
        source = self.sources(len(table.target))
        return self.scaled(replace(table, matrix=table.matrix[source], target=table.target[source]))

    def scaled(self, table: Table) -> Table:
        """Return an encoded table with the row's features multiplied by ``factor``."""

        def scale(block: Array, rows: Rows) -> None:
            block[rows == self.row] *= self.factor

        return table.changed(scale)
