"""Rows of a fold: every replicate of a cell, and of the further cells that learn with it."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.learning.algorithms.steps import Indices, Turn


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
        return turn.replicates // self.replicates * self.owners + turn.owners

    def _tiled(self, values: Indices | None) -> Indices | None:
        return None if values is None else np.tile(values, self.cells)
