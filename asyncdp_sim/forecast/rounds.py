"""Exact expected ψ of Collab's synchronous algorithms, for owners with one second moment."""

from math import sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecast.decoupled import Course

Array = npt.NDArray[np.float64]
LOST = 1e-12
"""Of its peak, what is left of ψ must be more: it is a difference, known to four digits then."""


def rounds(course: Course, step: Array, *, average: bool) -> tuple[Array, Array]:
    """Return E ψ after T rounds without noise, and what a unit of a round's noise variance adds.

    In each of C's eigenvectors, with curvature h, a round moves the deviation u from θ* by
    u⁺ = (1 − 2γ_k h) u − γ_k w, Var w = Σ (n_i/n)² v_i: nothing else of who takes part matters.
    Algorithm 1 has γ_k = ρ/(T²k) and is judged at u; Algorithm 2 has γ_k = c_1/√k and is judged at
    its average ū⁺ = a_k ū + (1 − a_k) u, a_k = (k−1)/(1/√T + k), with u before the step.

    Parameters
    ----------
    course : Course
    step : array (R,)
        ρ, or c_1 of Algorithm 2.
    average : bool
        Whether it is Algorithm 2.

    Returns
    -------
    tuple of array (R,)
        Infinite where learning diverges, or first steps are so long that deviations grow before
        they shrink and their digits are lost.
    """
    start = course.start - course.optimum
    u = np.broadcast_to(start, (len(step), len(start)))
    square = cross = mean = u**2 + course.scatter  # E u², E uū, E ū²
    loud = blend = final = np.zeros_like(square)  # the same of a unit of noise
    peaks = [square, loud]
    rate, lead = np.asarray(step)[:, None], 1 / sqrt(course.updates)
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for k in range(1, course.updates + 1):
            size = rate / sqrt(k) if average else rate / (course.updates**2 * k)
            shrink, old = 1 - 2 * size * course.hessian, (k - 1) / (lead + k)
            new = 1 - old
            mean = old**2 * mean + 2 * old * new * cross + new**2 * square
            final = old**2 * final + 2 * old * new * blend + new**2 * loud
            cross, blend = (
                shrink * (old * both + new * one) for both, one in ((cross, square), (blend, loud))
            )
            square = shrink**2 * square
            loud = shrink**2 * loud + size**2 * course.pattern
            peaks = [np.maximum(*pair) for pair in zip(peaks, (square, loud), strict=True)]
        quiet, gain = (mean, final) if average else (square, loud)
        free, gain, *most = (each @ course.hessian / course.least for each in (quiet, gain, *peaks))
        stable = (free > LOST * most[0]) & (gain > LOST * most[1])
    stable &= np.isfinite(free) & np.isfinite(gain)
    return np.where(stable, free, np.inf), np.where(stable, gain, np.inf)
