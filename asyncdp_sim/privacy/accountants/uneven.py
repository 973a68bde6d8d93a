"""Accounting of answers with unequal parts of a budget, where what they cost adds up."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.accountants.attacker import Attacker
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.budgets import Allotment

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Uneven:
    """Answers whose parts of a budget differ: m of them cost what K Σ_{k ≤ m} s_k equal ones would.

    Exactly, since ε of pure answers adds up, and 1/z² of Gaussian ones; K of them cost the same.

    Attributes
    ----------
    own : Accountant
        What K_i equal answers cost; a sum of something over them.
    allotment : Allotment
    """

    own: Accountant
    allotment: Allotment

    @property
    def answers(self) -> Counts:
        """K_i, how many answers owner i may release, shape (N,)."""
        return self.own.answers

    @property
    def epsilon(self) -> Array:
        """ε_i, the budget of owner i, shape (N,)."""
        return self.own.epsilon

    @property
    def delta(self) -> float:
        """δ at which every ε is stated; 0 is pure."""
        return self.own.delta

    @property
    def multiplier(self) -> Array | None:
        """z_i of K_i equal answers that cost as much, of Gaussian ones alone, shape (N,)."""
        return self.own.multiplier

    def zcdp(self, released: Counts) -> Array | None:
        """Return ρ of so many answers, of Gaussian ones alone, shape (..., N)."""
        return self.own.zcdp(self._equal(released))

    def spent(self, released: Counts) -> Array:
        """Return ε spent by owners that released so many answers, shape (..., N)."""
        return self.own.spent(self._equal(released))

    def together(self, released: Counts, owners: int, factor: Array | float = 1.0) -> float:
        """Return ε of a record that the κ largest spenders of ``released`` (N,) share."""
        return self.own.together(self._equal(released), owners, factor)

    def quieter(self, factor: Array) -> Array:
        """Return ε of K_i answers were the noise 1/``factor`` (N,) as large, shape (N,)."""
        return self.own.quieter(factor)

    def whole(self, charges: Array) -> Array:
        """Return ε of K_i answers, each of which costs ε₀ = ``charges`` (N,) alone, shape (N,)."""
        return self.own.whole(charges)

    def attacker(self, released: Counts) -> Attacker:
        """Return what an attacker may do with so many answers of each owner, shape (..., N)."""
        return self.own.attacker(self._equal(released))

    def _equal(self, released: Counts) -> npt.NDArray[Any]:
        """Return a number of equal answers, which need not be whole."""
        return self.allotment.equal(np.asarray(released))


__all__ = ["Uneven"]
