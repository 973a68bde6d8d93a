"""The cost of a coalition whose members are of one size: exact, and quick for many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.exact.equal_sizes import one_size
from asyncdp_sim.forecasts.exact.many_groups import Course
from asyncdp_sim.forecasts.exact.many_rounds import rounds
from asyncdp_sim.learning.algorithms import Schedule
from asyncdp_sim.privacy.budgets import enough

Array = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
STRIDES = np.geomspace(0.02, 20.0, 20)
"""First step of a round times the largest curvature, of those that are tried."""
FOLDS = np.geomspace(0.1, 60.0, 20)
"""How often over a run a deviation of average curvature shrinks by e, of the ρ that are tried."""


def enough_answers(members: int, updates: int) -> int:
    """Return the least K with which k members fall silent before T with probability ≤ 10⁻³.

    One of them has K of the first T − 1 updates with probability P(Bin(T − 1, 1/k) ≥ K).

    Parameters
    ----------
    members : int
        k ≥ 1.
    updates : int
        T ≥ 1.
    """
    return enough(1 / members, members, updates)


@dataclass(frozen=True, eq=False)
class EqualSizeCost:
    """The cost of a coalition by its number of members k, its records n_S and its noise W_S.

        cost = free[k] + b (1/n_S − 1/n) + noise[k] W_S/n_S²,   W_S = Σ_S w_i,   w_i = n_i² v_i,

    v_i the variance of i's noise for a budget of a single answer. For rounds with all members
    that is exact. For one-on-one learning it is exact for k owners of one size, whatever their
    budgets; owners of other sizes forget faster or slower, and the more their sizes differ (or
    the larger the steps are) the more it is off. A coalition takes what suits it best of R choices
    of ρ and T, which are worked out from public numbers.

    Attributes
    ----------
    courses : tuple of Course
        One for each choice.
    rho, answers, free, noise : array (N, R)
        ρ (c_1 or α where that is the step), K, E ψ without noise, and its growth, for k = 1 … N.
    total : float
        n.
    by_rounds : bool
        Whether all members answer in every update.
    """

    courses: tuple[Course, ...]
    rho: Array
    answers: Whole
    free: Array
    noise: Array
    total: float
    by_rounds: bool = False

    @classmethod
    def one_on_one(
        cls,
        choices: Sequence[tuple[Course, Array]],
        answers: Callable[[int, int], int],
        total: float,
    ) -> "EqualSizeCost":
        """Work out all choices: of each a course, and its ρ for k = 1 … N members, (N,)."""
        columns = []
        for course, rho in choices:
            members = np.arange(1, len(rho) + 1)
            allowed = np.array([answers(k, course.updates) for k in members.tolist()])
            quiet, gain = one_size(course, rho, members)
            columns.append((rho, allowed, quiet, gain * members * np.square(allowed.astype(float))))
        stacked = [np.stack(each, axis=1) for each in zip(*columns, strict=True)]
        rho_of, allowed_of, free, noise = stacked
        courses = tuple(course for course, _ in choices)
        return cls(courses, rho_of, allowed_of, free, noise, total)

    @classmethod
    def in_rounds(
        cls,
        choices: Sequence[tuple[Course, float]],
        owners: int,
        total: float,
        scheduled: Callable[[Array, int], Schedule],
    ) -> "EqualSizeCost":
        """Work out all choices of a synchronous algorithm: a course, and ρ, c_1 or α; K = T."""
        found = [
            rounds(course, scheduled(np.array([step]), course.updates)) for course, step in choices
        ]
        paid = np.array([course.updates for course, _ in choices])
        free, gain = (np.concatenate(each) for each in zip(*found, strict=True))
        shape, step = (owners, 1), np.array([step for _, step in choices])
        return cls(
            courses=tuple(course for course, _ in choices),
            rho=np.tile(step, shape),
            answers=np.tile(paid, shape),
            free=np.tile(free, shape),
            noise=np.tile(gain * paid**2.0, shape),
            total=total,
            by_rounds=True,
        )

    def cost(self, members: Whole, records: Array, spread: Array) -> tuple[Array, Whole]:
        """Return the cost, and which choice it is with, of coalitions with k, n_S and W_S, (B,)."""
        relative = np.asarray(spread) / np.asarray(records, dtype=float) ** 2
        best = np.full(len(relative), np.inf)
        place = np.zeros(len(relative), dtype=np.int64)
        for at in range(self.free.shape[1]):
            with np.errstate(invalid="ignore"):  # ∞ · 0
                cost = self.free[members - 1, at] + self.noise[members - 1, at] * relative
            better = cost < best
            best, place = np.where(better, cost, best), np.where(better, at, place)
        return best + self.missing(records), place

    def missing(self, records: Array) -> Array:
        """Return what n_S records alone miss against the optimum of all, b (1/n_S − 1/n)."""
        return self.courses[0].per_record * (1 / np.asarray(records) - 1 / self.total)

    def exact(self, counts: Whole, records: Array, spread: Array, place: Whole) -> Array:
        """Return the cost by the recursion of the very coalitions.

        Parameters
        ----------
        counts : array of int (B, K)
            Members of each class of owners.
        records, spread : array (K,)
            n_i and w_i of a class.
        place : array of int (B,)
            Which choice of ρ and T.
        """
        found = np.full(len(counts), np.inf)
        for at in np.unique(place).tolist():
            rows = np.flatnonzero(place == at)
            k = counts[rows].sum(axis=1) - 1
            if self.by_rounds:
                held, loud = counts[rows] @ records, counts[rows] @ spread
                found[rows] = self.free[k, at] + self.noise[k, at] * loud / held**2
                continue
            allowed = self.answers[k, at][:, None].astype(float)
            there = np.flatnonzero(counts[rows].any(axis=0))  # classes that take part at all
            variance = spread[there] / records[there] ** 2 * allowed**2
            found[rows] = self.courses[at].expected_psi(
                self.rho[k, at], counts[np.ix_(rows, there)], records[there], variance
            )
        return found + self.missing(counts @ records)

    def exactly_best(self, counts: Whole, records: Array, spread: Array) -> tuple[Array, Whole]:
        """Return the exact cost with the choice that suits it best, and which it is, (B,)."""
        each = np.stack(
            [
                self.exact(counts, records, spread, np.full(len(counts), at))
                for at in range(self.free.shape[1])
            ]
        )
        return each.min(axis=0), np.argmin(each, axis=0)


def steps(course: Course, owners: int) -> list[Array]:
    """Return ρ for k = 1 … N members, a list for each of :data:`FOLDS`, each (N,).

    The copies' mean deviation shrinks over a run by exp(−2ρh/(σT(k+1))) along a direction of
    curvature h, in the limit of small steps.
    """
    middle = float(np.exp(np.mean(np.log(course.hessian))))
    unit = course.sigma * course.updates * (np.arange(1, owners + 1) + 1) / (2 * middle)
    return [fold * unit for fold in FOLDS.tolist()]


def strides(course: Course, scheduled: Callable[[Array, int], Schedule]) -> list[float]:
    """Return ρ, c_1 or α for each of :data:`STRIDES`."""
    first = float(scheduled(np.ones(1), course.updates).sizes[0, 0]) * float(course.hessian.max())
    return [stride / first for stride in STRIDES.tolist()]
