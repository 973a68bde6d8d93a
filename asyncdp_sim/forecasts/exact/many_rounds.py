"""Exact expected ψ of synchronous learning, for many step sizes at once: only its end."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.exact.many_groups import Course
from asyncdp_sim.learning.algorithms import Schedule
from asyncdp_sim.theory.moments.synchronous import LOST, descend

Array = npt.NDArray[np.float64]


def rounds(course: Course, schedule: Schedule) -> tuple[Array, Array]:
    """Return E ψ after T rounds without noise, and what a unit of a round's noise variance adds.

    The variance of a round is Σ (n_i/n)² v_i: nothing else of who takes part matters
    (:mod:`asyncdp_sim.theory.moments.synchronous`).

    Parameters
    ----------
    course : Course
    schedule : Schedule
        With ``sizes`` (T, R), a column for each choice of the step.

    Returns
    -------
    tuple of array (R,)
        Infinite where learning diverges, or first steps are so long that deviations grow before
        they shrink and the digits of their average are lost.
    """
    square = np.square(course.start - course.optimum) + course.scatter
    weight = course.hessian / course.least

    def free(left: Array) -> Array:
        return np.square(left[..., 0]) @ (square * weight)

    def gain(added: Array) -> Array:
        return added[..., 0, 0] @ weight

    each = Schedule(schedule.sizes[..., None], schedule.kept)  # directions on their own
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        most = np.stack([np.full(schedule.sizes.shape[1], weight @ square), 0 * schedule.sizes[0]])
        for left in descend(course.hessian[:, None], course.pattern[:, None, None], each):
            most = np.maximum(most, np.stack([free(left.start), gain(left.noise)]))
        quiet, loud = free(left.judged_start), gain(left.judged_noise)
        stable = np.isfinite(quiet) & np.isfinite(loud)
        if schedule.kept is not None:
            stable &= (np.sqrt(quiet) > LOST * np.sqrt(most[0])) & (loud > LOST * most[1])
    return np.where(stable, quiet, np.inf), np.where(stable, loud, np.inf)
