"""Expected ψ of owners of one size: one-on-one by powers of an 8 × 8 matrix, and in rounds."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.algorithms import Schedule
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.theory.formulas.arguments import positive
from asyncdp_sim.theory.moments.gossip_map import CentralStep
from asyncdp_sim.theory.moments.per_update import Initial, Shape
from asyncdp_sim.theory.moments.synchronous import LOST, descend, drawn

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Course:
    """Numbers that all groups of owners share; vectors are in C's eigenvectors.

    Attributes
    ----------
    values : array (p,)
        Eigenvalues of C.
    optimum : array (p,)
        θ*.
    start : array (p,)
        E θ_0.
    scatter : float
        Variance of each coordinate of each copy of θ_0.
    pattern : array (p,)
        Variance of noise of unit variance along each eigenvector: 1 ("vector"), or (vᵀ1)².
    sigma : float
        σ > 0.
    least : float
        f(θ*) > 0.
    central_step : str
        "proof" or "text".
    updates : int
        T.
    """

    values: Array
    optimum: Array
    start: Array
    scatter: float
    pattern: Array
    sigma: float
    least: float
    central_step: CentralStep
    updates: int

    @classmethod
    def of(
        cls,
        objective: Quadratic,
        *,
        updates: int,
        central_step: CentralStep = "proof",
        noise: Shape = "vector",
        initial: Initial = "zeros",
    ) -> "Course":
        """Fill in the numbers from an objective; C and r are taken pooled over its owners."""
        gram = np.einsum("i,ijk->jk", objective.weights, objective.gram)
        values, vectors = np.linalg.eigh(gram)
        ones = vectors.T @ np.ones(len(values))
        mean, scatter = drawn(initial)
        return cls(
            values=values,
            optimum=vectors.T @ objective.free_optimum,
            start=mean * ones,
            scatter=scatter,
            pattern=np.ones(len(values)) if noise == "vector" else ones**2,
            sigma=positive("sigma", objective.sigma),
            least=objective.least,
            central_step=central_step,
            updates=updates,
        )

    @property
    def hessian(self) -> Array:
        """Eigenvalues of H = C + (σ/2) I, shape (p,)."""
        return self.values + self.sigma / 2

    @property
    def per_record(self) -> float:
        """(s²/f*) tr(C H⁻¹): ψ that a sample of n_S records misses, over 1/n_S − 1/n.

        See :func:`~asyncdp_sim.forecasts.advice.who_profits.value_alone`.
        """
        error = self.least - self.sigma / 2 * float(self.optimum @ self.optimum)
        return error / self.least * float(np.sum(self.values / self.hessian))


def one_size(
    course: Course, rho: Array, members: Array | npt.NDArray[np.int64]
) -> tuple[Array, Array]:
    """Return E ψ(θ_L,T) without noise, and what a unit of every answer's noise variance adds.

    With the same second moments for all owners the recursion of
    :mod:`~asyncdp_sim.theory.moments.per_update` falls apart, in C's eigenvectors, into p
    recursions of numbers. For k owners alike these are 1, v, E u_L, E u, E u_L², E u_L u, E u²,
    E u u' (u, u' of two owners; v the noise variance), and an update is linear in them. The T-th
    power of its matrix takes log₂ T products. Budgets may differ: by symmetry only the mean of the
    owners' noise variances counts.

    Parameters
    ----------
    course : Course
    rho : array (B,)
        ρ > 0.
    members : array (B,)
        k ≥ 1.

    Returns
    -------
    tuple of array (B,)
        Infinite where learning diverges.
    """
    k, unit = np.asarray(members, dtype=float)[:, None], np.ones(len(course.values))
    rate = np.asarray(rho)[:, None] / course.updates**2
    m = 1 - (rate / 2 if course.central_step == "proof" else (k - 1) / k * rate) * unit
    step, chance = rate / course.sigma, 1 / k * unit
    big = 1 - rate / 2 - 2 * step * course.values  # M
    a, e = (m - 1) * course.optimum, (step * course.sigma - rate / 2) * course.optimum
    others = k - 1
    turn = np.zeros((*big.shape, 8, 8))
    turn[..., 0, 0] = turn[..., 1, 1] = 1

    def put(row: int, terms: dict[int, Array]) -> None:
        for column, value in terms.items():
            turn[..., row, column] += value

    put(2, {0: a, 2: m / 2, 3: m / 2})
    put(3, {0: chance * e, 2: chance * big / 2, 3: 1 - chance + chance * big / 2})
    square = np.array([1, 2, 1]) / 4  # (u_L + u)²/4
    for column, share in zip((4, 5, 6), square.tolist(), strict=True):
        put(4, {column: m**2 * share})
        put(5, {column: chance * m * big * share})
        put(6, {column: chance * big**2 * share})
    put(4, {0: a**2, 2: m * a, 3: m * a})
    mixed = chance * (m * e + a * big) / 2
    put(5, {0: chance * a * e, 2: mixed, 3: mixed + chance * others * a})
    put(5, {5: chance * others * m / 2, 7: chance * others * m / 2})
    put(6, {0: chance * e**2, 1: chance * step**2 * course.pattern})
    put(6, {2: chance * big * e, 3: chance * big * e, 6: 1 - chance})
    put(7, {3: 2 * chance * e, 5: chance * big, 7: 1 - 2 * chance + chance * big})

    u = course.start - course.optimum
    alone, shared = u**2 + course.scatter, u**2
    start = np.stack([unit, 0 * unit, u, u, alone, shared, alone, shared], -1)
    noise = np.eye(8)[1] * unit[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        power = np.linalg.matrix_power(turn, course.updates)
        weight = course.hessian / course.least
        free, gain = (
            np.einsum("bdj,dj,d->b", power[..., 4, :], each, weight) for each in (start, noise)
        )
    stable = np.isfinite(free) & np.isfinite(gain)
    return np.where(stable, free, np.inf), np.where(stable, gain, np.inf)


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
