"""Splits by which owners take as many rows as they have records, one after the other."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.data.dataset import Rows
from asyncdp_sim.data.splits.kind import Owned, SplitKind, TableToSplit, ValuesOf, require_records
from asyncdp_sim.streams import Scope, Streams


class InTurn(SplitKind):
    """Owners take as many rows as they have records, one after the other."""

    @abstractmethod
    def order(self, available: int, streams: Streams | Scope) -> Rows:
        """Return the order in which rows are taken."""

    @override
    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        return ()

    @override
    def owned(self, asked: TableToSplit) -> Owned:
        wanted = require_records(asked.records, asked.n_owners)
        asked.require_rows(sum(wanted))
        order, ends = self.order(asked.available, asked.streams), np.cumsum(wanted)
        return Owned([order[end - n : end] for end, n in zip(ends, wanted, strict=True)])


class InOrder(InTurn):
    """Consecutive blocks in file order: owner i has rows (i−1)n to in − 1, where all have n."""

    in_order = True

    kind: Literal["in-order"] = "in-order"

    @override
    def order(self, available: int, streams: Streams | Scope) -> Rows:
        return np.arange(available)

    @override
    def likened(
        self, owned: Owned, values_of: ValuesOf, first: int, public: int, apart: bool
    ) -> Rows:
        """Take a file of public rows to stand in the order of the table: each has its place there.

        The last rows of the table itself have none among the owners'.
        """
        like = np.full(public, -1, dtype=np.int64)
        if not apart:
            return like
        place = (np.arange(public) + 0.5) * first / public
        for owner, rows in enumerate(owned.rows):
            like[(rows[0] <= place) & (place < rows[-1] + 1)] = owner
        return like


class Shuffled(InTurn):
    """Blocks of a permutation that is drawn from the stream ``("data", "split")``."""

    kind: Literal["shuffled"] = "shuffled"

    @override
    def order(self, available: int, streams: Streams | Scope) -> Rows:
        return streams.generator("data", "split").permutation(available)
