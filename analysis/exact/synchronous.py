"""Synchronous learning of a quadratic loss: the exact mean and second moment after every round.

Every owner answers in every round, so that θ⁺ = θ − γ_k (2H(θ − θ*) + w), w = Σ (n_i/n) w_i of
covariance Σ (n_i/n)² v_i on each coordinate: the gradients' sum is linear in the second moments,
and only the pooled ones matter, whether the owners' moments are equal or not. In H's
eigenvectors the deviation u from θ* falls apart, u⁺ = (1 − 2γ_k h) u − γ_k w for a curvature h.
"""

from collections.abc import Iterator
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
class Left:
    """After a round: how much of the start is left, and what unit noise has added.

    Attributes
    ----------
    start, judged_start : array (…, q)
        What the start's deviation is multiplied by, in the model and in the one that is judged.
    noise, judged_noise : array (…, q, q)
        Covariances, where w has the covariance ``form``.
    """

    start: Array
    noise: Array
    judged_start: Array
    judged_noise: Array


def descend(
    curvature: Array, form: Array, schedule: Schedule, levels: Array | None = None
) -> Iterator[Left]:
    """Yield what is left after every round.

    With s = 1 − 2γ_k h, the noise's part of E uuᵀ, E uūᵀ and E ūūᵀ moves as
    S⁺ = ssᵀ∘S + γ_k² form, X⁺ = s∘(aX + (1 − a)S), A⁺ = a²A + a(1 − a)(X + Xᵀ) + (1 − a)²S.

    Parameters
    ----------
    curvature : array (…, q)
        h > 0 of directions in which deviations move on their own.
    form : array (…, q, q)
        Cov w in them; with q = 1, several directions whose covariances do not matter.
    schedule : Schedule
        Whose ``sizes[k]`` has as many axes as ``curvature`` but the last, or none.
    levels : array (T,), optional
        How many times ``form`` the covariance is in each round; 1 where absent.
    """
    size = schedule.sizes[0][..., None]
    start = judged_start = np.ones(np.broadcast_shapes(size.shape, curvature.shape))
    noise = cross = judged_noise = np.zeros(np.broadcast_shapes((*size.shape, 1), form.shape))
    for k, size in enumerate(schedule.sizes[..., None]):
        shrink = 1 - 2 * size * curvature
        if schedule.kept is not None:
            old, new = schedule.kept[k], 1 - schedule.kept[k]
            judged_start = old * judged_start + new * start
            both = cross + cross.swapaxes(-1, -2)
            judged_noise = old**2 * judged_noise + old * new * both + new**2 * noise
            cross = shrink[..., None] * (old * cross + new * noise)
        start = shrink * start
        added = form if levels is None else levels[k] * form
        noise = shrink[..., None] * shrink[..., None, :] * noise + size[..., None] ** 2 * added
        if schedule.kept is None:
            judged_start, judged_noise = start, noise
        yield Left(start, noise, judged_start, judged_noise)


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
    levels = None
    if isinstance(noise_variance, np.ndarray):
        levels = noise_variance / variance
    values, vectors = np.linalg.eigh(hessian)
    mean, scatter = drawn(initial)
    first = vectors.T @ (mean - optimum)
    ones = vectors.sum(axis=0)
    form = np.eye(p) if noise == "vector" else np.outer(ones, ones)
    unit, nothing = np.ones(p), np.zeros((p, p))
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        path = [
            Left(unit, nothing, unit, nothing),
            *descend(values, form, schedule, levels),
        ]

        def seen(left: Array, added: Array) -> CentralMoments:
            bias = left * first
            second = bias[:, :, None] * bias[:, None, :] + variance * added
            second += scatter * np.square(left)[:, :, None] * np.eye(p)
            return CentralMoments(
                hessian=hessian,
                optimum=optimum,
                mean=optimum + bias @ vectors.T,
                second=vectors @ second @ vectors.T,
            )

        model = seen(np.stack([at.start for at in path]), np.stack([at.noise for at in path]))
        if schedule.kept is None:
            return DescentMoments(model, model, sound=True)
        judged = seen(
            np.stack([at.judged_start for at in path]), np.stack([at.judged_noise for at in path])
        )
        quiet = [np.sqrt(values @ (at.start**2 * (first**2 + scatter))) for at in path]
        loud = [np.einsum("aa,a->", at.noise, values) for at in path]
        end = path[-1]
        kept = np.sqrt(values @ (end.judged_start**2 * (first**2 + scatter))) > LOST * max(quiet)
        added = np.einsum("aa,a->", end.judged_noise, values) > LOST * max(loud)
    return DescentMoments(model, judged, sound=bool(kept and (added or variance == 0)))


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
    return DescentMoments(
        model=replace(plain.model, second=np.array(seconds)),
        judged=replace(plain.judged, second=np.array(judgements)),
        sound=plain.sound,
    )
