"""Gossip with one learner (Async, Algorithm 1) or on any graph, and averaging.

Averaging puts a noisy vector of every owner in once: one step of private gradient descent on f,
spread over a graph; of the mean of records where the loss is squared and rows are 1 (noise then
gossip: Cyffers, Even, Bellet and Massoulié 2022, "Muffliato", Algorithm 1, over the pairwise
meetings of Boyd, Ghosh, Prabhakar and Shah 2006).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Positive, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms.central import start
from asyncdp_sim.learning.algorithms.kind import AlgorithmSpec, GossipKind, Initial, Selection
from asyncdp_sim.learning.algorithms.steps import (
    Algorithm,
    AnswerBatch,
    Setting,
    owners_column,
    project,
    rows_column,
)


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
        """The least bound of all rows: a model within it is projected in no row."""
        return np.inf if self.theta_max is None else float(np.min(self.theta_max))

    @override
    def init(self, replicates: Sequence[Scope]) -> GossipState:
        shape = (self.n_owners + 1, self.n_features)
        models = start(self.initial, replicates, self.theta_max, *shape)
        clipped = np.zeros(len(replicates), dtype=np.int64)
        return GossipState(models[:, 0].copy(), models[:, 1:].copy(), clipped)

    @override
    def query(self, state: GossipState, batch: AnswerBatch) -> Array:
        copies = state.copies.reshape(-1, self.n_features)  # one index takes rows quicker than two
        points = copies.take(batch.replicates * self.n_owners + batch.owners, axis=0)
        points += state.central[batch.index]
        points *= 0.5
        return points

    @override
    def central(self, state: GossipState, batch: AnswerBatch) -> Array:
        return state.central[batch.replicates]

    @override
    def apply(self, state: GossipState, batch: AnswerBatch, points: Array, answers: Array) -> None:
        answers *= owners_column(self.step, batch)  # every row has an answer
        moved = np.empty((2, *points.shape))
        copies, central = moved  # views: both are written in place, then projected together
        np.multiply(owners_column(self.shrink_copy, batch), points, out=copies)
        copies -= answers
        np.multiply(self.shrink_central, points, out=central)
        size = np.abs(moved)
        if not size.max() <= self._least_bound:
            bound = np.inf if self.theta_max is None else self.theta_max
            state.clipped += (size > bound).any(axis=(0, 2))  # also where another number is NaN
            np.clip(moved, -bound, bound, out=moved)
        state.copies[batch.replicates, batch.owners] = copies
        state.central = central


class AsyncGossip(GossipKind):
    """Asynchronous private learning (Async, Algorithm 1)."""

    updates_of = ("answer",)
    one_model = False
    looks_at_models = True
    obfuscates = False
    one_on_one = trait(lambda self: self)
    needs_shares = trait(lambda self: self.selection == "inverse-rate")
    treats_updates_alike = True

    kind: Literal["async-gossip"] = "async-gossip"
    central_step: Literal["proof", "text"] = "proof"
    initial: Initial = "zeros"
    selection: Selection = "uniform"
    apply_at: Literal["current", "as-read"] = "current"

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
            shrink_copy=shrink_copy,
            shrink_central=1 - central * sigma,
            step=step,
            theta_max=setting.theta_max,
            initial=self.initial,
            apply_at=self.apply_at,
        )


def _judged(models: Array, node: int | None) -> Array:
    """Return the models (R, p) of a node, or the means over all nodes if it is None."""
    if node is not None:
        return models[:, node].copy()
    # Summed node by node: how ``sum`` groups its terms may change with R.
    return np.asarray(np.add.accumulate(models, axis=1)[:, -1] / models.shape[1])


@dataclass(eq=False)
class GossipGraphState:
    """The nodes' models, with a leading replicate axis; advanced in place.

    Attributes
    ----------
    models : array (R, M, p)
        θ of every node, in order of their numbers.
    clipped : array of int (R,)
        Updates in which the projection onto Θ changed a model.
    judged : int or None
        The place of the model that is judged; None is the mean of all.
    moves : list
        This update's replicates, nodes (by place) and their new models.
    """

    models: Array
    clipped: Ints
    judged: int | None
    moves: list[tuple[Ints, Ints, Array]] = field(default_factory=list)

    @property
    def central(self) -> Array:
        """The model that is judged, shape (R, p)."""
        return _judged(self.models, self.judged)


@dataclass(frozen=True, eq=False, kw_only=True)
class GossipGraphSteps(Algorithm):
    """Gossip with its numbers filled in.

    When the edge between nodes i and j wakes, with θ̄ = (θ_i + θ_j)/2 and Q_i the owner's answer
    to it, a node that holds data and a learner, which holds none, take

        θ_i ← Π_Θ[θ̄ − (ρ/(T²σπ_i)) (γ_i σθ̄ + (n_i/n) Q_i)],  θ_L ← Π_Θ[θ̄ − (ρ/(T²σ)) γ_L σθ̄],

    π_i being node i's share of the wake-ups (1 for a learner), so that a node's steps follow the
    gradient of its part γ_i g + (n_i/n) f_i of f at the same pace, however often it wakes;
    Σ γ = 1. With a learner γ_L = 1/2 and γ_i = 1/(2N), which is Algorithm 1 of Async with
    the step of its proof (α_L = α_i/N, η = 1/(2N)); without, γ_i = 1/N.

    Attributes
    ----------
    n_nodes, n_features : int
        M, p.
    shrink : array (N,)
        1 − ργ_i/(T²π_i).
    shrink_learner : float or None
        1 − ρ/(2T²); None without a learner.
    step : array (N,)
        (ρ/(T²σπ_i)) n_i/n.
    theta_max : float or None
        The box Θ.
    initial : str
        Where all models start.
    judged : int or None
        The place of the model that is judged; None is the mean of all.
    """

    by_row: ClassVar[tuple[str, ...]] = ("shrink", "shrink_learner", "step", "theta_max")
    answers_per_update = None  # one of an owner and a learner, two of two owners
    apply_at = "as-read"  # nodes that are busy with each other do not change

    n_nodes: int
    n_features: int
    shrink: Array
    shrink_learner: float | Array | None
    step: Array
    theta_max: float | Array | None
    initial: Initial
    judged: int | None

    @override
    def init(self, replicates: Sequence[Scope]) -> GossipGraphState:
        shape = (self.n_nodes, self.n_features)
        models = start(self.initial, replicates, self.theta_max, *shape)
        clipped = np.zeros(len(replicates), dtype=np.int64)
        return GossipGraphState(models, clipped, self.judged)

    @override
    def query(self, state: GossipGraphState, batch: AnswerBatch) -> Array:
        rows = batch.replicates
        points: Array = state.models[rows, self._places(batch)]
        points += state.models[rows, self._peers(batch)]
        points *= 0.5
        return points

    @override
    def central(self, state: GossipGraphState, batch: AnswerBatch) -> Array:
        return np.asarray(state.central[batch.replicates])

    @override
    def apply(
        self, state: GossipGraphState, batch: AnswerBatch, points: Array, answers: Array
    ) -> None:
        rows = batch.replicates  # both nodes' steps are taken at the update
        answers *= owners_column(self.step, batch)
        moved = owners_column(self.shrink, batch) * points - answers
        state.moves.append((rows, self._places(batch), moved))
        if self.shrink_learner is not None:
            moved = rows_column(self.shrink_learner, rows) * points
            state.moves.append((rows, self._peers(batch), moved))

    @override
    def update(self, state: GossipGraphState, rows: Ints | None = None) -> None:
        outside = np.zeros(len(state.clipped), dtype=np.bool_)
        for replicates, nodes, models in state.moves:
            bound = None if self.theta_max is None else rows_column(self.theta_max, replicates)
            beyond = project(models, bound)
            if beyond is not None:
                outside[replicates] |= beyond
            state.models[replicates, nodes] = models
        state.clipped += outside
        state.moves = []

    def _places(self, batch: AnswerBatch) -> Ints:
        """Return the places of the owners' models, from 0."""
        return batch.owners if self.shrink_learner is None else batch.owners + 1

    def _peers(self, batch: AnswerBatch) -> Ints:
        """Return the places of their peers' models, from 0."""
        if batch.peers is None:
            raise ValueError("gossip needs to know whose models are averaged")
        return batch.peers if self.shrink_learner is not None else batch.peers - 1


