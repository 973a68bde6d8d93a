"""Answers that are made of several noisy gradients: each of those is charged.

What is sent is worked out of the gradients, one taken where those before it led: all of an owner's
answers together cost no more than all of its gradients, which are composed adaptively
(``docs/privacy/local-steps.md``).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.accountants.attacker import Attacker
from asyncdp_sim.privacy.accountants.own import Accountant

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SeveralGradients:
    """The cost of answers of E gradients each: as much as E times as many gradients.

    Attributes
    ----------
    single : Accountant
        Of gradients, of which an owner may release E K_i.
    gradients : int
        E ≥ 2.
    """

    single: Accountant
    gradients: int

    @property
    def answers(self) -> Counts:
        """K_i, how many answers owner i may release, shape (N,)."""
        return self.single.answers // self.gradients

    @property
    def epsilon(self) -> Array:
        """ε_i, the budget of owner i, shape (N,)."""
        return self.single.epsilon

    @property
    def delta(self) -> float:
        """δ at which every ε is stated; 0 is pure."""
        return self.single.delta

    @property
    def multiplier(self) -> Array | None:
        """z_i of an answer's gradients, of Gaussian ones alone, shape (N,)."""
        return self.single.multiplier

    def zcdp(self, released: Counts) -> Array | None:
        """Return ρ of so many answers, of Gaussian ones alone, shape (..., N)."""
        return self.single.zcdp(released * self.gradients)

    def spent(self, released: Counts) -> Array:
        """Return ε spent by owners that released so many answers, shape (..., N)."""
        return self.single.spent(released * self.gradients)

    def together(self, released: Counts, owners: int, factor: Array | float = 1.0) -> float:
        """Return ε of a record that the κ largest spenders of ``released`` (N,) share."""
        return self.single.together(released * self.gradients, owners, factor)

    def quieter(self, factor: Array) -> Array:
        """Return ε of K_i answers were the noise 1/``factor`` (N,) as large, shape (N,)."""
        return self.single.quieter(factor)

    def whole(self, charges: Array) -> Array:
        """Return ε of K_i answers whose gradients cost ε₀ = ``charges`` (N,) each, shape (N,)."""
        return self.single.whole(charges)

    def attacker(self, released: Counts) -> Attacker:
        """Return what an attacker may do with so many answers of each owner, shape (..., N)."""
        return self.single.attacker(released * self.gradients)


def gradients_of(accountant: Accountant) -> tuple[Accountant, int]:
    """Return what single gradients cost, and of how many an answer is made."""
    if isinstance(accountant, SeveralGradients):
        return accountant.single, accountant.gradients
    return accountant, 1


__all__ = ["SeveralGradients", "gradients_of"]
