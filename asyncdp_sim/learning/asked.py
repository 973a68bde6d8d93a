"""The queries of a block of updates of Algorithm 1, from the models before it and within it.

They are those that were used for updates and those that were not: an answer that is lost was given.
"""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Indices
from asyncdp_sim.learning.fused.numpy_loop import Block, Stack
from asyncdp_sim.learning.watch import Reads


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries (θ_L + θ_i)/2 that were read in a block.

    Attributes
    ----------
    rows, owners : array of int (m,)
        Replicates of the block, and who was asked, both from 0.
    after : array of int (m,)
        How many updates of the block had been made.
    last : array of int (m,)
        Which of these, from 0, was the owner's last; −1 where none was.
    """

    rows: Indices
    owners: Indices
    after: Indices
    last: Indices

    @classmethod
    def of(cls, reads: Reads, block: Block, some: slice, span: slice, horizon: int) -> "Asked":
        """Return the queries of some replicates that were read in a span of updates.

        The last span holds those too that were read after all updates.
        """
        stop = span.stop + (1 if span.stop == horizon else 0)
        found = reads.between(span.start, stop).among(some)
        after = found.ks - span.start
        count, width = block.owners.shape[1], block.owners.shape[1] + 1
        who = int(block.owners.max(initial=0)) + int(found.owners.max(initial=0)) + 1
        rows, updates = np.nonzero(np.arange(count) < block.live[:, None])
        made = np.sort((rows * who + block.owners[rows, updates]) * width + updates + 1)
        wanted = found.rows * who + found.owners
        place = np.searchsorted(made, wanted * width + after, side="right") - 1
        latest = np.where(place < 0, -1, made[place]) if len(made) > 0 else np.full(len(after), -1)
        last = np.where(latest // width == wanted, latest % width - 1, -1)
        return cls(found.rows, found.owners, after, last)

    def before(self, stack: Stack) -> tuple[Array, Array]:
        """Return θ_L and θ_i before the block, shape (C, m, p)."""
        return stack.central[:, self.rows], stack.copies[:, self.rows, self.owners]

    def points(self, before: tuple[Array, Array], central: Array, copies: Array) -> Array:
        """Return the queries, shape (C, m, p), as :class:`GossipSteps` forms them.

        Parameters
        ----------
        before : tuple of array
            Of :meth:`before`.
        central, copies : array (C, R, b, p)
            θ_L, and the copy of the owner whose update it is, after each update of the block.
        """
        middle, own = before
        late = np.flatnonzero(self.after > 0)
        middle[:, late] = central[:, self.rows[late], self.after[late] - 1]
        moved = np.flatnonzero(self.last >= 0)
        own[:, moved] = copies[:, self.rows[moved], self.last[moved]]
        own += middle
        own *= 0.5
        return own