class GossipGraph(GossipKind):
    """Private learning by gossip on the graph of the protocol."""

    updates_of = ("pair",)
    one_model = False
    looks_at_models = True
    obfuscates = False
    answers_per_update = None  # one or two, as the edge has it
    treats_updates_alike = True

    kind: Literal["gossip-graph"] = "gossip-graph"
    rho: Positive | None = None
    step: Positive | None = None
    initial: Initial = "zeros"
    judged: Literal["central", "owner"] = "central"

    @override
    def steps(self, setting: Setting) -> GossipGraphSteps:
        protocol, n_owners = setting.protocol, setting.n_owners
        graph = protocol.graph
        often = np.zeros(n_owners + 1)
        shares = protocol.edge_shares(n_owners)
        for (a, b), share in zip(graph.edges(n_owners), shares, strict=True):
            often[a] += share
            often[b] += share
        pi = often[1:]
        rate = self.rho_of(n_owners, setting.horizon, setting.sigma) / setting.horizon**2
        first = 1 if graph.learner else 0  # the place of the first owner
        central = 0 if graph.learner else None
        gamma = 1 / (2 * n_owners) if graph.learner else 1 / n_owners
        return GossipGraphSteps(
            n_nodes=len(graph.nodes(n_owners)),
            n_features=setting.n_features,
            shrink=1 - rate * gamma / pi,
            shrink_learner=1 - rate / 2 if graph.learner else None,
            step=rate / setting.sigma * setting.weights / pi,
            theta_max=setting.theta_max,
            initial=self.initial,
            judged=first if self.judged == "owner" else central,
        )


