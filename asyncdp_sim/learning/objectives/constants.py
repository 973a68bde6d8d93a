"""The constants that the theorems speak of."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.learning.objectives.objective import Objective
from asyncdp_sim.learning.objectives.records import LinearRecords


@dataclass(frozen=True)
class Constants:
    """Constants of Assumptions 1 and 2 of Async.

    Attributes
    ----------
    sigma : float
        Strong convexity of g.
    smoothness : float or None
        Largest eigenvalue of the second derivative of f, or an upper bound of it: 2λ_max(H) for
        the ridge loss, σ + sup φ'' λ_max(XᵀX/n) in general; None where f is not smooth.
    xi : float or None
        Ξ = sup over Θ and the owners' records of ‖∇ℓ‖ in the records' norm: max 2(|y| +
        θ_max‖x‖₁)‖x‖ for the ridge loss, max sup|φ'|‖x‖ for a loss of bounded slope (1 for
        the logistic and the hinge loss, δ for Huber's); None where it is infinite.
    xi_g : float or None
        Ξ_g = sup over Θ of ‖∇g‖₂ = σ θ_max √p; None where Θ is the whole space.
    """

    sigma: float
    smoothness: float | None
    xi: float | None
    xi_g: float | None


def constants(objective: Objective, records: LinearRecords) -> Constants:
    """Return the constants of an objective and the records behind it."""
    bound, steepest = objective.theta_max, records.loss.steepest
    xi = xi_g = None
    if bound is not None:
        xi_g = objective.sigma * bound * float(np.sqrt(objective.n_features))
    if bound is not None or np.isfinite(steepest(np.inf, 0.0)):
        box = 0.0 if bound is None else bound  # a bounded slope does not depend on the box
        reach = [
            np.max(steepest(box * np.abs(x).sum(axis=1), np.abs(y)) * length)
            for x, y, length in zip(records.features, records.targets, records.lengths, strict=True)
        ]
        xi = float(max(reach))
    return Constants(objective.sigma, objective.smoothness, xi, xi_g)
