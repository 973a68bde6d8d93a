"""Answers accounted by their privacy loss distributions: their joint (ε, δ), not a sum of ε.

This module also defines the family ``privacy.accountant``: methods that compute the joint cost.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import exp, inf, log
from operator import attrgetter
from typing import Annotated, Any, Literal

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import FAMILY_BY_NAME, Variant
from asyncdp_sim.core.words import extent
from asyncdp_sim.privacy.accountants.composition import (
    Composition,
    PairOf,
    Parts,
    answers_of,
    charge_of,
    fine_step,
    together,
    unlike,
)
from asyncdp_sim.privacy.accountants.own import Accountant, Pure, gradients_of
from asyncdp_sim.privacy.accountants.pairs import FALSE_POSITIVES, Attacker, of_pure
from asyncdp_sim.privacy.budgets import MOST_ANSWERS, BudgetSchedule
from asyncdp_sim.trace import Trace


@dataclass(frozen=True, eq=False)
class ByLosses(Accountant):
    """Answers whose losses are dominated by pairs: an upper bound on ε(δ) of m of them.

    If κ owners may hold one record, the spending of each is stated at δ/κ, so they jointly spend
    the sum at δ (basic composition).

    Attributes
    ----------
    own : Pure
        The mechanism's own accountant: K_i, the owners' ε_i, and the sum of the answers' ε.
    kind : callable
        Returns the pair that dominates an answer of a charge: an ε, or μ = 1/z of Gaussian answers
        over samples.
    delta : float
        δ in (0, 1).
    sharers : int
        κ ≥ 1.
    allotment : BudgetSchedule, optional
        If answers of an owner cost different amounts: K_i s_ik times the mean charge.
    """

    own: Pure
    kind: PairOf
    delta: float
    sharers: int = 1
    allotment: BudgetSchedule | None = None

    multiplier = None
    answers = property(attrgetter("own.answers"))
    epsilon = property(attrgetter("own.epsilon"))

    @cached_property
    def charges(self) -> Array:
        """ε of a single answer at δ = 0, averaged over an owner's answers, shape (N,).

        K_i times it, rounded, is at most the total.
        """
        charges = self.own.total / self.own.answers
        return np.where(
            charges * self.own.answers > self.own.total, np.nextafter(charges, 0), charges
        )

    def spent(self, released: Ints) -> Array:
        """Return ε at δ/κ of ``released`` answers each, shape (..., N)."""
        charges = self.charges.tolist()
        return self._by_count(released, lambda owner, count: self._of(owner, charges[owner], count))

    def together(self, released: Ints, owners: int, factor: Array | float = 1.0) -> float:
        """Return the sum of the κ largest ε at δ/κ: (ε, δ) of a record that they share."""
        louder = self.charges * self.own.times(factor)
        epsilons = map(self._of, range(len(louder)), louder.tolist(), released.tolist())
        return float(np.sort(list(epsilons))[-owners:].sum())

    def attacker(self, released: Ints) -> Attacker:
        """Return the attacker's limits after ``released`` answers of each owner, shape (..., N)."""
        limits = self._by_count(released, self._told)
        return Attacker(limits[..., 0], limits[..., 1])

    def _by_count(self, released: Ints, of: Callable[[int, int], Any]) -> Array:
        """Return ``of``(owner, answers) of all owners, (..., N, ·), each computed once."""
        columns = []
        for owner in range(released.shape[-1]):
            counts, places = np.unique(released[..., owner], return_inverse=True)
            distinct = np.array([of(owner, count) for count in counts.tolist()])
            columns.append(distinct[places.reshape(released.shape[:-1])])
        return np.stack(columns, axis=released.ndim - 1)

    def _told(self, owner: int, count: int) -> tuple[float, float]:
        if count == 0:
            return FALSE_POSITIVES, 0.0
        if not np.isfinite(self.charges[owner]):
            return 1.0, 1.0
        return _told(*self._asked(owner, float(self.charges[owner]), count))

    def losses(self, owner: int, count: int, *, tilted: bool) -> Composition:
        """Return the losses of ``count`` ≥ 1 answers of an owner (from 0) whose ε is finite.

        Parameters
        ----------
        owner, count : int
        tilted : bool
            Whether δ is most accurate near that of the scenario, or where it is large.
        """
        asked = self._asked(owner, float(self.charges[owner]), count)
        return together(*asked, tilted=tilted)

    def _asked(self, owner: int, charge: float, count: int) -> tuple[Parts, float, float]:
        """Return the parts of an owner's first answers, δ, and the step for all answers."""
        every = self._parts(owner, charge, max(count, int(self.answers[owner])))
        delta = self.delta / self.sharers
        return self._parts(owner, charge, count), delta, fine_step(every, delta)

    def _parts(self, owner: int, charge: float, count: int) -> Parts:
        """Return the parts of an owner's first answers; ``charge`` is the mean charge over all."""
        if self.allotment is None:
            return ((self.kind(charge), count),)
        return unlike(self.kind, charge, self.allotment.of_one(owner)[:count])

    def _of(self, owner: int, charge: float, count: int) -> float:
        if count == 0 or charge == 0:
            return 0.0
        if not np.isfinite(charge):
            return charge  # ∞, or what is not known
        spent, every = _epsilon(*self._asked(owner, charge, count)), int(self.answers[owner])
        return spent if count >= every else min(spent, self._of(owner, charge, every))


