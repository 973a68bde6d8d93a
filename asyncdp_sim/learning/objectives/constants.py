"""The constants that the theorems speak of, for the ridge objective."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.learning.objectives.quadratic import Quadratic
from asyncdp_sim.learning.objectives.records import RidgeRecords


@dataclass(frozen=True)
class Constants:
    """Constants of Assumptions 1 and 2 of Async.

    Attributes
    ----------
    sigma : float
        Strong convexity of g.
    smoothness : float
        Largest eigenvalue of the second derivative of f, 2 λ_max(H).
    xi : float or None
        Ξ = sup over Θ and the owners' records of ‖∇ℓ‖ in the records' norm,
        max 2(|y| + θ_max‖x‖₁)‖x‖; None (infinite) where Θ is the whole space.
    xi_g : float or None
        Ξ_g = sup over Θ of ‖∇g‖₂ = σ θ_max √p; None where Θ is the whole space.
    """

    sigma: float
    smoothness: float
    xi: float | None
    xi_g: float | None


def constants(objective: Quadratic, records: RidgeRecords) -> Constants:
    """Return the constants of an objective and the records behind it."""
    bound = objective.theta_max
    xi = xi_g = None
    if bound is not None:
        reach = [
            2 * np.max((np.abs(y) + bound * np.abs(x).sum(axis=1)) * length)
            for x, y, length in zip(records.features, records.targets, records.lengths, strict=True)
        ]
        xi = float(max(reach))
        xi_g = objective.sigma * bound * float(np.sqrt(objective.n_features))
    smoothness = 2 * float(np.linalg.eigvalsh(objective.hessian)[-1])
    return Constants(objective.sigma, smoothness, xi, xi_g)
