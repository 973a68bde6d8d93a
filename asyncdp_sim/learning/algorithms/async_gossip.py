"""Asynchronous learning with gossip-style central and local updates (Async, Algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.spec import Positive, Spec
from asyncdp_sim.streams import Scope

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(eq=False)
class GossipState:
    """The learner's models, with a leading replicate axis; advanced in place.

    Attributes
    ----------
    central : array (R, p)
        θ_L.
    copies : array (R, N, p)
        θ_1 … θ_N.
    clipped : array of int (R,)
        Updates in which the projection onto Θ changed a model.
    """

    central: Array
    copies: Array
    clipped: Indices


@dataclass(frozen=True, eq=False)
class GossipSteps:
    """Algorithm 1 with its numbers filled in.

    With θ̄ = (θ_L + θ_i)/2 and Q the owner's answer to the query θ̄ (Async, line 7):

    θ_i ← Π_Θ[θ̄ − (Nρ/(T²σ)) (σθ̄/(2N) + (n_i/n) Q)],  θ_L ← Π_Θ[θ̄ − β σθ̄].

    Attributes
    ----------
    n_owners, n_features : int
        N, p.
    shrink_copy : float or array (N,)
        1 − ρ/(2T²), or 1 − ρ/(2T² Nπ_i) where the step is divided by Nπ_i.
    shrink_central : float
        1 − βσ.
    step : array (N,)
        (Nρ/(T²σ)) n_i/n, or (ρ/(T²σπ_i)) n_i/n.
    theta_max : float or None
        The box Θ.
    initial : str
        Where all models start.
    apply_at : str
        Whether the step is taken from (θ_L + θ_i)/2 as it is now, or as it was read.
    """

    n_owners: int
    n_features: int
    shrink_copy: float | Array
    shrink_central: float
    step: Array
    theta_max: float | None
    initial: Literal["zeros", "ones", "uniform"]
    apply_at: Literal["current", "as-read"] = "current"

    @property
    def answers_per_update(self) -> Literal[1]:
        """Every answer is an update."""
        return 1

    def init(self, replicates: Sequence[Scope]) -> GossipState:
        """Return the models at k = 0, one row per replicate."""
        shape = (len(replicates), self.n_owners + 1, self.n_features)
        if self.initial == "uniform":
            draws = [scope.generator("initial").random(shape[1:]) for scope in replicates]
            models = np.stack(draws)
        else:
            models = np.full(shape, 0.0 if self.initial == "zeros" else 1.0)
        clipped = np.zeros(len(replicates), dtype=np.int64)
        return GossipState(models[:, 0].copy(), models[:, 1:].copy(), clipped)

    def query(self, state: GossipState, owners: Indices, rows: Indices | None = None) -> Array:
        """Return θ̄ for each replicate's owner (from 0), shape (R, p).

        ``rows`` names the replicates that are asked for; all of them by default.
        """
        if rows is None:
            points = state.copies[np.arange(len(owners)), owners]
            points += state.central
        else:
            points = state.copies[rows, owners]
            points += state.central[rows]
        points *= 0.5
        return points

    def central(self, state: GossipState, owners: Indices, rows: Indices | None = None) -> Array:
        """Return θ_L for each replicate in ``rows``, shape (R, p), as :meth:`query` does θ̄."""
        return state.central[np.arange(len(owners)) if rows is None else rows]

    def apply(
        self,
        state: GossipState,
        owners: Indices,
        points: Array,
        answers: Array,
        staleness: Indices | None = None,  # noqa: ARG002
    ) -> None:
        """Advance each replicate by one update from the answers at ``points``, however stale."""
        answers *= self.step[owners, None]
        shrink = self.shrink_copy
        copies = (shrink if isinstance(shrink, float) else shrink[owners, None]) * points
        copies -= answers
        central = self.shrink_central * points
        if self.theta_max is not None:
            bound = self.theta_max
            outside = np.abs(copies).max(axis=1) > bound
            outside |= np.abs(central).max(axis=1) > bound
            if outside.any():
                state.clipped += outside
                np.clip(copies, -bound, bound, out=copies)
                np.clip(central, -bound, bound, out=central)
        state.copies[np.arange(len(owners)), owners] = copies
        state.central = central


class AsyncGossip(Spec):
    """Asynchronous private learning (Async, Algorithm 1).

    Attributes
    ----------
    rho : float
        ρ > 0; the step is Nρ/(T²σ). The paper leaves it open.
    central_step : str
        β = ρ/(2T²σ) ("proof": what Theorem 2's proof needs and the published code does) or
        (N−1)ρ/(N T²σ) ("text": line 7 as printed).
    initial : str
        All models start at 0 ("zeros", the text), at 1 ("ones"), or each coordinate of each model
        is drawn from U[0, 1) ("uniform").
    selection : str
        "uniform", as published: the step's factor N takes every owner to be equally likely, and
        where owners are not, another objective is optimised. "inverse-rate": the owner's step is
        divided by Nπ_i, with π_i its declared share of the updates, which removes that bias.
    apply_at : str
        The step is taken from (θ_L + θ_i)/2 as it is when the answer is applied ("current"), or
        as it was when the query was sent ("as-read"). The two coincide at staleness 0.
    """

    kind: Literal["async-gossip"] = "async-gossip"
    rho: Positive
    central_step: Literal["proof", "text"] = "proof"
    initial: Literal["zeros", "ones", "uniform"] = "zeros"
    selection: Literal["uniform", "inverse-rate"] = "uniform"
    apply_at: Literal["current", "as-read"] = "current"

    def faults(self, protocol: Any) -> list[Fault]:  # noqa: ARG002
        """Return nothing: it runs on every protocol that there is."""
        return []

    @property
    def answers_per_update(self) -> Literal[1]:
        """Every answer is an update."""
        return 1

    def steps(
        self,
        weights: Array,
        n_features: int,
        horizon: int,
        sigma: float,
        theta_max: float | None,
        shares: Array | None = None,
    ) -> GossipSteps:
        """Fill in the numbers.

        Parameters
        ----------
        weights : array (N,)
            n_i/n.
        n_features, horizon : int
            p and T.
        sigma : float
            σ.
        theta_max : float or None
            The box Θ.
        shares : array (N,), optional
            π_i, needed for selection "inverse-rate".

        Raises
        ------
        SpecError
            If the shares are needed and not given.
        """
        n_owners = len(weights)
        rate = self.rho / (horizon**2 * sigma)
        proof = self.central_step == "proof"
        central = rate / 2 if proof else (n_owners - 1) * rate / n_owners
        shrink_copy: float | Array = 1 - rate * sigma / 2
        step = n_owners * rate * weights
        if self.selection == "inverse-rate":
            if shares is None:
                allowed = "it needs each owner's share of the updates, which has no formula here"
                raise SpecError([Fault("algorithm.selection", "inverse-rate", allowed)])
            often = n_owners * shares
            shrink_copy, step = 1 - rate * sigma / 2 / often, step / often
        return GossipSteps(
            n_owners=n_owners,
            n_features=n_features,
            shrink_copy=shrink_copy,
            shrink_central=1 - central * sigma,
            step=step,
            theta_max=theta_max,
            initial=self.initial,
            apply_at=self.apply_at,
        )