@dataclass(eq=False)
class AveragingState:
    """The nodes' vectors, with a leading replicate axis; advanced in place.

    Attributes
    ----------
    vectors : array (R, M, p)
        The vector of every node, in order of their numbers; owners that have not met anybody yet,
        and a learner, are at θ_0 − ησθ_0.
    put_in : array of bool (R, M)
        Whether the node's own noisy answer is in its vector.
    clipped : array of int (R,)
        Updates in which a mean of two vectors was outside Θ.
    judged : int or None
        The place of the node whose model is judged; None is the mean of all vectors.
    theta_max : float or None
        The box Θ, onto which the model that is judged is projected.
    met : list
        This update's replicates, and the places of the two nodes that met.
    """

    vectors: Array
    put_in: Bools
    clipped: Ints
    judged: int | None
    theta_max: float | Array | None
    met: list[tuple[Ints, Ints, Ints]] = field(default_factory=list)

    @property
    def central(self) -> Array:
        """The model that is judged, shape (R, p)."""
        model, bound = _judged(self.vectors, self.judged), self.theta_max
        return model if bound is None else np.clip(model, -bound, bound, out=model)


@dataclass(frozen=True, eq=False, kw_only=True)
class AveragingSteps(Algorithm):
    """Averaging with its numbers filled in.

    Before its first meeting owner i makes its vector

        x_i = θ_0 − η (σθ_0 + (M n_i/n) Q_i),

    with Q_i its noisy mean record gradient at the public θ_0, drawn once; of two nodes i and j
    that meet, each takes (x_i + x_j)/2 if it receives the other's vector, and else keeps its own.
    Meetings where nothing is lost keep the mean over the M nodes, which is, once all owners have
    met somebody, θ_0 − η(σθ_0 + Σ (n_i/n) Q_i): a step of private gradient descent.
    A learner holds no data, and starts at θ_0 − ησθ_0. No vector is projected onto Θ, so that all
    are linear in the noise; only the model that is judged is projected.

    Attributes
    ----------
    n_nodes, n_features : int
        M, p.
    start : float
        Each coordinate of θ_0, in Θ.
    begin : float
        Each coordinate of θ_0 − ησθ_0.
    step : array (N,)
        ηM n_i/n.
    theta_max : float or None
        The box Θ.
    learner : bool
        Whether the first node is a learner.
    judged : int or None
        The place of the node that is judged; None is the mean of all.
    """

    by_row: ClassVar[tuple[str, ...]] = ("start", "begin", "step", "theta_max")
    answers_per_update = None  # one of an owner and a learner, two of two owners
    apply_at = "as-read"
    answers_once = True

    n_nodes: int
    n_features: int
    start: float | Array
    begin: float | Array
    step: Array
    theta_max: float | Array | None
    learner: bool
    judged: int | None

    @override
    def init(self, replicates: Sequence[Scope]) -> AveragingState:
        rows = len(replicates)
        begin = np.reshape(self.begin, (-1, 1, 1))
        vectors = np.full((rows, self.n_nodes, self.n_features), begin)
        put_in = np.zeros((rows, self.n_nodes), dtype=np.bool_)
        clipped = np.zeros(rows, dtype=np.int64)
        return AveragingState(vectors, put_in, clipped, self.judged, self.theta_max)

    @override
    def query(self, state: AveragingState, batch: AnswerBatch) -> Array:
        start = rows_column(self.start, batch.replicates)
        return np.full((len(batch.owners), self.n_features), start)

    @override
    def apply(
        self, state: AveragingState, batch: AnswerBatch, points: Array, answers: Array
    ) -> None:
        if batch.peers is None:
            raise ValueError("averaging needs the partner of each owner")
        self.put_in(state, batch, answers)
        peers = batch.peers - (not self.learner)  # nodes count from 0 with a learner, else from 1
        state.met.append((batch.replicates, batch.owners + self.learner, peers))

    @override
    def partners(self, state: AveragingState, batch: AnswerBatch) -> AnswerBatch | None:
        if self.learner or batch.peers is None:
            return None
        rows, listeners = batch.replicates, batch.peers - 1
        new = ~state.put_in[rows, listeners]
        return AnswerBatch(listeners[new], rows=rows[new]) if new.any() else None

    @override
    def put_in(self, state: AveragingState, batch: AnswerBatch, answers: Array) -> None:
        rows, places = batch.replicates, batch.owners + self.learner
        new = ~state.put_in[rows, places]
        moved = rows_column(self.begin, rows) - owners_column(self.step, batch) * answers
        state.vectors[rows[new], places[new]] = moved[new]
        state.put_in[rows, places] = True

    @override
    def update(self, state: AveragingState, rows: Ints | None = None) -> None:
        outside = np.zeros(len(state.clipped), dtype=np.bool_)
        means = [
            (state.vectors[replicates, places] + state.vectors[replicates, peers]) / 2
            for replicates, places, peers in state.met
        ]
        for (replicates, places, peers), mean in zip(state.met, means, strict=True):
            state.vectors[replicates, peers] = mean  # receivers; or an owner, from a learner
            if self.learner:
                state.vectors[replicates, places] = mean
            if self.theta_max is not None:
                bound = rows_column(self.theta_max, replicates)
                outside[replicates] |= (np.abs(mean).max(axis=1, keepdims=True) > bound)[:, 0]
        state.clipped += outside
        state.met = []


