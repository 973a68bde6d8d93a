"""Asynchronous learning in the terms of the proof of Async's Theorem 2, and geometric bounds on it.

Models x_L, x_1 … x_N sit on a star; V_k = E Σ_j ‖x_j − θ*‖² over all N + 1 of them bounds
E‖θ_L,k − θ*‖². In the proof's terms f = f_L + Σ f_i, f_L = g/2, f_i = g/(2N) + (1/n) Σ_{D_i} ℓ,
so that σ_L = σ/2 and σ_i = σ/(2N). An update with owner i averages x_L and x_i to v, then steps

    x_L⁺ = Π_Θ[v − α_L ∇f_L(v)],    x_i⁺ = Π_Θ[v − α_i (∇f_i(v) + (n_i/n) w_i)].

What the paper prints is no bound: it lacks the transient. The bound for smooth losses is in
:mod:`~asyncdp_sim.theory.bounds.async_smooth`; it needs neither bounded gradients nor gossip's
spectrum.

Assumed are owners i_k independent with probabilities π_i, answers at staleness 0, independent noise
of mean 0, owners that answer until the end, models that start in Θ, convex losses and a σ-strongly
convex g.
"""

from dataclasses import dataclass
from math import expm1, log1p, sqrt

import numpy as np

from asyncdp_sim.theory.formulas.arguments import (
    Array,
    count,
    finite,
    nonnegative,
    positive,
    probabilities,
    refused,
)
from asyncdp_sim.theory.moments.gossip_map import CentralStep


@dataclass(frozen=True)
class GeometricBound:
    """A bound V_k ≤ q^k V_0 + (1 + q + … + q^(k−1)) r.

    Attributes
    ----------
    start : float
        V_0.
    factor : float
        q, in [0, 1].
    push : float
        r, what an update adds at most.
    """

    start: float
    factor: float
    push: float

    @property
    def limit(self) -> float:
        """r/(1 − q), what is left as k → ∞; infinite where q = 1."""
        return self.push / (1 - self.factor) if self.factor < 1 else float("inf")

    def after(self, updates: int) -> float:
        """Return q^k V_0 + (1 − q^k) r/(1 − q) for k ≥ 0."""
        k = count("updates", updates, 0)
        if self.factor == 1:
            return self.start + k * self.push
        lost = 1.0 if self.factor == 0 and k > 0 else 0.0
        if self.factor > 0:  # 1 − q^k without cancellation
            lost = -expm1(k * log1p(self.factor - 1))
        return (1 - lost) * self.start + lost * self.limit


@dataclass(frozen=True, eq=False)
class StepSizes:
    """What the proof of Theorem 2 knows of the algorithm.

    Attributes
    ----------
    central : float
        α_L ≥ 0.
    own : array (N,)
        α_i > 0.
    probability : array (N,)
        π_i > 0, the proof's γ_i; γ_L = 1.
    """

    central: float
    own: Array
    probability: Array


def step_sizes(
    n_owners: int,
    sigma: float,
    *,
    rho: float,
    updates: int,
    central_step: CentralStep = "proof",
    probability: Array | None = None,
    inverse_rate: bool = False,
) -> StepSizes:
    """Return α_L and α_i of Algorithm 1 in the terms of the proof, with η = 1/(2N).

    α_i = Nρ/(T²σ), divided by Nπ_i with ``inverse_rate``; α_L = ρ/(T²σ) ("proof") or
    2(N−1)ρ/(N T²σ) ("text": its step (N−1)ρ/(N T²σ) ∇g with f_L = g/2). The proof's case,
    α_L = α_i π_i, is "proof" with equal π_i or with ``inverse_rate``.

    Parameters
    ----------
    n_owners, updates : int
        N ≥ 1, T ≥ 1.
    sigma, rho : float
        σ > 0, ρ > 0.
    central_step : str
        "proof" or "text".
    probability : array (N,), optional
        π_i > 0; uniform by default.
    inverse_rate : bool
        Whether owner i's step is divided by Nπ_i.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    number, sigma = count("n_owners", n_owners), positive("sigma", sigma)
    if central_step not in ("proof", "text"):
        raise refused("central_step", repr(central_step), "proof or text")
    chance = np.full(number, 1 / number)
    if probability is not None:
        chance = finite("probability", probabilities("probability", probability), (number,))
    if np.min(chance) <= 0:
        raise refused("probability", chance.tolist(), "numbers > 0")
    rate = positive("rho", rho) / count("updates", updates) ** 2 / sigma
    often = number * chance if inverse_rate else np.ones(number)
    central = rate if central_step == "proof" else 2 * (number - 1) / number * rate
    return StepSizes(central, number * rate / often, chance)


def variances(key: str, values: Array, n_owners: int) -> Array:
    """Return numbers ≥ 0, one per owner."""
    array = finite(key, values, (n_owners,))
    if np.any(array < 0):
        raise refused(key, array.tolist(), "numbers ≥ 0")
    return array


def answer_noise(weights: Array, variance: Array, n_features: int) -> Array:
    """Return ν_i² = E‖(n_i/n) w_i‖² = (n_i/n)² p v_i, shape (N,).

    For Laplace noise of scale b_i = 2ΞT/(n_i ε_i), v_i = 2b_i² and ν_i = 2√(2p) ΞT/(nε_i); the
    paper prints 2√2 ΞT/(nε_i), the noise of one coordinate. It is the same whether coordinates
    have noise of their own or share one draw.

    Parameters
    ----------
    weights : array (N,)
        n_i/n, sum 1.
    variance : array (N,)
        v_i ≥ 0 of each coordinate of an answer's noise, with owner i's own budget and cap.
    n_features : int
        p ≥ 1.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    share = probabilities("weights", weights)
    spread = variances("variance", variance, len(share))
    return np.asarray(share**2 * count("n_features", n_features) * spread)


def excess_bound(distance: float, smoothness: float, slope: float = 0.0) -> float:
    """Return (L/2) d + ‖∇f(θ*)‖ √d ≥ E f(θ) − f(θ*) where E‖θ − θ*‖² ≤ d.

    f is L-smooth; the slope at θ* is zero unless the projection is active there. Theorem 2's (4)
    has no constants of its own.
    """
    far = nonnegative("distance", distance)
    return positive("smoothness", smoothness) / 2 * far + nonnegative("slope", slope) * sqrt(far)
