"""The coalition to invite: that whose model is forecast to be the best for everybody."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.forecasts.advice.coalition_cost import EqualSizeCost
from asyncdp_sim.forecasts.advice.ranking import Classes, Exactly, Quick

Array = npt.NDArray[np.float64]


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
    quick = Quick.of(alike, classes)
    if not np.isfinite(quick.cost).any():
        raise SpecError([Fault("algorithm.rho", "a step with which learning diverges", "lower it")])
    done = quick.exactly(exact)
    coalition, best = partial(_coalition, quick, done), done.ranked[0]
    return Invitation(
        best=coalition(best),
        everybody=coalition(quick.everybody),
        others=tuple(coalition(row) for row in done.ranked[1 : shown + 1]),
        ladder=tuple(coalition(row) for row in quick.ladder if np.isfinite(done.cost_of(row))),
        bound=done.bound(quick),
        proven=done.proven,
        ratio=done.ratio(quick),
        ranked=len(quick.counts),
        worked_out=len(done.rows),
        exhaustive=quick.complete,
    )


def _coalition(quick: Quick, done: Exactly, row: int) -> Coalition:
    """Return what is said of a coalition that was worked out exactly."""
    alike, counts = quick.alike, quick.counts[row]
    k, at = int(counts.sum()), int(done.place[row])
    held = float(counts @ quick.classes.records)
    return Coalition(
        members=quick.classes.members(counts),
        records=round(held),
        cost=done.cost_of(row),
        sampling=float(alike.missing(np.array([held]))[0]),
        rho=float(alike.rho[k - 1, at]),
        updates=alike.courses[at].updates,
        answers=int(alike.answers[k - 1, at]),
    )
