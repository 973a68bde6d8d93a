"""Upper bound on synchronous private learning: Collab, Theorem 2, mended; as printed it is none.

Algorithm 1 moves θ⁺ = θ − ρ_k (∇f(θ) + w), ρ_k = ρ/(T²k), w = Σ (n_i/n) w_i the noise of a round
that all owners answer, E‖w‖² = Σ ν_i²
(:func:`~asyncdp_sim.theory.bounds.async_theorem2.answer_noise`). f is L-strongly convex with
λ-Lipschitz gradient, Θ is the whole space. Of Theorem 3 only the shape is known.
"""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.formulas.arguments import count, nonnegative, positive, probability, refused


def with_transient(
    noise: float,
    *,
    convexity: float,
    smoothness: float,
    rho: float,
    updates: int,
    start: float,
) -> Array:
    """Return bounds on E f(θ_k) − f* after k = 0 … T updates; the squared distance is ≤ 2/L times.

    With s = ρ_k, the bound moves as δ⁺ = q_k δ + (λ/2) s² E‖w‖², where q_k = 1 − 2Ls(1 − λs/2) for
    s ≤ 2/λ and (1 − λs)² for longer steps.

    Proof. f(θ⁺) ≤ f(θ) − s ∇fᵀ(∇f + w) + (λs²/2)‖∇f + w‖², and E w = 0, hence
    E f(θ⁺) ≤ f(θ) − s(1 − λs/2)‖∇f‖² + (λ/2)s² E‖w‖²; then 2Lδ ≤ ‖∇f‖² ≤ 2λδ, the first where the
    bracket is ≥ 0, the second where it is not. ∎

    Deviations from (9): the transient Π q_k δ_0; the last model's fitness, not only the best one's;
    λ/2; the noise of all coordinates, by each owner's variance. The paper's loop makes T − 1
    updates, the last entry here is one more.

    Parameters
    ----------
    noise : float
        E‖w‖² ≥ 0; 8pΞ²T²/n² Σ 1/ε_i² for Laplace noise of scale 2ΞT/(n_i ε_i).
    convexity, smoothness : float
        0 < L ≤ λ.
    rho : float
        ρ > 0.
    updates : int
        T ≥ 1.
    start : float
        δ_0 = E f(θ_0) − f* ≥ 0.

    Returns
    -------
    array (T + 1,)

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    horizon = count("updates", updates)
    step = positive("rho", rho) / horizon**2 / np.arange(1, horizon + 1)
    return along(step, noise, convexity=convexity, smoothness=smoothness, start=start)


def along(
    steps: Sequence[float] | Array,
    noise: float,
    *,
    convexity: float,
    smoothness: float,
    start: float,
    kept: Sequence[float] | Array | None = None,
) -> Array:
    """Return the same bounds for any steps s_k > 0, or for an average of the models.

    Where ū⁺ = a_k ū + (1 − a_k) θ with θ before the step, as in Algorithm 2, f is convex and
    E f(ū⁺) − f* ≤ a_k (E f(ū) − f*) + (1 − a_k)(E f(θ) − f*).

    Parameters
    ----------
    steps : sequence of float (T,)
        s_k > 0.
    noise, convexity, smoothness, start
        As for :func:`with_transient`.
    kept : sequence of float (T,), optional
        a_k in [0, 1], where the average is meant.

    Returns
    -------
    array (T + 1,)

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    least, most = positive("convexity", convexity), positive("smoothness", smoothness)
    if least > most:
        raise refused("convexity", least, f"at most smoothness, {most}")
    step = np.array([positive("steps", size) for size in np.asarray(steps).tolist()])
    short = 1 - 2 * least * step * (1 - most * step / 2)
    shrunk = np.where(step <= 2 / most, short, (1 - most * step) ** 2)
    added = most / 2 * step**2 * nonnegative("noise", noise)
    bounds = [nonnegative("start", start)]
    for factor, push in zip(shrunk.tolist(), added.tolist(), strict=True):
        bounds.append(factor * bounds[-1] + push)
    if kept is None:
        return np.array(bounds)
    mean = [bounds[0]]
    for share, model in zip(np.asarray(kept).tolist(), bounds[:-1], strict=True):
        mean.append(probability("kept", share) * mean[-1] + (1 - share) * model)
    return np.array(mean)
