"""Synchronous learning of a quadratic loss: the exact mean and second moment after every round.

Every owner answers in every round, so that θ⁺ = θ − γ_k (2H(θ − θ*) + w), w = Σ (n_i/n) w_i of
covariance Σ (n_i/n)² v_i on each coordinate: the gradients' sum is linear in the second moments,
and only the pooled ones matter, whether the owners' moments are equal or not. In H's
eigenvectors the deviation u from θ* falls apart, u⁺ = (1 − 2γ_k h) u − γ_k w for a curvature h.
"""

from dataclasses import dataclass, replace

import numpy as np

from analysis.exact.per_update import CentralMoments, Initial, Shape, drawn
from analysis.exact.sample_spread import SampleSpread
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.learning.algorithms import Schedule

LOST = 1e-12
"""What is left of a sum whose terms cancel must be more, of its largest term: it has four digits
then."""


@dataclass(frozen=True, eq=False)
class DescentMoments:
    """Means and second moments of synchronous learning.

    Attributes
    ----------
    model : CentralMoments
        Of θ, at which gradients are asked for.
    judged : CentralMoments
        Of the model that is judged: θ, or an average.
    sound : bool
        Whether rounding leaves digits at the end. Where first steps are so long that deviations
        grow before they shrink, those of an average may cancel.
    """

    model: CentralMoments
    judged: CentralMoments
    sound: bool


def moments(
    hessian: Array,
    optimum: Array,
    schedule: Schedule,
    noise_variance: float | Array = 0.0,
    *,
    noise: Shape = "vector",
    initial: Initial = "zeros",
) -> DescentMoments:
    """Run the recursion for T rounds: O(p²) a round. Where learning diverges, so do moments.

    With s = 1 − 2γ_k h, the noise's part of E uuᵀ, E uūᵀ and E ūūᵀ, ū the average that is judged,
    moves as S⁺ = ssᵀ∘S + γ_k² Cov w, X⁺ = s∘(aX + (1 − a)S),
    A⁺ = a²A + a(1 − a)(X + Xᵀ) + (1 − a)²S.

    Parameters
    ----------
    hessian : array (p, p)
        H, of the pooled records; f(θ) − f* = (θ − θ*)ᵀH(θ − θ*).
    optimum : array (p,)
        θ*, in the whole space.
    schedule : Schedule
        With ``sizes`` (T,).
    noise_variance : float or array (T,)
        Σ (n_i/n)² v_i ≥ 0, the variance of each coordinate of w: v_i = 2b_i² for Laplace noise of
        scale b_i; of all rounds, or of each. 0: no noise.
    noise : str
        "vector": Cov w = variance · I. "scalar-as-published": one draw on all coordinates,
        Cov w = variance · 11ᵀ.
    initial : str
        θ_0 is 0, or 1, or each coordinate on its own uniform on [0, 1).
    """
    variance, p = float(np.max(noise_variance)), len(optimum)
    levels = noise_variance / variance if isinstance(noise_variance, np.ndarray) else None
    values, vectors = np.linalg.eigh(hessian)
    mean, scatter = drawn(initial)
    first = vectors.T @ (mean - optimum)
    ones = vectors.sum(axis=0)
    form = np.eye(p) if noise == "vector" else np.outer(ones, ones)
    # what is left of the start, and the covariance that unit noise has added; and of the average
    start = shown = np.ones(p)
    added = cross = shown_added = np.zeros((p, p))
    starts, noises, shown_starts, shown_noises = [start], [added], [shown], [shown_added]
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for k, size in enumerate(schedule.sizes):
            shrink = 1 - 2 * size * values
            if schedule.kept is not None:
                old, new = schedule.kept[k], 1 - schedule.kept[k]
                shown = old * shown + new * start
                both = cross + cross.T
                shown_added = old**2 * shown_added + old * new * both + new**2 * added
                cross = shrink[:, None] * (old * cross + new * added)
            start = shrink * start
            loud = form if levels is None else levels[k] * form
            added = shrink[:, None] * shrink * added + size * size * loud
            starts.append(start)
            noises.append(added)
            shown_starts.append(shown)
            shown_noises.append(shown_added)

        def seen(left: list[Array], spreads: list[Array]) -> CentralMoments:
            bias = np.stack(left) * first
            second = bias[:, :, None] * bias[:, None, :] + variance * np.stack(spreads)
            second += scatter * np.square(left)[:, :, None] * np.eye(p)
            mean, second = optimum + bias @ vectors.T, vectors @ second @ vectors.T
            return CentralMoments(hessian, optimum, mean, second)

        model = seen(starts, noises)
        if schedule.kept is None:
            return DescentMoments(model, model, sound=True)
        quiet = [np.sqrt(values @ (each**2 * (first**2 + scatter))) for each in starts]
        loudest = max(np.einsum("aa,a->", each, values) for each in noises)
        kept = np.sqrt(values @ (shown**2 * (first**2 + scatter))) > LOST * max(quiet)
        heard = np.einsum("aa,a->", shown_added, values) > LOST * loudest
        sound = bool(kept and (heard or variance == 0))
        return DescentMoments(model, seen(shown_starts, shown_noises), sound)


def sampled_moments(
    hessian: Array,
    optimum: Array,
    schedule: Schedule,
    noise_variance: float,
    *,
    spread: SampleSpread,
    weights: Array,
    noise: Shape = "vector",
    initial: Initial = "zeros",
) -> DescentMoments:
    """Run the recursion where answers are over samples of records, O(N p⁴) a round.

    With S = I − 2γ_k H, Q = noise_variance · I (or 11ᵀ) + Σ (n_i/n)² E Cov g_i at the model's own
    moments, U = E uuᵀ, X = E uūᵀ and A = E ūūᵀ, ū the average that is judged,

        U⁺ = S U S + γ_k² Q,  X⁺ = S (a X + (1 − a) U),  A⁺ = a²A + a(1 − a)(X + Xᵀ) + (1 − a)²U.

    Parameters
    ----------
    hessian, optimum, schedule, noise_variance, noise, initial
        As for :func:`moments`.
    spread : SampleSpread
        About ``optimum``.
    weights : array (N,)
        n_i/n.
    """
    plain = moments(hessian, optimum, schedule, noise_variance, noise=noise, initial=initial)
    p, owners = len(optimum), len(weights)
    form = noise_variance * (np.eye(p) if noise == "vector" else np.ones((p, p)))
    second = cross = judged = plain.model.second[0]
    seconds, judgements = [second], [judged]
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for k, size in enumerate(schedule.sizes.tolist()):
            mean = np.tile(plain.model.mean[k] - optimum, (owners, 1))
            spreads = spread.at(np.tile(second, (owners, 1, 1)), mean)
            shrink = np.eye(p) - 2 * size * hessian
            if schedule.kept is not None:
                old, new = schedule.kept[k], 1 - schedule.kept[k]
                judged = old**2 * judged + old * new * (cross + cross.T) + new**2 * second
                cross = shrink @ (old * cross + new * second)
            added = form + np.tensordot(np.square(weights), spreads, 1)
            second = shrink @ second @ shrink + size**2 * added
            seconds.append(second)
            judgements.append(second if schedule.kept is None else judged)
    model = replace(plain.model, second=np.array(seconds))
    shown = replace(plain.judged, second=np.array(judgements))
    return DescentMoments(model, shown, plain.sound)
