"""The constants that the theorems speak of."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.learning.objectives.objective import Objective, Records


@dataclass(frozen=True)
class Constants:
    """Constants of Assumptions 1 and 2 of Async.

    Attributes
    ----------
    sigma : float
        Strong convexity of g; f itself need not be convex.
    smoothness : float or None
        Largest eigenvalue of the second derivative of f, or an upper bound of it: 2λ_max(H) for
        the ridge loss, σ + sup φ'' λ_max(XᵀX/n) for other linear models; None where f is not
        smooth, and for the neural network, of which no bound is claimed.
    xi : float or None
        Ξ = sup over Θ and the owners' records of ‖∇ℓ‖ in the records' norm: max 2(|y| +
        θ_max‖x‖₁)‖x‖ for the ridge loss, max sup|φ'|‖x‖ for a loss of bounded slope (1 for
        the logistic and the hinge loss, δ for Huber's), an upper bound for the neural network;
        None where it is infinite.
    xi_g : float or None
        Ξ_g = sup over Θ of ‖∇g‖₂ = σ θ_max √p; None where Θ is the whole space.
    """

    sigma: float
    smoothness: float | None
    xi: float | None
    xi_g: float | None


def constants(objective: Objective, records: Records) -> Constants:
    """Return the constants of an objective and the records behind it."""
    bound = objective.theta_max
    xi_g = None
    if bound is not None:
        xi_g = objective.sigma * bound * float(np.sqrt(objective.n_features))
    return Constants(objective.sigma, objective.smoothness, records.gradient_bound(bound), xi_g)