@lru_cache(maxsize=2**16)
def _epsilon(parts: Parts, delta: float, step: float) -> float:
    return together(parts, delta, step).epsilon(delta)


@lru_cache(maxsize=2**16)
def _told(parts: Parts, delta: float, step: float) -> tuple[float, float]:
    return attacker_of(together(parts, delta, step, tilted=False))


_LINES = 401
"""Number of lines δ(ε) + e^ε f that are evaluated; each is an upper bound on T(f)."""
_FLAT = 40.0
"""The smallest slope used is e^−40."""


def attacker_of(losses: Composition) -> tuple[float, float]:
    """Return T(f) = min over ε of δ(ε) + e^ε f, and the advantage δ(0), of composed answers.

    f is :data:`FALSE_POSITIVES`.
    """
    reach = min(losses.pure, _FLAT)
    slopes = np.linspace(-reach, min(reach, -log(FALSE_POSITIVES)), _LINES).tolist()

    def line(place: int) -> float:
        return losses.delta(slopes[place]) + exp(slopes[place]) * FALSE_POSITIVES

    low, high = 0, _LINES - 1  # lines fall, and then grow
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if line(middle + 1) <= line(middle) else (low, middle)
    pure = of_pure(np.array(losses.pure))
    power = min(1.0, line(low), float(pure.power))
    return power, min(losses.delta(0.0), float(pure.advantage))


POINTS = 41
"""Points of each curve, from ε = 0 to twice the ε spent at δ."""


def spending_columns(accountant: Accountant, traces: Sequence[Trace]) -> dict[str, Any] | None:
    """Return ``spending``: an upper bound on δ at values of ε, sorted by owner and ε.

    They are for the replicate in which the owner released the most answers.

    Returns
    -------
    dict or None
        None if answers are not composed by their losses. Owners without noise, and owners without
        releases, have no rows.
    """
    single, gradients = gradients_of(accountant)
    if not isinstance(single, ByLosses):
        return None
    most = np.max([trace.released for trace in traces], axis=0)

    curves: dict[tuple[float, int], list[tuple[float, float]]] = {}
    rows: list[tuple[int, int, float, float]] = []
    for owner, key in enumerate(zip(single.charges.tolist(), most.tolist(), strict=True)):
        charge, count = key
        if count > 0 and np.isfinite(charge):
            if key not in curves:  # owners of one charge and count have one curve
                curves[key] = _curve(single, owner, gradients * count)
            rows += [(owner + 1, count, *point) for point in curves[key]]
    owners, answers, epsilon, delta = zip(*rows, strict=True) if len(rows) > 0 else ((),) * 4
    return {
        "owner": np.array(owners, dtype=np.int32),
        "answers": np.array(answers, dtype=np.int32),
        "epsilon": np.array(epsilon, dtype=np.float64),
        "delta": np.array(delta, dtype=np.float64),
    }


def _curve(accountant: ByLosses, owner: int, count: int) -> list[tuple[float, float]]:
    """Return ε and δ of so many gradients."""
    small, large = (accountant.losses(owner, count, tilted=tilted) for tilted in (True, False))
    most = min(2 * small.epsilon(accountant.delta / accountant.sharers), small.pure)
    return [(e, min(small.delta(e), large.delta(e))) for e in np.linspace(0, most, POINTS).tolist()]


LEAST = 1e-300
"""Smallest allowed δ of one owner, well above the smallest float."""


