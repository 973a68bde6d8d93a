"""The claim about one owner, by the rule by which its answers compose."""

from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from typing_extensions import override

from asyncdp_sim.audits import recomposed
from asyncdp_sim.privacy.accountants.gaussian_law import epsilon_of
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.attack import Claim


@dataclass(frozen=True)
class Owed:
    """The claim about one owner.

    Attributes
    ----------
    answers : int
        K, distinct answers that its budget holds; gradients, where answers are made of several.
    each, whole : float
        What one of them, and all K, may cost: ε, or μ of Gaussian noise.
    delta : float
        δ; 0 is pure.
    gaussian : bool
    slack : float
        Of what answers cost: what a ledger may say less, for charges are found in two ways.
    """

    answers: int
    each: float
    whole: float
    delta: float
    gaussian: bool
    slack: float = field(default=1e-5, kw_only=True)

    @property
    def dearest(self) -> int:
        """How many answers were released before the one that costs the most."""
        return 0

    def of_one(self) -> Claim:
        """Return the claim of one answer, of which none costs more."""
        return Claim(self.cost(1), self.delta, self.gaussian)

    def of_all(self, *, gaussian: bool) -> Claim:
        """Return the claim of a whole run; ``gaussian`` says whether all in it is, besides."""
        epsilon = epsilon_of(self.whole, self.delta) if self.gaussian else self.whole
        return Claim(epsilon, self.delta, self.gaussian and gaussian)

    def cost(self, answers: int) -> float:
        """Return ε of so many answers."""
        if self.gaussian:
            return epsilon_of(self.each * sqrt(answers), self.delta)
        return self.each * answers if answers > 0 else 0.0


@dataclass(frozen=True)
class Stated(Owed):
    """The claim about one owner where the mechanism alone knows how answers compose."""

    accountant: Accountant
    owner: int

    @override
    def cost(self, answers: int) -> float:
        counts = np.full(len(self.accountant.answers), answers)
        return float(self.accountant.spent(counts)[self.owner])


@dataclass(frozen=True)
class Composed(Owed):
    """The claim about one owner whose answers are composed to (ε, δ).

    Attributes
    ----------
    law : callable
        The losses that each is composed as, by ε; of Gaussian answers over samples, by μ.
    """

    law: recomposed.Law
    slack: float = field(default=1e-3, kw_only=True)

    @override
    def cost(self, answers: int) -> float:
        return recomposed.epsilon_of(self.law, (self.each,), self.delta, answers)


@dataclass(frozen=True)
class UnlikeParts(Owed):
    """The claim about one owner whose answers have unequal parts of its budget.

    ``each`` is what the dearest costs, as ``whole`` is what all do.

    Attributes
    ----------
    parts : tuple of float
        Of what adds up, ε or μ²; or, where pure answers are composed to (ε, δ), what they cost.
    law : callable, optional
        The losses that they are composed as; absent, what they cost adds up.
    """

    parts: tuple[float, ...]
    law: recomposed.Law | None = None
    slack: float = field(default=3e-3, kw_only=True)

    @property
    @override
    def dearest(self) -> int:
        return self.parts.index(max(self.parts))

    @override
    def of_one(self) -> Claim:
        epsilon = epsilon_of(self.each, self.delta) if self.gaussian else self.each
        delta = self.delta if self.law is None else 0.0
        return Claim(epsilon, delta, self.gaussian)

    @override
    def cost(self, answers: int) -> float:
        some = self.parts[:answers]
        if self.law is not None:
            return recomposed.epsilon_of(self.law, some, self.delta)
        if self.gaussian:
            return epsilon_of(self.whole * sqrt(sum(some)), self.delta)
        return self.whole * sum(some) if answers > 0 else 0.0
