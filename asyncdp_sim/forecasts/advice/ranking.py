"""Ranks coalitions by their quick cost, and works the most promising ones out exactly."""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.advice.coalition_cost import EqualSizeCost
from asyncdp_sim.forecasts.advice.frontier import candidates

Array = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
LADDER = 8
"""Sizes from one owner to all, in equal ratios, of each of which the best coalition is kept."""
EXHAUSTIVE = 2**15
"""Coalitions that are all ranked: of 15 owners, or of more where some are alike."""
THOROUGH = 200_000
"""Coalitions × choices × classes² up to which every coalition is worked out at every choice."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Owners, those with the same size and the same noise put together.

    Attributes
    ----------
    records, spread : array (K,)
        n_i and w_i.
    owners : tuple of tuple of int
        Who they are, from 1.
    """

    records: Array
    spread: Array
    owners: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, records: Array, spread: Array) -> "Classes":
        """Put together the owners, (N,) each."""
        kinds, which = np.unique(np.stack([records, spread], 1), axis=0, return_inverse=True)
        owners = tuple(
            tuple((np.flatnonzero(which.ravel() == c) + 1).tolist()) for c in range(len(kinds))
        )
        return cls(kinds[:, 0], kinds[:, 1], owners)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Owners of each class."""
        return tuple(map(len, self.owners))

    def all_counts(self) -> Whole:
        """Return all coalitions, as counts of each class, but the empty one."""
        axes = [np.arange(size + 1) for size in self.sizes]
        return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))[1:]

    def members(self, counts: Whole) -> tuple[int, ...]:
        """Return a coalition's members; of owners that are alike the first ones."""
        chosen = (them[:m] for them, m in zip(self.owners, counts.tolist(), strict=True))
        return tuple(sorted(owner for some in chosen for owner in some))


@dataclass(frozen=True, eq=False)
class Quick:
    """Coalitions with their quick cost.

    Attributes
    ----------
    alike : EqualSizeCost
    classes : Classes
    counts : array of int (B, K)
        Members of each class.
    cost : array (B,)
        The quick cost, at the choice of ρ and T that suits it best, and
    place : array of int (B,)
        which that is.
    least : float
        That no coalition's quick cost is below.
    complete : bool
        Whether they are all coalitions.
    """

    alike: EqualSizeCost
    classes: Classes
    counts: Whole
    cost: Array
    place: Whole
    least: float
    complete: bool

    @classmethod
    def of(cls, alike: EqualSizeCost, classes: Classes) -> "Quick":
        """Rank all coalitions where they are not too many, else those collected greedily."""
        records, spread = classes.records, classes.spread
        complete = prod(size + 1 for size in classes.sizes) <= EXHAUSTIVE
        bound = None
        if complete:
            counts = classes.all_counts()
        else:
            counts, bound = candidates(alike, records, spread, classes.sizes)
        cost, place = alike.cost(counts.sum(axis=1), counts @ records, counts @ spread)
        least = float(cost.min()) if bound is None else bound
        return cls(alike, classes, counts, cost, place, least, complete)

    @property
    def everybody(self) -> int:
        """The place of the coalition of all."""
        return int(np.argmax(self.counts.sum(axis=1)))

    @cached_property
    def ladder(self) -> list[int]:
        """The place of the least quick cost of each of some sizes."""
        size = self.counts.sum(axis=1)
        wanted = np.unique(np.rint(np.geomspace(1, size.max(), LADDER)).astype(np.int64))
        found = [np.flatnonzero(size == each) for each in wanted.tolist()]
        return [int(rows[np.argmin(self.cost[rows])]) for rows in found if len(rows) > 0]

    @property
    def little_work(self) -> bool:
        """Whether every coalition can be worked out at every choice."""
        choices, classes = self.alike.free.shape[1], len(self.classes.sizes)
        return self.complete and len(self.counts) * choices * classes**2 <= THOROUGH

    def promising(self, exact: int) -> Whole:
        """Return the places of the first, and of as many others over the whole range of ranks."""
        order = np.argsort(self.cost, kind="stable")
        if len(order) <= 2 * exact:
            return order
        finite = order[: int(np.isfinite(self.cost).sum())]
        spaced = finite[np.linspace(0, len(finite) - 1, exact).astype(np.int64)]
        return np.unique(np.concatenate([order[:exact], spaced, [self.everybody], self.ladder]))

    def exactly(self, exact: int | None) -> "Exactly":
        """Work out the promising ones exactly; all of them, at every choice, if little work."""
        counts, records, spread = self.counts, self.classes.records, self.classes.spread
        if self.little_work:
            cost, place = self.alike.exactly_best(counts, records, spread)
            return Exactly(np.arange(len(counts)), cost, place, proven=True)
        usual = 64 if self.complete else 6
        rows = self.promising(usual if exact is None else exact)
        cost = self.alike.exact(counts[rows], records, spread, self.place[rows])
        return Exactly(rows, cost, self.place, self.complete and self.alike.by_rounds)


@dataclass(frozen=True, eq=False)
class Exactly:
    """Coalitions that were worked out exactly.

    Attributes
    ----------
    rows : array of int (E,)
        Their places among those that were ranked, and
    cost : array (E,)
        what they cost.
    place : array of int (B,)
        The choice of ρ and T of each that was ranked.
    proven : bool
        Whether no coalition can be better at any choice.
    """

    rows: Whole
    cost: Array
    place: Whole
    proven: bool

    @property
    def ranked(self) -> list[int]:
        """Their places, the best first."""
        found: list[int] = self.rows[np.argsort(self.cost, kind="stable")].tolist()
        return found

    def cost_of(self, row: int) -> float:
        """Return the cost of the coalition at this place."""
        return float(self.cost[np.flatnonzero(self.rows == row)[0]])

    def ratio(self, quick: Quick) -> tuple[float, float]:
        """Return the least and the largest ratio of exact to quick cost."""
        with np.errstate(invalid="ignore"):
            ratios = (self.cost / quick.cost[self.rows])[np.isfinite(self.cost)]
        return float(ratios.min()), float(ratios.max())

    def bound(self, quick: Quick) -> float:
        """Return what no coalition's cost is below, as far as is known."""
        top = self.cost_of(self.ranked[0])
        if self.proven:
            return top
        least = quick.least
        if quick.complete and len(self.rows) < len(quick.counts):
            rest = np.setdiff1d(np.arange(len(quick.counts)), self.rows)
            least = float(quick.cost[rest].min())
        return min(top, least * min(self.ratio(quick)[0], 1.0))
