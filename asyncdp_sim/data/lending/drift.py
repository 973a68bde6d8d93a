"""The lending twin's drift over rows: the table's own, in blocks as long as a published bank.

The real table's rows run from 2011 down to 2007, and after row 39,786 once more, over loans that
do not meet the credit policy: who holds its first rows learns something else than who holds its
last. Row j of the drifting twin has the law of that block of :data:`BLOCK_ROWS` rows of the table
that holds row j, with the block's own marginals and correlations; the table's last block is
shorter, and row 42,536 is of the first block again. Within a block rows are exchangeable.

``drift.json`` is made by :mod:`scenarios.twins.lending`.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from asyncdp_sim.data.dataset import Array
from asyncdp_sim.data.declared.twin import Encoding, stored_beside
from asyncdp_sim.data.lending.rows import RowsOfLaw
from asyncdp_sim.data.lending.twin import Twin, from_json

TABLE_ROWS = 42_535
"""Of the table that the twin is made from; after so many rows its blocks recur."""
BLOCK_ROWS = 10_000
"""Records of a bank, as published."""


@dataclass(frozen=True, eq=False)
class Drift:
    """The law of rows that depends on where in the table they are.

    Attributes
    ----------
    blocks : tuple of Twin
        Laws of the table's blocks, in its order.
    """

    blocks: tuple[Twin, ...]

    def write(self, matrix: Array, target: Array, generator: np.random.Generator) -> None:
        """Draw rows (:data:`~asyncdp_sim.data.declared.twin.Write`), of the normals of no drift."""
        RowsOfLaw(self, generator).write(matrix, target)

    @property
    def n_variables(self) -> int:
        """Normals to a row."""
        return self.blocks[0].n_variables

    def fill(self, matrix: Array, target: Array, normals: Array, first: int, row: int) -> None:
        """Make rows, each of its block's law; see :class:`~.rows.Law`."""
        done = 0
        while done < len(target):
            block, left = located(row + done)
            some = slice(done, min(done + left, len(target)))
            self.blocks[block].fill(matrix[some], target[some], normals, first + done, row + done)
            done = some.stop


def located(row: int) -> tuple[int, int]:
    """Return a row's block, and how many of the block's rows are left from it on."""
    place = row % TABLE_ROWS
    block = place // BLOCK_ROWS
    return block, min((block + 1) * BLOCK_ROWS, TABLE_ROWS) - place


@cache
def drifting(encoding: Encoding) -> Drift:
    """Return the drift that the package ships."""
    return Drift(
        tuple(
            map(
                from_json,
                stored_beside("asyncdp_sim.data.lending", "drift.json")["encodings"][encoding],
            )
        )
    )