class Averaging(AlgorithmSpec):
    """Private averaging of one noisy gradient per owner, by gossip on the graph of the protocol."""

    updates_of = ("pair",)
    one_model = False
    looks_at_models = False  # gradients are taken at the start, whatever the vectors are
    obfuscates = False
    answers_once = True
    averages_once = True
    averages_alone = True
    answers_per_update = None  # one or two, as the edge has it

    kind: Literal["averaging"] = "averaging"
    step: Positive
    initial: Literal["zeros", "ones"] = "zeros"
    judged: Literal["central", "owner"] = "central"

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        return self.repeated_answer_faults(scenario)

    @override
    def steps(self, setting: Setting) -> AveragingSteps:
        protocol, n_owners = setting.protocol, setting.n_owners
        graph = protocol.graph
        n_nodes = len(graph.nodes(n_owners))
        most = np.inf if setting.theta_max is None else setting.theta_max
        start = 0.0 if self.initial == "zeros" else min(1.0, most)  # gradients' bounds hold in Θ
        first = 1 if graph.learner else 0
        return AveragingSteps(
            n_nodes=n_nodes,
            n_features=setting.n_features,
            start=start,
            begin=start - self.step * setting.sigma * start,
            step=self.step * n_nodes * setting.weights,
            theta_max=setting.theta_max,
            learner=graph.learner,
            judged=first if self.judged == "owner" else None,
        )
