"""Bounds on expected fitness that hold: asynchronous learning, and synchronous rounds.

Theorem 2 of Async and Theorem 2 of Collab are mended here; as printed they bound nothing.

Models x_L, x_1 … x_N sit on a star; V_k = E Σ_j ‖x_j − θ*‖² over all N + 1 of them bounds
E‖θ_L,k − θ*‖². In the proof's terms f = f_L + Σ f_i, f_L = g/2, f_i = g/(2N) + (1/n) Σ_{D_i} ℓ,
so that σ_L = σ/2 and σ_i = σ/(2N). An update with owner i averages x_L and x_i to v, then steps

    x_L⁺ = Π_Θ[v − α_L ∇f_L(v)],    x_i⁺ = Π_Θ[v − α_i (∇f_i(v) + (n_i/n) w_i)].

:func:`with_transient` is the paper's bound with its corrections; what the paper prints is none.

Assumed are owners i_k independent with probabilities π_i, answers at staleness 0, independent noise
of mean 0, owners that answer until the end, models that start in Θ, convex losses and a σ-strongly
convex g.

Algorithm 1 moves θ⁺ = θ − ρ_k (∇f(θ) + w), ρ_k = ρ/(T²k), w = Σ (n_i/n) w_i the noise of a round
that all owners answer, E‖w‖² = Σ ν_i²
(:func:`answer_noise`). f is L-strongly convex with
λ-Lipschitz gradient, Θ is the whole space. Of Theorem 3 only the shape is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, log1p, sqrt

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.formulas.convergence import CentralStep, mean_update, second_eigenvalue


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
        if self.factor == 1:
            return self.start + updates * self.push
        lost = 1.0 if self.factor == 0 and updates > 0 else 0.0
        if self.factor > 0:  # 1 − q^k without cancellation
            lost = -expm1(updates * log1p(self.factor - 1))
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
    sigma : float
        σ > 0, the strong convexity of g.
    """

    central: float
    own: Array
    probability: Array
    sigma: float

    @property
    def rates(self) -> Array:
        """α_L γ_L, α_1 γ_1 … α_N γ_N, shape (N + 1,): equal in the proof's case."""
        return np.concatenate([[self.central], self.own * self.probability])

    @property
    def curvatures(self) -> Array:
        """α_L σ_L, α_1 σ_1 … α_N σ_N, shape (N + 1,)."""
        half_own = self.own / (2 * len(self.own))
        return self.sigma * np.concatenate([[self.central / 2], half_own])

    @property
    def contraction(self) -> float:
        """λ = λ_2(E W), 1 − 1/(2N) where owners are equally likely (and 0 for N = 1)."""
        edges = [(0, i + 1) for i in range(len(self.own))]
        mean = mean_update(len(self.own) + 1, edges, self.probability)
        return max(0.0, second_eigenvalue(mean))


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
    """
    chance = np.full(n_owners, 1 / n_owners) if probability is None else probability
    rate = rho / updates**2 / sigma
    often = n_owners * chance if inverse_rate else np.ones(n_owners)
    central = rate if central_step == "proof" else 2 * (n_owners - 1) / n_owners * rate
    return StepSizes(central, n_owners * rate / often, chance, sigma)


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
    """
    return np.asarray(weights**2 * n_features * variance)


