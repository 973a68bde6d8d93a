"""Rows of a fold: every replicate of a cell, and of the further cells that learn with it.

An algorithm's number may differ from row to row. It is then a column (R, 1), and a table of owners
is one (R, N); with one cell they are a float and an array (N,).
"""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.learning.algorithms.steps import Array, Indices, Turn


def of_rows(number: float | Array, rows: Indices) -> float | Array:
    """Return an algorithm's number in these rows: itself, or a column (r, 1)."""
    return number[rows] if isinstance(number, np.ndarray) else number


def of_owners(table: Array, turn: Turn) -> Array:
    """Return the owners' numbers in the rows of a turn, shape (r, 1)."""
    found = table[turn.owners] if table.ndim == 1 else table[turn.replicates, turn.owners]
    return np.asarray(found[:, None])


def power(base: float, exponent: float | Array) -> float | Array:
    """Return base^exponent, by scalars alone: powers of arrays round otherwise."""
    if isinstance(exponent, np.ndarray):
        return np.array([[base**each] for each in exponent.ravel().tolist()])
    return float(base**exponent)


@dataclass(frozen=True)
class CellRows:
    """The rows of several cells: the replicates of the first, then those of the second, ….

    Attributes
    ----------
    cells, replicates, owners : int
        C, R and N. Row r of cell c is row cR + r of all.
    """

    cells: int
    replicates: int
    owners: int

    def repeated(self, turn: Turn) -> Turn:
        """Return a turn of one cell's replicates as one of all cells' rows."""
        if self.cells == 1:
            return turn
        return Turn(
            np.tile(turn.owners, self.cells),
            self._tiled(turn.staleness),
            self._tiled(turn.peers),
            None if turn.rows is None else self.rows(turn.rows),
            self._tiled(turn.numbers),
        )

    def rows(self, replicates: Indices) -> Indices:
        """Return the rows of replicates in all cells, in rising order."""
        first = np.arange(self.cells) * self.replicates
        return (first[:, None] + replicates).ravel()

    def places(self, turn: Turn) -> Indices:
        """Return cN + i for owner i, from 0, in a row of cell c, shape (r,)."""
        if self.cells == 1:
            return turn.owners
        return turn.replicates // self.replicates * self.owners + turn.owners

    def _tiled(self, values: Indices | None) -> Indices | None:
        return None if values is None else np.tile(values, self.cells)
