"""A bound for asynchronous learning on smooth losses that is far closer than the paper's."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.learning.algorithms import OneOnOne
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.reply import AnswerNoise
from asyncdp_sim.theory.bounds.async_theorem2 import (
    GeometricBound,
    StepSizes,
    answer_noise,
    excess_bound,
    step_sizes,
    variances,
)
from asyncdp_sim.theory.formulas.arguments import (
    finite,
    nonnegative,
    positive,
    probabilities,
    refused,
)


@dataclass(frozen=True, eq=False)
class Slopes:
    """What is known of f_L, f_1 … f_N, in this order.

    Attributes
    ----------
    at_optimum : array (N + 1, p)
        ∇f_j(θ*).
    smoothness, convexity : array (N + 1,)
        L_j and σ_j, with 0 < σ_j ≤ L_j.
    """

    at_optimum: Array
    smoothness: Array
    convexity: Array


def quadratic_slopes(gram: Array, moment: Array, weights: Array, sigma: float) -> Slopes:
    """Return them for the loss (y − θᵀx)² and ∇g = σθ, Θ the whole space.

    ∇f_L = σθ/2 and ∇f_i = σθ/(2N) + 2(n_i/n)(C_iθ − r_i), C_i = X_iᵀX_i/n_i, r_i = X_iᵀy_i/n_i.

    Parameters
    ----------
    gram, moment, weights : array (N, p, p), (N, p), (N,)
        C_i, r_i and n_i/n.
    sigma : float
        σ > 0.

    Raises
    ------
    SpecError
        If an argument is outside its domain or the shapes do not fit.
    """
    share, sigma = probabilities("weights", weights), positive("sigma", sigma)
    size, p = len(share), np.shape(moment)[-1]
    inner = finite("moment", moment, (size, p))
    square = finite("gram", gram, (size, p, p))
    hessian = np.tensordot(share, square, 1) + sigma / 2 * np.eye(p)
    optimum = np.linalg.solve(hessian, share @ inner)
    own = sigma / (2 * size) * optimum + 2 * share[:, None] * (square @ optimum - inner)
    bend = np.linalg.eigvalsh(square)  # ascending
    central = [sigma / 2]
    return Slopes(
        at_optimum=np.vstack([sigma / 2 * optimum, own]),
        smoothness=np.concatenate([central, sigma / (2 * size) + 2 * share * bend[:, -1]]),
        convexity=np.concatenate(
            [central, sigma / (2 * size) + 2 * share * np.maximum(bend[:, 0], 0)]
        ),
    )


def sharpened(
    steps: StepSizes,
    noise: Array,
    *,
    slopes: Slopes,
    start: float,
) -> GeometricBound:
    """Return a bound in which noise enters by ν_i² alone: gossip pays for what owners disagree.

    With G_i = α_L ∇f_L(θ*) + α_i ∇f_i(θ*), m_j = α_jσ_j(1 − α_jL_j), m = min_i (m_L + m_i)/2,
    d = 2γ_min m, b = ‖Σ π_i G_i‖ and κ = bd/(b + √(b² + Rd)),

        q = 1 − d + κ,   r = R + b²/κ,
        R = 2α_L²‖∇f_L(θ*)‖² + Σ π_i [α_i²(2‖∇f_i(θ*)‖² + ν_i²) + ‖G_i‖²/(2 − 4m)].

    Proof, as for :func:`with_transient` with these changes. (b') ‖∇f_j(v)‖² ≤ 2‖h‖² +
    2‖∇f_j(θ*)‖² for h = ∇f_j(v) − ∇f_j(θ*), and as ‖h‖² ≤ L_j hᵀ(v − θ*), −2α_j hᵀ(v − θ*) +
    2α_j²‖h‖² ≤ −2m_j‖v − θ*‖². (d') Write v − θ* = (u_i − u_L)/2 + u_L. The first part costs
    Σ π_i ‖G_i‖ ‖u_i − u_L‖, which (½ − m) Σ π_i ‖u_L − u_i‖², gained in (c), pays but for
    Σ π_i ‖G_i‖²/(2 − 4m); the second costs 2b‖u_L‖ ≤ κV + b²/κ, with the κ of the smallest limit
    (b = 0 in the proof's case). ∎

    Assumes θ* in the interior of Θ or Θ the whole space, and Lipschitz gradients in place of
    bounded ones. No equation of the paper: where Θ is the whole space and the loss quadratic,
    C = ∞ and (7) says nothing. The term in √B of (3) and (5) and the factor 1/(1 − √λ) are of the
    paper's proof, not of the algorithm.

    Parameters
    ----------
    steps : StepSizes
    noise : array (N,)
        ν_i².
    slopes : Slopes
        With α_jL_j ≤ 1.
    start : float
        V_0, as for :func:`with_transient`.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    size, chance = len(steps.own) + 1, steps.probability
    alpha = np.concatenate([[steps.central], steps.own])
    often = np.concatenate([[1.0], chance])
    slope = finite("at_optimum", slopes.at_optimum, (size, np.shape(slopes.at_optimum)[-1]))
    steep = finite("smoothness", slopes.smoothness, (size,))
    curved = finite("convexity", slopes.convexity, (size,))
    if np.any(curved <= 0) or np.any(curved > steep * (1 + 1e-12)) or np.any(alpha * steep > 1):
        domain = "0 < convexity ≤ smoothness ≤ 1/step for every model"
        raise refused("smoothness", steep.tolist(), domain)
    m_each = alpha * curved * (1 - alpha * steep)
    m = float(np.min(m_each[0] + m_each[1:])) / 2
    if m <= 0:
        raise refused("smoothness", steep.tolist(), "less than 1/step for an owner")
    spent = alpha[:, None] * slope
    pull = spent[0] + spent[1:]  # G_i
    injected = chance @ (steps.own**2 * variances("noise", noise, len(chance)))
    straight = 2 * often @ np.sum(spent**2, axis=1) + injected
    push = float(straight + chance @ np.sum(pull**2, axis=1) / (2 - 4 * m))
    gain = 2 * float(np.min(chance)) * m
    bias = float(np.linalg.norm(chance @ pull))
    loss = 0.0
    if bias > 0:
        root = bias + sqrt(bias**2 + push * gain)
        loss, push = bias * gain / root, push + bias * root / gain
    return GeometricBound(nonnegative("start", start), 1 - gain + loss, push)


def psi_bound(
    algorithm: OneOnOne, objective: Quadratic, noise: AnswerNoise, updates: int, chosen: Array
) -> float | None:
    """Return a bound on E ψ(θ_L,T), Theorem 2 (Async) mended and for smooth losses.

    None where its assumptions fail: steps too large for the curvature, or θ* on the bound of Θ.

    Parameters
    ----------
    algorithm, objective, noise
        Of the scenario.
    updates : int
        T.
    chosen : array (N,)
        π_i.
    """
    n_owners, sigma = objective.n_owners, objective.sigma
    start = {"zeros": 0.0, "ones": 1.0, "uniform": 0.5}[algorithm.initial]
    apart = float(np.sum(np.square(start - objective.optimum)))
    if algorithm.initial == "uniform":
        apart += objective.n_features / 12
    try:
        steps = step_sizes(
            n_owners, sigma, rho=algorithm.rho(n_owners, updates, sigma), updates=updates,
            central_step=algorithm.central_step, probability=chosen,
            inverse_rate=algorithm.inverse_rate,
        )  # fmt: skip
        loud = answer_noise(objective.weights, noise.variance, objective.n_features)
        slopes = quadratic_slopes(objective.gram, objective.moment, objective.weights, sigma)
        bound = sharpened(steps, loud, slopes=slopes, start=(n_owners + 1) * apart)
    except SpecError:
        return None
    return excess_bound(bound.after(updates), objective.smoothness) / objective.least