def with_transient(
    steps: StepSizes,
    noise: Array,
    *,
    gradient_bound: float,
    diameter: float,
    start: float,
    spread: float = 0.0,
) -> GeometricBound:
    """Return the bound of (7) and (8) at every k: q^k V_0 + (1 − q^k)(ε + 2α_max C ε_net)/(1 − q).

    With m = min(½, min_j α_jσ_j), γ_min = min π_i, λ = λ_2(E W) and sums over owners,

        q = 1 − 2γ_min m,
        ε_net = √(N+1) max(√Y_0, √D/(1−√λ)),    D = α_L²C² + Σ π_i α_i² (C + ν_i)²,
        ε = 2(N+1)(1−γ_min) δ_σ diam² + 2(N+1) δ_γ C diam + D,

    δ_σ and δ_γ being largest minus smallest α_jσ_j and α_jγ_j, 0 in the proof's case.

    Proof. (a) With u = x − θ*, given i: ‖v − θ*‖² = (‖u_L‖² + ‖u_i‖²)/2 − ‖u_L − u_i‖²/4.
    (b) Π_Θ moves nothing away from θ*, so that for j ∈ {L, i} E‖u_j⁺‖² ≤ ‖v − θ*‖²
    − 2α_j(σ_j‖v − θ*‖² + ∇f_j(θ*)ᵀ(v − θ*)) + α_j²(C + ν_j)². (c) By (a) the terms in ‖v − θ*‖²
    leave V − 2m Σ π_i(‖u_L‖² + ‖u_i‖²) − (½ − m) Σ π_i ‖u_L − u_i‖² ≤ qV. (d) Write
    v − θ* = (v − x̄) + (x̄ − θ*). Σ_j α_jγ_j ∇f_j(θ*)ᵀ(x̄ − θ*) ≥ −(N+1) δ_γ C diam, as θ* is
    optimal on Θ and x̄ ∈ Θ; and as ‖v − x̄‖ ≤ (‖x_L − x̄‖ + ‖x_i − x̄‖)/2, the rest is at least
    −α_max C Σ_j ‖x_j − x̄‖. (e) y = x − x̄ obeys √E‖y⁺‖² ≤ √λ √E‖y‖² + √D, as
    E‖Wy‖² = yᵀ(E W)y and a step moves no farther than α‖gradient‖; hence
    Σ_j E‖x_j − x̄‖ ≤ √(N+1) √E‖y‖² ≤ ε_net at every k. ∎

    Deviations: the transient; π_i for 1/N; λ; m ≤ ½; Y_0. δ_σ is not needed, as (c) takes the
    smallest α_jσ_j; it is kept because (8) has it.

    Parameters
    ----------
    steps : StepSizes
    noise : array (N,)
        ν_i², see :func:`answer_noise`.
    gradient_bound : float
        C > 0, a bound on all ‖∇f_j‖₂ over Θ, such as Ξ_g + Ξ.
    diameter : float
        diam Θ ≥ 0, 2θ_max √p for the box.
    start, spread : float
        V_0 = E Σ_j ‖x_j,0 − θ*‖², (N+1)‖θ_0 − θ*‖² for one start, and
        Y_0 = E Σ_j ‖x_j,0 − x̄_0‖², 0 for one start.
    """
    bound, wide = gradient_bound, diameter
    own, chance, central = steps.own, steps.probability, steps.central
    size = len(own) + 1
    wobble = np.sqrt(noise)
    least = float(np.min(chance))
    moved = central**2 * bound**2 + float(chance @ (own * (bound + wobble)) ** 2)  # D
    settled = sqrt(moved) / (1 - sqrt(steps.contraction))
    apart = sqrt(size) * max(sqrt(spread), settled)
    uneven = float(np.ptp(steps.curvatures)), float(np.ptp(steps.rates))
    mismatch = 2 * size * ((1 - least) * uneven[0] * wide**2 + uneven[1] * bound * wide)
    farthest = max(central, float(np.max(own)))
    return GeometricBound(
        start=start,
        factor=1 - 2 * least * min(0.5, float(np.min(steps.curvatures))),
        push=mismatch + moved + 2 * farthest * bound * apart,
    )


def excess_bound(distance: float, smoothness: float, slope: float = 0.0) -> float:
    """Return (L/2) d + ‖∇f(θ*)‖ √d ≥ E f(θ) − f(θ*) where E‖θ − θ*‖² ≤ d.

    f is L-smooth; the slope at θ* is zero unless the projection is active there. Theorem 2's (4)
    has no constants of its own.
    """
    return smoothness / 2 * distance + slope * sqrt(distance)


def along(
    steps: Sequence[float] | Array,
    noise: float,
    *,
    convexity: float,
    smoothness: float,
    start: float,
    kept: Sequence[float] | Array | None = None,
) -> Array:
    """Return bounds on E f(θ_k) − f* after k = 0 … T updates; the squared distance is ≤ 2/L times.

    Of descent with any steps s_k > 0, such as Collab's ρ/(T²k), or for an average of the models.
    The bound moves as δ⁺ = q_k δ + (λ/2) s² E‖w‖², where q_k = 1 − 2Ls(1 − λs/2) for s ≤ 2/λ and
    (1 − λs)² for longer steps.

    Proof. f(θ⁺) ≤ f(θ) − s ∇fᵀ(∇f + w) + (λs²/2)‖∇f + w‖², and E w = 0, hence
    E f(θ⁺) ≤ f(θ) − s(1 − λs/2)‖∇f‖² + (λ/2)s² E‖w‖²; then 2Lδ ≤ ‖∇f‖² ≤ 2λδ, the first where the
    bracket is ≥ 0, the second where it is not. ∎

    Deviations from Collab's (9): the transient Π q_k δ_0; the last model's fitness, not only the
    best one's; λ/2; the noise of all coordinates, by each owner's variance. The paper's loop makes
    T − 1 updates, the last entry for its steps is one more.

    Where ū⁺ = a_k ū + (1 − a_k) θ with θ before the step, as in Algorithm 2, f is convex and
    E f(ū⁺) − f* ≤ a_k (E f(ū) − f*) + (1 − a_k)(E f(θ) − f*).

    Parameters
    ----------
    steps : sequence of float (T,)
        s_k > 0.
    noise : float
        E‖w‖² ≥ 0; 8pΞ²T²/n² Σ 1/ε_i² for Laplace noise of scale 2ΞT/(n_i ε_i).
    convexity, smoothness : float
        0 < L ≤ λ.
    start : float
        δ_0 = E f(θ_0) − f* ≥ 0.
    kept : sequence of float (T,), optional
        a_k in [0, 1], where the average is meant.

    Returns
    -------
    array (T + 1,)
    """
    least, most, step = convexity, smoothness, np.asarray(steps)
    short = 1 - 2 * least * step * (1 - most * step / 2)
    shrunk = np.where(step <= 2 / most, short, (1 - most * step) ** 2)
    added = most / 2 * step**2 * noise
    bounds = [start]
    for factor, push in zip(shrunk.tolist(), added.tolist(), strict=True):
        bounds.append(factor * bounds[-1] + push)
    if kept is None:
        return np.array(bounds)
    mean = [bounds[0]]
    for share, model in zip(np.asarray(kept).tolist(), bounds[:-1], strict=True):
        mean.append(share * mean[-1] + (1 - share) * model)
    return np.array(mean)
