"""Asynchronous learning on quadratic losses, seen as a random affine map of all models.

The numbers that :mod:`~analysis.exact.per_update` and :mod:`~analysis.exact.turns` need.
"""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.theory.formulas import refused
from asyncdp_sim.theory.formulas.convergence import CentralStep


@dataclass(frozen=True, eq=False)
class GossipMap:
    """One update of Algorithm 1 (Async), in deviations u = θ − θ* from the optimum.

    With C_i = X_iᵀX_i/n_i, r_i = X_iᵀy_i/n_i, H = Σ (n_i/n) C_i + (σ/2) I, θ* = H⁻¹ Σ (n_i/n) r_i,
    an update with owner i replaces, where ū = (u_L + u_i)/2 and w is the answer's noise,

        u_L by m ū + a,    u_i by M_i ū + e_i − s_i w,    and leaves all others as they are;

        s_i = (Nρ/(T²σ)) n_i/n,  M_i = (1 − ρ/(2T²)) I − 2 s_i C_i,  e_i = M_i θ* − θ* + 2 s_i r_i,
        (both s_i and ρ/(2T²) in M_i divided by Nπ_i where selection is "inverse-rate"),
        m = 1 − βσ,  a = (m − 1) θ*,  β = ρ/(2T²σ) ("proof") or (N−1)ρ/(N T²σ) ("text").

    Assumes the loss (y − θᵀx)², ∇g = σθ, no clipping of gradients, a projection that never acts,
    answers at staleness 0, and owners i_k independent with probabilities π_i.

    Attributes
    ----------
    optimum : array (p,)
        θ*.
    hessian : array (p, p)
        H; f(θ) − f(θ*) = uᵀHu.
    central_factor : float
        m.
    central_drift : array (p,)
        a.
    factor : array (N, p, p)
        M_i.
    drift : array (N, p)
        e_i.
    step : array (N,)
        s_i.
    probability : array (N,)
        π_i.
    updates : int
        T.
    """

    optimum: Array
    hessian: Array
    central_factor: float
    central_drift: Array
    factor: Array
    drift: Array
    step: Array
    probability: Array
    updates: int

    @property
    def n_owners(self) -> int:
        """Number of owners N."""
        return len(self.step)

    @property
    def n_features(self) -> int:
        """Number of features p."""
        return len(self.optimum)


def gossip_map_of(
    objective: Quadratic,
    *,
    rho: float,
    updates: int,
    central_step: CentralStep = "proof",
    probability: Array | None = None,
    inverse_rate: bool = False,
) -> GossipMap:
    """Fill in the numbers of :class:`GossipMap`.

    Parameters
    ----------
    objective : Quadratic
        With C_i, r_i, n_i/n and σ > 0.
    rho : float
        ρ > 0.
    updates : int
        T ≥ 1, the horizon that the step is made for and the number of updates.
    central_step : str
        "proof" or "text".
    probability : array (N,), optional
        π_i; uniform by default.
    inverse_rate : bool
        Whether the step is divided by Nπ_i, so that owners that come unequally often count alike;
        else it keeps its factor N whatever π is (as published).

    Raises
    ------
    SpecError
        If the unconstrained θ* is not inside Θ, so that the projection acts.
    """
    share, square, inner = objective.weights, objective.gram, objective.moment
    n_owners, n_features = inner.shape
    identity, rate = np.eye(n_features), rho / updates**2
    hessian = np.tensordot(share, square, 1) + objective.sigma / 2 * identity
    optimum: Array = np.linalg.solve(hessian, share @ inner).astype(float)
    bound = objective.theta_max
    if bound is not None and np.max(np.abs(optimum)) >= bound:
        raise refused("theta_max", bound, "a box that holds the optimum in its interior, or none")
    chance = np.full(n_owners, 1 / n_owners) if probability is None else probability
    often = n_owners * chance if inverse_rate else np.ones(n_owners)
    step = n_owners * rate / objective.sigma * share / often
    kept = rate / 2 / often
    factor = (1 - kept)[:, None, None] * identity - 2 * step[:, None, None] * square
    shrink = rate / 2 if central_step == "proof" else (n_owners - 1) / n_owners * rate
    return GossipMap(
        optimum=optimum,
        hessian=hessian,
        central_factor=1 - shrink,
        central_drift=-shrink * optimum,
        factor=factor,
        # e_i = −(ρ/(2T²)) θ* − 2 s_i (C_i θ* − r_i), without the cancellation of M_i θ* − θ*
        drift=-kept[:, None] * optimum - 2 * step[:, None] * (square @ optimum - inner),
        step=step,
        probability=chance,
        updates=updates,
    )
