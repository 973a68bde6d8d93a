"""Knowledge of pools of observers, decided exactly: which rows are new, and who stands alone.

Rows are fractions, and are taken modulo a prime: one that is new there is new, and one that is new
is taken for a known one only if this prime divides a certain determinant. They are kept reduced, so
that one that has come to a single number is a node's own vector: that is known from then on, and
leaves the others.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.observers.residues import Array, Numbers, reduce, take

Flags = npt.NDArray[np.bool_]
_NUMBERS = 2**19
"""That are reduced at a time: more leave the processor's own memory, fewer keep it waiting."""


class Known:
    """What a pool of observers knows: nodes' own vectors, and reduced rows of several."""

    def __init__(self, blind: Flags) -> None:
        self._blind, self._open = blind, ~blind
        self._alone = np.zeros(len(blind), dtype=np.bool_)
        self._rows = np.zeros((0, len(blind)))  # of several nodes each
        self._pivots = np.zeros(0, dtype=np.int64)

    @property
    def everything(self) -> bool:
        """Whether all nodes' vectors are known."""
        return bool((self._blind | self._alone).all())

    @property
    def alone(self) -> Numbers:
        """The nodes whose own vectors are known."""
        return np.flatnonzero(self._alone)

    @property
    def partly(self) -> Numbers:
        """The nodes of which something is known, and not all."""
        return np.flatnonzero(self._rows.any(axis=0))

    @property
    def pivots(self) -> Numbers:
        """As many of these as there are independent rows, which are so there already."""
        return self._pivots

    def unknown(self, rows: Array) -> Array:
        """Return what rows (m, M) have that no combination of those before has.

        Of the nodes that are no pivots yet, since nothing is left of the others.
        """
        left = rows[:, self._open]
        take(left, rows[:, self._pivots], self._rows[:, self._open])
        return left

    def keep(self, left: Array, pivots: Numbers) -> None:
        """Keep rows of which that is left, and reduced by each other."""
        new, places = np.zeros((len(left), len(self._open))), np.flatnonzero(self._open)[pivots]
        new[:, self._open] = left
        self._open[places] = False
        take(self._rows, self._rows[:, places], new)
        rows, places = np.vstack([self._rows, new]), np.append(self._pivots, places)
        single = np.count_nonzero(rows, axis=1) == 1
        self._alone[places[single]] = True
        self._rows, self._pivots = rows[~single], places[~single]


def learn(pools: Sequence[Known], told: Sequence[Array]) -> list[Flags]:
    """Let every pool keep rows (m, M), which differ by pool; return which are new to it."""
    found = [np.zeros(len(rows), dtype=np.bool_) for rows in told]
    left = [pool.unknown(rows) for pool, rows in zip(pools, told, strict=True)]
    for some in _alike([rows.shape for rows in left]):
        lots = np.zeros((len(some), *np.max([left[pool].shape for pool in some], axis=0)))
        for lot, pool in zip(lots, some, strict=True):
            lot[: len(left[pool]), : left[pool].shape[1]] = left[pool]
        for lot, pivots, pool in zip(lots, reduce(lots), some, strict=True):
            new = pivots >= 0
            found[pool] = new[: len(found[pool])]
            pools[pool].keep(lot[new, : left[pool].shape[1]], pivots[new])
    return found


def _alike(shapes: list[tuple[int, ...]]) -> list[list[int]]:
    """Return places of shapes by their size, as many together as are reduced at a time."""
    lots: list[list[int]] = []
    order = sorted(range(len(shapes)), key=lambda place: shapes[place][::-1], reverse=True)
    for place in order:  # the widest first
        if len(lots) == 0 or (len(lots[-1]) + 1) * prod(shapes[lots[-1][0]]) > _NUMBERS:
            lots.append([])
        lots[-1].append(place)
    return lots
