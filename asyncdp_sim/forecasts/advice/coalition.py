"""Whom to invite: the coalition whose model is forecast to be the best for everybody."""

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
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


@dataclass(frozen=True)
class Coalition:
    """Some of the owners, and what their model is forecast to cost.

    The cost is E f(θ_L,T)/f(θ*) − 1, the expectation over which records are whose, over noise and
    over who answers when. f and θ* are those of all owners' records, members' or not: all
    coalitions, even of one, are judged by one yardstick. It is the ψ of S's learning about its own
    optimum θ_S*, by exact moments, and what θ_S* misses, ``sampling``; their product, of what is
    left of the start with θ_S* − θ*, has about mean 0 and is left out, though not small in every
    one division of records. Truths of the owners' own, and clipping, are not in it.

    Attributes
    ----------
    members : tuple of int
        From 1, ascending.
    records : int
        n_S.
    cost : float
    sampling : float
        The part that n_S records alone miss, (s²/f*) tr(CH⁻¹) (1/n_S − 1/n).
    rho : float
        ρ, and
    updates : int
        T, that it is with.
    answers : int
        K, answers that share each member's budget.
    """

    members: tuple[int, ...]
    records: int
    cost: float
    sampling: float
    rho: float
    updates: int
    answers: int


@dataclass(frozen=True)
class Invitation:
    """Advice on the owners to invite.

    Attributes
    ----------
    best : Coalition
    everybody : Coalition
    others : tuple of Coalition
        The next best of those that were worked out exactly, in order.
    ladder : tuple of Coalition
        The best of several sizes by the quick cost: a spread of candidates, should moments be off.
    bound : float
        That no coalition's cost is below, with any of the choices of ρ and T. Proven where
        ``proven``; else it is the quick cost's proven bound, times the least ratio of exact to
        quick cost that was seen.
    proven : bool
        Whether every coalition was worked out exactly at every choice.
    ratio : tuple of float
        Least and largest ratio of exact to quick cost seen.
    ranked, worked_out : int
        Coalitions that were compared quickly, and exactly.
    exhaustive : bool
        Whether all coalitions were compared.
    """

    best: Coalition
    everybody: Coalition
    others: tuple[Coalition, ...]
    ladder: tuple[Coalition, ...]
    bound: float
    proven: bool
    ratio: tuple[float, float]
    ranked: int
    worked_out: int
    exhaustive: bool

    @property
    def gap(self) -> float:
        """By how much another coalition may be better at most, relative to the bound."""
        return self.best.cost / self.bound - 1


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


def best_coalition(
    alike: EqualSizeCost, records: Array, spread: Array, *, exact: int | None = None, shown: int = 5
) -> Invitation:
    """Return the coalition of least cost.

    Up to 15 owners all coalitions are ranked by
    :class:`~asyncdp_sim.forecasts.advice.coalition_cost.EqualSizeCost`'s quick cost; beyond, those
    that :func:`~asyncdp_sim.forecasts.advice.frontier.candidates` collects greedily. The first
    ``exact`` of them, everybody, and as many others over the whole range of ranks are then worked
    out exactly, at the choice of ρ and T that suits their quick cost best; where that is little
    work, all are, at every choice.

    Parameters
    ----------
    alike : EqualSizeCost
    records, spread : array (N,)
        n_i and w_i.
    exact : int, optional
        ≥ 1; by default 64, or 6 where not all are ranked. Where there are not more than twice as
        many coalitions, all are worked out.
    shown : int
        How many of the next best are returned.

    Raises
    ------
    SpecError
        If learning diverges for every coalition.
    """
    classes = Classes.of(np.asarray(records, dtype=float), np.asarray(spread, dtype=float))
    complete = prod(size + 1 for size in classes.sizes) <= EXHAUSTIVE
    exact = (64 if complete else 6) if exact is None else exact
    if complete:
        counts = classes.all_counts()
        quick, place = _quick(alike, classes, counts)
        least = float(quick.min())
    else:
        counts, least = candidates(alike, classes.records, classes.spread, classes.sizes)
        quick, place = _quick(alike, classes, counts)
    if not np.isfinite(quick).any():
        raise SpecError([Fault("algorithm.rho", "a step with which learning diverges", "lower it")])
    order = np.argsort(quick, kind="stable")
    everybody = int(np.argmax(counts.sum(axis=1)))
    ladder = _ladder(counts, quick)
    if len(order) <= 2 * exact:
        rows = order
    else:
        finite = order[: int(np.isfinite(quick).sum())]
        spaced = finite[np.linspace(0, len(finite) - 1, exact).astype(np.int64)]
        rows = np.unique(np.concatenate([order[:exact], spaced, [everybody], ladder]))
    thorough = complete and len(counts) * alike.free.shape[1] * len(classes.sizes) ** 2 <= THOROUGH
    if thorough:
        rows = np.arange(len(counts))
        cost, place = alike.exactly_best(counts, classes.records, classes.spread)
    else:
        cost = alike.exact(counts[rows], classes.records, classes.spread, place[rows])
    with np.errstate(invalid="ignore"):
        ratios = (cost / quick[rows])[np.isfinite(cost)]
    low, high = float(ratios.min()), float(ratios.max())
    ranked = rows[np.argsort(cost, kind="stable")]
    worth = dict(zip(rows.tolist(), cost.tolist(), strict=True))
    proven = thorough or (complete and alike.by_rounds)
    if complete and len(rows) < len(counts):
        rest = np.setdiff1d(order, rows)
        least = float(quick[rest].min())
    top = worth[int(ranked[0])]
    bound = top if proven else min(top, least * min(low, 1.0))

    def coalition(row: int) -> Coalition:
        k, at = int(counts[row].sum()), int(place[row])
        held = float(counts[row] @ classes.records)
        return Coalition(
            members=classes.members(counts[row]),
            records=round(held),
            cost=worth[row],
            sampling=float(alike.missing(np.array([held]))[0]),
            rho=float(alike.rho[k - 1, at]),
            updates=alike.courses[at].updates,
            answers=int(alike.answers[k - 1, at]),
        )

    return Invitation(
        best=coalition(int(ranked[0])),
        everybody=coalition(everybody),
        others=tuple(coalition(int(row)) for row in ranked[1 : shown + 1]),
        ladder=tuple(coalition(int(row)) for row in ladder if np.isfinite(worth[int(row)])),
        bound=bound,
        proven=proven,
        ratio=(low, high),
        ranked=len(counts),
        worked_out=len(rows),
        exhaustive=complete,
    )


def _ladder(counts: Whole, quick: Array) -> Whole:
    """Return the place of the quickest cost of each of some sizes."""
    size = counts.sum(axis=1)
    wanted = np.unique(np.rint(np.geomspace(1, size.max(), LADDER)).astype(np.int64))
    found = [np.flatnonzero(size == each) for each in wanted.tolist()]
    return np.array([rows[np.argmin(quick[rows])] for rows in found if len(rows) > 0])


def _quick(alike: EqualSizeCost, classes: Classes, counts: Whole) -> tuple[Array, Whole]:
    return alike.cost(counts.sum(axis=1), counts @ classes.records, counts @ classes.spread)