class AccountingKind(Variant):
    """A method of accounting other than adding up ε; by default it composes losses."""

    def charges(
        self,
        pair: PairOf,
        epsilon: Array,
        delta: float,
        answers: Ints,
        allotment: BudgetSchedule | None = None,
    ) -> Array:
        """Return the charge per owner, (N,), of an answer if K_i jointly spend (ε_i, δ).

        Infinite if ε_i is. With an ``allotment``, which gives the ratio of each answer's charge to
        the mean charge, the mean charge.
        """
        relative = [None if allotment is None else allotment.of_one(i) for i in range(len(epsilon))]
        budgets = zip(epsilon.tolist(), answers.tolist(), relative, strict=True)
        return np.array([e if e == inf else charge_of(pair, e, delta, k, r) for e, k, r in budgets])

    def fits(self, pair: PairOf, charge: float, epsilon: float, delta: float) -> int:
        """Return how many answers of a charge are within a finite budget."""
        return answers_of(pair, charge, epsilon, delta, MOST_ANSWERS)

    def accountant(
        self, own: Pure, pair: PairOf, delta: float, sharers: int, allotment: BudgetSchedule | None
    ) -> Accountant:
        """Return the accountant of answers whose single costs the mechanism knows.

        Parameters
        ----------
        own : Pure
            The mechanism's accountant, in which ε adds up.
        pair : callable
            Returns the pair that dominates an answer of an ε.
        delta : float
            δ of the scenario.
        sharers : int
            κ, owners that may hold one record.
        allotment : BudgetSchedule, optional
            If answers of an owner cost different amounts.
        """
        return ByLosses(own, pair, delta, sharers, allotment)

    def faults(self, privacy: Any) -> Iterator[Fault]:
        """Yield a fault for each setting without a proof."""
        named = repr(self.kind)
        mechanism, bound = privacy.mechanism, privacy.sensitivity
        if not privacy.hides:
            hint = f"allowed is nothing with mechanism {mechanism.kind}, which costs no ε"
            yield Fault("privacy.accountant", named, hint)
        elif mechanism.pair is None and mechanism.composition != "gaussian":
            hint = "allowed with an accountant: pure or Gaussian noise, whose losses are known"
            yield Fault("privacy.mechanism", repr(mechanism.kind), hint)
        least = LEAST * privacy.overlap
        if privacy.delta is not None and privacy.delta < least:
            hint = f"allowed with an accountant is at least {least:g}"
            yield Fault("privacy.delta", f"{privacy.delta:g}", hint)
        if privacy.noise != "vector":
            hint = 'allowed with an accountant: "vector"; one draw on all coordinates has no ε'
            yield Fault("privacy.noise", repr(privacy.noise), hint)
        if bound is not None and bound.norm == "l2-as-published":
            hint = f"allowed with an accountant: {mechanism.norm}, in which an answer costs its ε"
            yield Fault("privacy.sensitivity.norm", repr(bound.norm), hint)
        if privacy.learner is not None:
            hint = "allowed is nothing with an own learner: ε of its copies has to add up"
            yield Fault("privacy.accountant", named, hint)

    def describe(self, accountant: Accountant) -> str:
        """Return the line that ``check`` prints."""
        accountant, _ = gradients_of(accountant)
        if not isinstance(accountant, ByLosses):
            return f"accountant {self.kind}: Gaussian noise has an exact curve, which is kept"
        if accountant.kind(1.0).pure == inf:
            return (
                f"accountant {self.kind}: Gaussian noise on sums over samples, of multiplier "
                f"{extent(1 / accountant.charges)}"
            )
        summed = accountant.charges * accountant.answers
        gain = (
            extent(summed / accountant.epsilon) if np.isfinite(summed).all() else "infinitely many"
        )
        return (
            f"accountant {self.kind}: ε of single answers adds up to {extent(summed)}, {gain} "
            f"times what they cost together at δ = {accountant.delta / accountant.sharers:g}"
        )


class LossDistributions(AccountingKind):
    """Privacy loss distributions: (ε_i, δ) holds for all answers of an owner jointly.

    Laplace answers are composed exactly, other pure ones as randomised response, which dominates
    every ε-private mechanism. Gaussian answers have their exact curve, as without an accountant.
    """

    kind: Literal["pld"] = "pld"


Accounting = Annotated[LossDistributions, FAMILY_BY_NAME]
"""Every accountant besides the mechanism's own; a new one is added here."""
