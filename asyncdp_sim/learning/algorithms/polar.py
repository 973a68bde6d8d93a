"""POLAR-SGD's steps: clients obfuscate their gradients, servers step and agree in secret.

In iteration k = (w − 1)Δ + i + 1, step i = 0 … Δ − 1 of window w, client h has a gradient
g_h = (n_h/n) (Q_h + σu) at the point u that it read, so that Σ_h g_h is ∇f where all read the same
point and sample nothing. It uploads W[i, J] g_h + d[i, J] to each of its servers J, and

    x^J ← Π_X[x^J − α w^(−e) Σ_h (W[i, J] g_h + d[i, J])],

after the window x^J ← x̄ by secure consensus (POLAR, algorithms 1 and 2), or the mean over J and its
neighbours on a graph that is not complete (section V-A). Over a window the mean of
the servers follows (M/S) α w^(−e) ∇f (or Δ times that, if conditions hold at every step).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Count, NonNegative, Positive, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.validation import faults_of
from asyncdp_sim.learning.algorithms import obfuscation
from asyncdp_sim.learning.algorithms.central import start
from asyncdp_sim.learning.algorithms.kind import AlgorithmSpec, Initial
from asyncdp_sim.learning.algorithms.steps import (
    Algorithm,
    AnswerBatch,
    Setting,
    owners_column,
    power,
    project,
    rows_column,
)
from asyncdp_sim.network.graphs import Neighbours

WIDEST = 2.0**40
"""Largest M̄/M: beyond it the unit, the last place of M̄, would be coarse for M."""


@dataclass(eq=False)
class Iteration:
    """One iteration, until all servers have made its step.

    Attributes
    ----------
    uploads : array (R, C, |N_h|, p)
        The upload of each client to each of its servers; zero before it is sent.
    weights, added : array (R, C, |N_h|, 1 or p)
        W and d of this step.
    stepped : array (R, S, p)
        The servers' models after the step, before they agree, where a window ends.
    models : array (R, S, p)
        The servers' models after the iteration.
    agreed : set of int
        Servers that have averaged with their neighbours.
    clipped : array of bool (R,)
        Whether the projection onto X changed some server's model.
    """

    uploads: Array
    weights: Array
    added: Array
    stepped: Array
    models: Array
    clipped: Bools
    agreed: set[int] = field(default_factory=set)


@dataclass(eq=False)
class PolarState:
    """Models of all servers, which may have made unequal numbers of steps; advanced in place.

    Attributes
    ----------
    central : array (R, p)
        Mean over servers after the last update.
    servers : array (R, S, p)
        x^J after the steps that server J has made.
    clipped : array of int (R,)
        Updates in which the projection onto X changed some server's model.
    clients, masks : list of Generator
        R·C streams of perturbations, replicate by replicate, and R streams of the consensus.
    steps : list of int
        Steps that each server has made.
    answered : array of int (C, |N_h|)
        Answers of each client so far (for each of its servers, under "basic").
    k, window : int
        Updates made; the window whose perturbations are drawn, from 1.
    weights : array (R, C, Δ, |N_h|, 1 or p)
    added : array (R, C, Δ, |N_h|, p)
        W and d of the latest window that a client has begun.
    iterations : dict
        By k.
    """

    central: Array
    servers: Array
    clipped: Ints
    clients: list[np.random.Generator]
    masks: list[np.random.Generator]
    steps: list[int]
    answered: Ints
    k: int = 0
    window: int = 0
    weights: Array = field(default_factory=lambda: np.empty(0))
    added: Array = field(default_factory=lambda: np.empty(0))
    iterations: dict[int, Iteration] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class PolarSteps(Algorithm):
    """POLAR-SGD with its numbers filled in.

    Servers may step at different times (:meth:`advance_server`), or all at once with the update
    (:meth:`update`): what server J computes in its step k depends on its model after step k − 1
    and on its clients' uploads alone, and these on models after step k − 1. Uploads are summed in
    the order of clients, whenever they came, so that the bits do not depend on it either.

    Attributes
    ----------
    weights : array (C,)
        n_h/n.
    n_features : int
        p.
    sigma : float
        σ.
    theta_max : float
        X is the box of this half-width |X|.
    reached : array of int (C, |N_h|)
        N_h, the servers of each client, from 0.
    n_servers, window : int
        S and Δ.
    agreements : tuple
        The neighbours that average at the end of window w = 1, 2, …, used cyclically; None is all
        servers, by secure consensus.
    basic : bool
        Whether each answer is for the one server that was read, and not for all.
    rate, exponent : float
        α and e.
    total, bound, additive : float
        M, M̄ and Y.
    every_step, per_coordinate : bool
        See :func:`~asyncdp_sim.learning.algorithms.obfuscation.draw_weights`.
    initial : str
        Where all servers start.
    """

    by_row: ClassVar[tuple[str, ...]] = ("weights", "sigma", "rate", "exponent")
    answers_per_update = None  # the protocol says what an iteration is made of
    apply_at = "as-read"  # a server's model does not change before the step that an answer is for
    several_servers = True

    weights: Array
    n_features: int
    sigma: float | Array
    theta_max: float
    reached: Ints
    n_servers: int
    window: int
    basic: bool
    rate: float | Array
    exponent: float | Array
    total: float
    bound: float
    additive: float
    every_step: bool = False
    per_coordinate: bool = False
    initial: Initial = "zeros"
    agreements: tuple[Neighbours | None, ...] = (None,)

    @override
    def init(self, replicates: Sequence[Scope]) -> PolarState:
        central = start(self.initial, replicates, self.theta_max, self.n_features)
        clients = range(1, len(self.reached) + 1)
        return PolarState(
            central=central,
            servers=np.repeat(central[:, None], self.n_servers, axis=1),
            clipped=np.zeros(len(replicates), dtype=np.int64),
            clients=[s.generator("client", h, "perturbation") for s in replicates for h in clients],
            masks=[scope.generator("servers", "masks") for scope in replicates],
            steps=[0] * self.n_servers,
            answered=np.zeros(self.reached.shape, dtype=np.int64),
        )

    @override
    def query(self, state: PolarState, batch: AnswerBatch) -> Array:
        peers = np.zeros_like(batch.owners) if batch.peers is None else batch.peers
        read = np.where(peers[:, None] > 0, peers[:, None] - 1, self.reached[batch.owners])
        models = state.servers[batch.replicates[:, None], read]
        return np.where(peers[:, None] > 0, models[:, 0], _mean(models))

    @override
    def apply(self, state: PolarState, batch: AnswerBatch, points: Array, answers: Array) -> None:
        rows, owners = batch.replicates, batch.owners
        weights, sigma = owners_column(self.weights, batch), rows_column(self.sigma, rows)
        gradients = weights * (answers + sigma * points)
        place: tuple[Ints, ...] = (owners,)
        if self.basic:
            peers = np.ones_like(owners) if batch.peers is None else batch.peers
            place = (owners, np.argmax(self.reached[owners] == peers[:, None] - 1, axis=1))
        k = int(state.answered[place].max()) + 1
        state.answered[place] = k
        iteration = self._iteration(state, k)
        sent = iteration.weights[rows, owners] * gradients[:, None] + iteration.added[rows, owners]
        if self.basic:
            sent = sent[np.arange(len(rows)), place[1]]
        iteration.uploads[(rows, *place)] = sent

    @override
    def advance_server(self, state: PolarState, server: int) -> None:
        """Let a server (from 0) make its next step; all agree once the last has ended a window.

        Where only neighbours agree, a server averages once it and all its neighbours have made the
        step. Its model is not read before.
        """
        state.steps[server] = k = state.steps[server] + 1
        iteration = self._iteration(state, k)
        clients, slots = np.nonzero(self.reached == server)
        # cumsum adds one after the other in every replicate; the order in ``sum`` may vary with R
        total = np.cumsum(iteration.uploads[:, clients, slots], axis=1)[:, -1]
        model = state.servers[:, server] - self.step_size(k) * total
        outside = project(model, self.theta_max)
        if outside is not None:
            iteration.clipped |= outside
        state.servers[:, server] = iteration.models[:, server] = model
        if k % self.window > 0:
            return
        near = self._near(k)
        if near is not None:
            iteration.stepped[:, server] = model
            for neighbour in (server, *(other - 1 for other in near[server])):
                self._average(state, iteration, k, neighbour, near)
        elif min(state.steps) == k:
            state.servers[:] = iteration.models[:] = self._agreed(state)[:, None]

    def _near(self, k: int) -> Neighbours | None:
        """Return the neighbours that average after iteration k, which ends a window."""
        return self.agreements[(k // self.window - 1) % len(self.agreements)]

    def _average(
        self, state: PolarState, iteration: Iteration, k: int, server: int, near: Neighbours
    ) -> None:
        """Let a server average with its neighbours, once all of them have made step k.

        Models that have overflowed are not on the grid, and have no mean either.
        """
        group = [server, *(other - 1 for other in near[server])]
        if server in iteration.agreed or any(state.steps[member] < k for member in group):
            return
        iteration.agreed.add(server)
        finite = np.isfinite(iteration.stepped[:, group]).all(axis=(1, 2))
        average = np.full_like(state.central, np.nan)
        points = obfuscation.gridded(np.nan_to_num(iteration.stepped[finite]), self.theta_max)
        average[finite] = (
            obfuscation.averaged(points, server, near) / obfuscation.RESOLUTION * self.theta_max
        )
        state.servers[:, server] = iteration.models[:, server] = average

    def step_size(self, k: int) -> float | Array:
        """Return α w^(−e) of iteration k, in window w."""
        window = (k - 1) // self.window + 1
        return self.rate * power(window, -self.exponent)

    @override
    def update(self, state: PolarState, rows: Ints | None = None) -> None:
        state.k += 1  # servers that have not made this step make it now
        for server in range(self.n_servers):
            if state.steps[server] < state.k:
                self.advance_server(state, server)
        done = state.iterations.pop(state.k)
        alike = state.k % self.window == 0 and self._near(state.k) is None
        central = done.models[:, 0] if alike else _mean(done.models)
        updated = slice(None) if rows is None else rows
        state.central[updated] = central[updated]
        state.clipped[updated] += done.clipped[updated]

    def _iteration(self, state: PolarState, k: int) -> Iteration:
        """Return iteration k, which is begun, with its window, when it is first asked for."""
        if k not in state.iterations:
            if (k - 1) // self.window + 1 > state.window:
                self._draw(state)
            (replicates, p), (clients, reach) = state.central.shape, self.reached.shape
            i, uploads = (k - 1) % self.window, np.zeros((replicates, clients, reach, p))
            state.iterations[k] = Iteration(
                uploads=uploads,
                weights=state.weights[:, :, i],
                added=state.added[:, :, i],
                stepped=np.zeros_like(state.servers),
                models=np.zeros_like(state.servers),
                clipped=np.zeros(replicates, dtype=np.bool_),
            )
        return state.iterations[k]

    def _draw(self, state: PolarState) -> None:
        """Let every client draw its perturbations of the next window.

        Where only neighbours agree, some clients are in a later window than others; the draws of an
        earlier window are kept with its iterations. Windows begin in order, since every client
        takes part in all of them.
        """
        reach, p = self.reached.shape[1], self.n_features
        weights = obfuscation.draw_weights(
            state.clients,
            self.window,
            reach,
            self.total,
            self.bound,
            n_features=p if self.per_coordinate else None,
            every_step=self.every_step,
        )
        added = obfuscation.draw_additive(state.clients, self.window, reach, p, self.additive)
        shape = (len(state.central), len(self.reached), self.window, reach)
        state.weights = weights.reshape(*shape, p if self.per_coordinate else 1)
        state.added = added.reshape(*shape, p)
        state.window += 1

    def _agreed(self, state: PolarState) -> Array:
        """Return the mean over servers by secure consensus, shape (R, p).

        Models that have overflowed are not on the consensus's grid, and have no mean either.
        """
        masks = obfuscation.draw_masks(state.masks, self.n_servers, self.n_features)
        finite = np.isfinite(state.servers).all(axis=(1, 2))
        mean = np.full_like(state.central, np.nan)
        models = state.servers[finite]
        mean[finite] = obfuscation.secure_consensus(models, self.theta_max, masks[finite]).mean
        return mean


def _mean(models: Array) -> Array:
    """Return the mean along the last axis but one, summed in order."""
    return np.asarray(np.cumsum(models, axis=-2)[..., -1, :] / models.shape[-2])


class Polar(AlgorithmSpec):
    """Stochastic gradients, obfuscated towards each of several servers (POLAR).

    It is not differentially private: what it hides from one curious server has no finite pure ε.

    The paper's objective is a sum over records, here it is their mean (with the regulariser divided
    among clients by n_h/n). The paper's α_k is the one here divided by n, and its Y the one here
    times n.
    """

    updates_of = ("servers",)
    one_model = True
    looks_at_models = True
    obfuscates = True
    answers_per_update = None  # as many as there are clients, or for each of their servers
    sample = trait(lambda self: self.batch)

    kind: Literal["polar"] = "polar"
    step: Positive
    exponent: Annotated[float, Field(gt=0.5, le=1)]
    weight_total: Positive
    weight_bound: Positive
    additive_bound: NonNegative
    every_step: bool = False
    per_coordinate: bool = False
    batch: Count | None = None
    initial: Initial = "zeros"

    @model_validator(mode="after")
    def _bound_is_above(self) -> Self:
        if not self.weight_total <= self.weight_bound <= WIDEST * self.weight_total:
            low, high = self.weight_total, WIDEST * self.weight_total
            remedy = f"allowed is a number from weight_total = {low:g} to {high:.4g}"
            raise faults_of([Fault("weight_bound", f"{self.weight_bound:g}", remedy)])
        return self

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        model, privacy, faults = scenario.model, scenario.privacy, []
        if model.theta_max is None:
            remedy = "algorithm polar projects onto a box: allowed is a number > 0"
            faults.append(Fault("model.theta_max", "nothing", remedy))
        if model.phi.curvature is None:
            rough = f"with model {model.kind}, whose loss is not smooth"
            if not self.every_step:
                remedy = f"allowed is true {rough}"
                faults.append(Fault("algorithm.every_step", "false", remedy))
            if getattr(scenario.protocol, "read", None) == "basic":
                remedy = f"allowed: minimum-wait, client-averaged {rough}"
                faults.append(Fault("protocol.read", "'basic'", remedy))
        if privacy.hides:
            remedy = "algorithm polar obfuscates and has no finite ε: allowed is none"
            faults.append(Fault("privacy.mechanism", repr(privacy.mechanism.kind), remedy))
        if not privacy.budget.follows_updates:
            remedy = "algorithm polar has no budget to spend: allowed is horizon"
            faults.append(Fault("privacy.budget.kind", repr(privacy.budget.kind), remedy))
        if privacy.participation is not None:
            remedy = "every client of algorithm polar answers at every step: allowed is nothing"
            faults.append(Fault("privacy.participation", "a table", remedy))
        return faults

    @override
    def steps(self, setting: Setting) -> PolarSteps:
        protocol, clients = setting.protocol, range(1, setting.n_owners + 1)
        fits = protocol is not None and self.runs_on(protocol)
        if setting.theta_max is None or not fits:
            raise ValueError("polar needs a box of models and protocol servers")
        return PolarSteps(
            weights=setting.weights,
            n_features=setting.n_features,
            sigma=setting.sigma,
            theta_max=setting.theta_max,
            reached=np.array([protocol.reached(client) for client in clients]) - 1,
            n_servers=protocol.count,
            window=protocol.window,
            agreements=protocol.agreements,
            basic=protocol.read == "basic",
            rate=self.step,
            exponent=self.exponent,
            total=self.weight_total,
            bound=self.weight_bound,
            additive=self.additive_bound,
            every_step=self.every_step,
            per_coordinate=self.per_coordinate,
            initial=self.initial,
        )
