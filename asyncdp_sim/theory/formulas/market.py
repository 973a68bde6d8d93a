"""The cheapest privacy budgets for an expected ψ that is affine in 1/ε_i²."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.theory.formulas import finite, positive


@dataclass(frozen=True, eq=False)
class Demand:
    """Cost of noise to a learning: E ψ(θ_L,T) = free + Σ loss_i/ε_i².

    Attributes
    ----------
    free : float
        E ψ without noise, ≥ 0.
    loss : array (N,)
        ≥ 0; an owner of loss 0 needs no budget.
    """

    free: float
    loss: Array

    def psi(self, epsilon: Array) -> float:
        """Return E ψ at budgets ε_i, shape (N,)."""
        buying = self.loss > 0
        return self.free + float(np.sum(self.loss[buying] / np.square(epsilon[buying])))


@dataclass(frozen=True, eq=False)
class Purchase:
    """The cheapest budgets.

    Attributes
    ----------
    epsilon : array (N,)
        ε_i.
    paid : array (N,)
        c_i ε_i.
    psi : float
        Expected, at most the target.
    target : float
    price_of_target : float
        −d Σ c_i ε_i/d target = c_i ε_i³/(2 loss_i) of every owner of loss > 0: what a ψ lower by
        one unit costs, in the limit.
    """

    epsilon: Array
    paid: Array
    psi: float
    target: float
    price_of_target: float

    @property
    def total(self) -> float:
        """Σ c_i ε_i."""
        return float(self.paid.sum())


def cheapest(wanted: Demand, prices: Sequence[float] | Array, target: float) -> Purchase:
    """Return the budgets that reach a target for the least Σ c_i ε_i; 0 for owners of loss 0.

    ε_i = (loss_i/c_i)^{1/3} (Σ_j loss_j^{1/3} c_j^{2/3} / (target − free))^{1/2}: at the optimum
    c_i = 2μ loss_i/ε_i³ for one μ, and the target is met.

    Parameters
    ----------
    wanted : Demand
    prices : array (N,)
        c_i > 0 for each unit of ε_i.
    target : float
        Expected ψ, > 0.

    Raises
    ------
    SpecError
        If no budgets reach the target, or an argument is outside its domain.
    """
    cost = finite("prices", np.asarray(prices, dtype=float), wanted.loss.shape)
    for price in cost.tolist():
        positive("prices", price)
    if not wanted.free < target:
        domain = f"allowed is more than {wanted.free:.4g}, the expected ψ without noise"
        raise SpecError([Fault("target", f"{target:g}", domain)])
    ratio = np.cbrt(wanted.loss / cost)
    epsilon = np.asarray(ratio * np.sqrt(np.sum(ratio * cost) / (target - wanted.free)))
    margin = float(cost @ epsilon) / (2 * (target - wanted.free))
    return Purchase(epsilon, cost * epsilon, wanted.psi(epsilon), float(target), margin)
