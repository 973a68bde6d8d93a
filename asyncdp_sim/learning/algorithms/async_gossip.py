"""Asynchronous learning with gossip-style central and local updates (Async, Algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.specification import trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms.central import start
from asyncdp_sim.learning.algorithms.kind import GossipKind
from asyncdp_sim.learning.algorithms.moments import Initial, OneOnOne, Selection
from asyncdp_sim.learning.algorithms.steps import Algorithm, AnswerBatch, Setting, of_owners, shared


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
    clipped: Ints


@dataclass(frozen=True, eq=False)
class GossipSteps(Algorithm):
    """Algorithm 1 with its numbers filled in.

    With θ̄ = (θ_L + θ_i)/2 and Q the owner's answer to the query θ̄ (Async, line 7):

    θ_i ← Π_Θ[θ̄ − (Nρ/(T²σ)) (σθ̄/(2N) + (n_i/n) Q)],  θ_L ← Π_Θ[θ̄ − β σθ̄].

    Attributes
    ----------
    n_owners, n_features : int
        N, p.
    shrink_copy : array (N,)
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

    by_row: ClassVar[tuple[str, ...]] = ("shrink_copy", "shrink_central", "step", "theta_max")
    answers_per_update = 1

    n_owners: int
    n_features: int
    shrink_copy: Array
    shrink_central: float | Array
    step: Array
    theta_max: float | Array | None
    initial: Literal["zeros", "ones", "uniform"]
    apply_at: Literal["current", "as-read"] = "current"

    @cached_property
    def _least_bound(self) -> float:
        """The least bound of all rows: what is within it is projected in none."""
        return np.inf if self.theta_max is None else float(np.min(self.theta_max))

    @override
    def init(self, replicates: Sequence[Scope]) -> GossipState:
        shape = (self.n_owners + 1, self.n_features)
        models = start(self.initial, replicates, self.theta_max, *shape)
        clipped = np.zeros(len(replicates), dtype=np.int64)
        return GossipState(models[:, 0].copy(), models[:, 1:].copy(), clipped)

    @override
    def query(self, state: GossipState, turn: AnswerBatch) -> Array:
        copies = state.copies.reshape(-1, self.n_features)  # one index takes rows quicker than two
        points = copies.take(turn.replicates * self.n_owners + turn.owners, axis=0)
        points += state.central[turn.index]
        points *= 0.5
        return points

    @override
    def central(self, state: GossipState, turn: AnswerBatch) -> Array:
        return state.central[turn.replicates]

    @override
    def apply(self, state: GossipState, turn: AnswerBatch, points: Array, answers: Array) -> None:
        answers *= of_owners(self.step, turn)  # every row has an answer
        moved = np.empty((2, *points.shape))
        copies, central = moved
        np.multiply(of_owners(self.shrink_copy, turn), points, out=copies)
        copies -= answers
        np.multiply(self.shrink_central, points, out=central)
        size = np.abs(moved)
        if not size.max() <= self._least_bound:
            bound = np.inf if self.theta_max is None else self.theta_max
            state.clipped += (size > bound).any(axis=(0, 2))  # even beside what is no number
            np.clip(moved, -bound, bound, out=moved)
        state.copies[turn.replicates, turn.owners] = copies
        state.central = central


class AsyncGossip(GossipKind):
    """Asynchronous private learning (Async, Algorithm 1)."""

    updates_of = ("answer",)
    one_model = False
    looks_at_models = True
    obfuscates = False
    needs_shares = trait(lambda self: self.selection == "inverse-rate")
    treats_updates_alike = True

    kind: Literal["async-gossip"] = "async-gossip"
    central_step: Literal["proof", "text"] = "proof"
    initial: Initial = "zeros"
    selection: Selection = "uniform"
    apply_at: Literal["current", "as-read"] = "current"

    @property
    @override
    def one_on_one(self) -> OneOnOne:
        return OneOnOne(self.rho_of, self.central_step, self.initial, self.needs_shares)

    @override
    def steps(self, setting: Setting) -> GossipSteps:
        n_owners, sigma = setting.n_owners, setting.sigma
        rate = self.rho_of(n_owners, setting.horizon, sigma) / (setting.horizon**2 * sigma)
        proof = self.central_step == "proof"
        central = rate / 2 if proof else (n_owners - 1) * rate / n_owners
        shrink_copy = np.full(n_owners, 1 - rate * sigma / 2)
        step = n_owners * rate * setting.weights
        often = setting.overcounted(self.selection)
        if often is not None:
            shrink_copy, step = 1 - rate * sigma / 2 / often, step / often
        return GossipSteps(
            n_owners=n_owners,
            n_features=setting.n_features,
            shrink_copy=shared(shrink_copy),
            shrink_central=1 - central * sigma,
            step=shared(step),
            theta_max=setting.theta_max,
            initial=self.initial,
            apply_at=self.apply_at,
        )
