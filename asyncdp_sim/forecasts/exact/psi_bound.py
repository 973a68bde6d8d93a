"""The theorem's answer beside the exact one: a bound on the expected ψ that holds."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import SpecError
from asyncdp_sim.learning.algorithms import OneOnOne
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.reply import Noise
from asyncdp_sim.theory.bounds.async_smooth import quadratic_slopes, sharpened
from asyncdp_sim.theory.bounds.async_theorem2 import answer_noise, excess_bound, step_sizes

Array = npt.NDArray[np.float64]


def psi_bound(
    algorithm: OneOnOne, objective: Quadratic, noise: Noise, updates: int, chosen: Array
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
            n_owners,
            sigma,
            rho=algorithm.rho(n_owners, updates, sigma),
            updates=updates,
            central_step=algorithm.central_step,
            probability=chosen,
            inverse_rate=algorithm.inverse_rate,
        )
        found = sharpened(
            steps,
            answer_noise(objective.weights, noise.variance, objective.n_features),
            slopes=quadratic_slopes(
                objective.gram, objective.moment, objective.weights, objective.sigma
            ),
            start=(n_owners + 1) * apart,
        )
    except SpecError:
        return None
    return excess_bound(found.after(updates), objective.smoothness) / objective.least
