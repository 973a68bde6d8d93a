"""The judge of models: fitness, optimum and gradients, whatever the loss, and its constants."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from asyncdp_sim.core.arrays import Array, Indices
from asyncdp_sim.learning.objectives.rows import Records

if TYPE_CHECKING:  # it imports this module
    from asyncdp_sim.learning.objectives.quadratic import Quadratic


class Objective(Protocol):
    """f(θ) = (σ/2)‖θ‖² + (1/n) Σ_i Σ_{D_i} ℓ(θ; x, y) over Θ = {‖θ‖_∞ ≤ θ_max}."""

    @property
    def sigma(self) -> float:
        """σ > 0."""

    @property
    def theta_max(self) -> float | None:
        """θ_max; None is the whole space."""

    @property
    def records(self) -> Indices:
        """n_i, shape (N,)."""

    @property
    def weights(self) -> Array:
        """n_i/n, shape (N,)."""

    @property
    def n_owners(self) -> int:
        """N."""

    @property
    def n_features(self) -> int:
        """p, the coordinates of θ."""

    @property
    def smoothness(self) -> float | None:
        """Lipschitz constant of ∇f (an upper bound of it); None where f is not smooth."""

    @property
    def optimum(self) -> Array:
        """θ* = argmin of f over Θ, shape (p,); the best minimum found where f is not convex."""

    @property
    def least(self) -> float:
        """f(θ*) > 0."""

    @property
    def second_moments(self) -> "Quadratic | None":
        """The same over the rows that train, by owners' second moments; None if not quadratic."""

    @property
    def judge(self) -> "Quadratic | None":
        """Whose second moments f and θ* are of, where that is more rows than the owners'."""

    def excess(self, theta: Array) -> Array:
        """Return f(θ) − f(θ*) for points of shape (…, p), each by itself."""

    def gradient(self, owners: Indices, points: Array) -> Array:
        """Return owner i's mean record gradient, one owner (from 0) and point per row."""


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
