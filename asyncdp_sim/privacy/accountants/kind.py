"""The family ``privacy.accountant``: how it is worked out what an owner's answers cost together."""

from abc import abstractmethod
from math import inf
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY_BY_NAME
from asyncdp_sim.privacy.accountants.by_losses import ByLosses
from asyncdp_sim.privacy.accountants.charges import answers_of, charge_of
from asyncdp_sim.privacy.accountants.own import Accountant, Pure
from asyncdp_sim.privacy.accountants.pairs import PurePair
from asyncdp_sim.privacy.accountants.sampled_gaussian import SampledGaussian
from asyncdp_sim.privacy.accountants.several_gradients import gradients_of
from asyncdp_sim.privacy.budget.allotment import Allotment
from asyncdp_sim.spec import Kind
from asyncdp_sim.words import extent

if TYPE_CHECKING:
    from asyncdp_sim.privacy.spec import Privacy

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


class AccountingKind(Kind):
    """Accounts answers of ε each otherwise than as the sum of their ε."""

    @abstractmethod
    def charges(
        self,
        pair: type[PurePair],
        epsilon: Array,
        delta: float,
        answers: Counts,
        allotment: Allotment | None = None,
    ) -> Array:
        """Return ε₀ of one answer per owner, (N,), such that K_i answers spend (ε_i, δ) together.

        Infinite where ε_i is; in the mean over an owner's answers, where an ``allotment`` says how
        many times as much each costs.
        """

    @abstractmethod
    def fits(self, pair: type[PurePair], charge: float, epsilon: float, delta: float) -> int:
        """Return how many answers of ε₀ = ``charge`` each a finite budget holds."""

    @abstractmethod
    def accountant(
        self,
        own: Accountant,
        pair: type[PurePair],
        delta: float,
        sharers: int,
        allotment: Allotment | None = None,
    ) -> Accountant:
        """Return what answers cost of which the mechanism says what they cost each.

        Parameters
        ----------
        own : Accountant
            By which ε of answers adds up.
        pair : type of PurePair
            What dominates an answer.
        delta : float
            δ of the scenario.
        sharers : int
            κ, owners that may hold one record.
        allotment : Allotment, optional
            Where an owner's answers cost unequally much.
        """

    @abstractmethod
    def words(self, accountant: Accountant) -> str:
        """Return what ``check`` says of it."""

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


class LossDistributions(AccountingKind):
    """By privacy loss distributions: (ε_i, δ) of all of an owner's answers together.

    Laplace answers are composed as what they are, other pure ones as randomised response, which
    dominates whatever is ε-private; Gaussian ones have their own exact curve, as without it.
    """

    kind: Literal["pld"] = "pld"

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(),)

    @override
    def charges(
        self,
        pair: type[PurePair],
        epsilon: Array,
        delta: float,
        answers: Counts,
        allotment: Allotment | None = None,
    ) -> Array:
        budgets = zip(epsilon.tolist(), answers.tolist(), strict=True)
        each = [None if allotment is None else allotment.of_one(i) for i in range(len(epsilon))]
        return np.array(
            [
                e if e == inf else charge_of(pair, e, delta, k, relative)
                for (e, k), relative in zip(budgets, each, strict=True)
            ]
        )

    @override
    def fits(self, pair: type[PurePair], charge: float, epsilon: float, delta: float) -> int:
        return answers_of(pair, charge, epsilon, delta)

    @override
    def accountant(
        self,
        own: Accountant,
        pair: type[PurePair],
        delta: float,
        sharers: int,
        allotment: Allotment | None = None,
    ) -> ByLosses:
        if not isinstance(own, Pure):
            raise TypeError("only an ε that adds up is composed otherwise")
        return ByLosses(own, pair, delta, sharers, allotment)

    @override
    def words(self, accountant: Accountant) -> str:
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


Accounting = Annotated[LossDistributions, FAMILY_BY_NAME]
"""Every way of accounting besides the mechanism's own; a new one joins by its line here."""

__all__ = ["Accounting", "AccountingKind", "LossDistributions"]
