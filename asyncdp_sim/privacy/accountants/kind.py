"""The family ``privacy.accountant``: how it is worked out what an owner's answers cost together."""

from math import inf
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY_BY_NAME
from asyncdp_sim.privacy.accountants.by_losses import ByLosses, SampledGaussian
from asyncdp_sim.privacy.accountants.composition import PairOf, answers_of, charge_of
from asyncdp_sim.privacy.accountants.own import Accountant, Pure, gradients_of
from asyncdp_sim.privacy.budgets import MOST_ANSWERS, Allotment
from asyncdp_sim.spec import Kind
from asyncdp_sim.words import extent

if TYPE_CHECKING:
    from asyncdp_sim.privacy.spec import Privacy

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
LEAST = 1e-300
"""δ of one owner that floating point holds with room below it."""


class AccountingKind(Kind):
    """Accounts answers otherwise than as the sum of their ε: by their losses, if not overridden."""

    def charges(
        self,
        pair: PairOf,
        epsilon: Array,
        delta: float,
        answers: Counts,
        allotment: Allotment | None = None,
    ) -> Array:
        """Return the charge per owner, (N,), of an answer where K_i spend (ε_i, δ) together.

        Infinite where ε_i is; in the mean over an owner's answers, where an ``allotment`` says how
        many times as much each costs.
        """
        each = [None if allotment is None else allotment.of_one(i) for i in range(len(epsilon))]
        budgets = zip(epsilon.tolist(), answers.tolist(), each, strict=True)
        return np.array([e if e == inf else charge_of(pair, e, delta, k, r) for e, k, r in budgets])

    def fits(self, pair: PairOf, charge: float, epsilon: float, delta: float) -> int:
        """Return how many answers of a charge a finite budget holds."""
        return answers_of(pair, charge, epsilon, delta, MOST_ANSWERS)

    def accountant(
        self, own: Pure, pair: PairOf, delta: float, sharers: int, allotment: Allotment | None
    ) -> Accountant:
        """Return what answers cost of which the mechanism says what they cost each.

        Parameters
        ----------
        own : Pure
            By which ε of answers adds up.
        pair : callable
            What dominates an answer, by its ε.
        delta : float
            δ of the scenario.
        sharers : int
            κ, owners that may hold one record.
        allotment : Allotment, optional
            Where an owner's answers cost unequally much.
        """
        return ByLosses(own, pair, delta, sharers, allotment)

    def faults(self, privacy: "Privacy") -> list[Fault]:
        """Return what there is no proof for."""
        named, found = repr(self.kind), []
        mechanism, bound = privacy.mechanism, privacy.sensitivity
        if not privacy.hides:
            allowed = f"allowed is nothing with mechanism {mechanism.kind}, which costs no ε"
            found.append(Fault("privacy.accountant", named, allowed))
        elif mechanism.pair is None and mechanism.composition != "gaussian":
            allowed = "allowed with an accountant: pure or Gaussian noise, whose losses are known"
            found.append(Fault("privacy.mechanism", repr(mechanism.kind), allowed))
        least = LEAST * privacy.overlap
        if privacy.delta is not None and privacy.delta < least:
            allowed = f"allowed with an accountant is at least {least:g}"
            found.append(Fault("privacy.delta", f"{privacy.delta:g}", allowed))
        if privacy.noise != "vector":
            allowed = 'allowed with an accountant: "vector"; one draw on all coordinates has no ε'
            found.append(Fault("privacy.noise", repr(privacy.noise), allowed))
        if bound is not None and bound.norm == "l2-as-published":
            allowed = (
                f"allowed with an accountant: {mechanism.norm}, in which an answer costs its ε"
            )
            found.append(Fault("privacy.sensitivity.norm", repr(bound.norm), allowed))
        if privacy.learner is not None:
            allowed = "allowed is nothing with an own learner: ε of its copies has to add up"
            found.append(Fault("privacy.accountant", named, allowed))
        return found

    def words(self, accountant: Accountant) -> str:
        """Return what ``check`` says of it."""
        accountant, _ = gradients_of(accountant)
        if isinstance(accountant, SampledGaussian):
            return (
                f"accountant {self.kind}: Gaussian noise on sums over samples, of multiplier "
                f"{extent(1 / accountant.charges)}"
            )
        if not isinstance(accountant, ByLosses):
            return f"accountant {self.kind}: Gaussian noise has an exact curve, which is kept"
        summed = accountant.charges * accountant.answers
        gain = (
            extent(summed / accountant.epsilon) if np.isfinite(summed).all() else "infinitely many"
        )
        return (
            f"accountant {self.kind}: ε of single answers adds up to {extent(summed)}, {gain} "
            f"times what they cost together at δ = {accountant.delta / accountant.sharers:g}"
        )


class LossDistributions(AccountingKind):
    """By privacy loss distributions: (ε_i, δ) of all of an owner's answers together.

    Laplace answers are composed as what they are, other pure ones as randomised response, which
    dominates whatever is ε-private; Gaussian ones have their own exact curve, as without it.
    """

    kind: Literal["pld"] = "pld"


Accounting = Annotated[LossDistributions, FAMILY_BY_NAME]
"""Every way of accounting besides the mechanism's own; a new one joins by its line here."""

__all__ = ["Accounting", "AccountingKind", "LossDistributions"]
