"""Exact expected ψ of any number of owners of one size, by powers of an 8 × 8 matrix."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.exact.many_groups import Course

Array = npt.NDArray[np.float64]


def one_size(
    course: Course, rho: Array, members: Array | npt.NDArray[np.int64]
) -> tuple[Array, Array]:
    """Return E ψ(θ_L,T) without noise, and what a unit of every answer's noise variance adds.

    In each of C's eigenvectors the moments of :meth:`Course.expected_psi` are, for k owners alike,
    1, v, E u_L, E u, E u_L², E u_L u, E u², E u u' (u, u' of two owners; v the noise variance),
    and an update is linear in them. The T-th power of its matrix takes log₂ T products. Budgets
    may differ: by symmetry only the mean of the owners' noise variances counts.

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
