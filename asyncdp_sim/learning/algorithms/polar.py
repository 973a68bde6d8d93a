"""POLAR-SGD's steps: clients obfuscate their gradients, servers step and agree in secret.

In iteration k = (w − 1)Δ + i + 1, step i = 0 … Δ − 1 of window w, client h has a gradient
g_h = (n_h/n) (Q_h + σu) at the point u that it read, so that Σ_h g_h is ∇f where all read the same
point and sample nothing. It uploads W[i, J] g_h + d[i, J] to each of its servers J, and

    x^J ← Π_X[x^J − α w^(−e) Σ_h (W[i, J] g_h + d[i, J])],

after the window x^J ← x̄ by secure consensus (POLAR, algorithms 1 and 2), or the mean over J and its
neighbours on a graph that is not complete (section V-A). Over a window the mean of
the servers follows (M/S) α w^(−e) ∇f (or Δ times that, if conditions hold at every step).

Client h sends server J of its own servers N_h, at step i, W[i, J] g + d[i, J] instead of a gradient
g (POLAR, equation 1). Two conditions bind what it draws in a window:

- symmetric learning (SLC, equations 2 and 3): Σ_J Σ_i W = M, the same for all clients, and
  Σ_J d = 0 at every step;
- bounded update (BUC, equations 4 and 5): Σ_J Σ_i |W| ≤ M̄, and ‖d‖₂ ≤ Y.

Both hold exactly for the numbers returned, in whatever order they are summed: they are multiples
of a unit so coarse that floats sum them without rounding.

Each server J sends every other L a random mask R_{J,L}, announces
A^J = x^J + Σ_L R_{L,J} − Σ_L R_{J,L}, and all of them sum what was announced: the masks cancel
(POLAR, algorithm 2, lines 8–12). The paper computes modulo 2|X|, where the sum of S models wraps.
Here models are whole numbers on a grid of 2⁴⁰ points per |X|, and the modulus is 2⁶³.

Secure consensus needs every server to hear every other. Where only neighbours talk, the models of
servers are multiplied by a doubly stochastic matrix B (POLAR, section V-A), here by Metropolis
weights: B[I, J] = 1/(1 + max(d_I, d_J)) for neighbours of d_I and d_J neighbours, the rest on the
diagonal. On the same grid, what one server gives the other takes, so that the mean over servers
stays what it was exactly.

References
----------
Xiao, Boyd and Lall (2005), A scheme for robust distributed sensor fusion based on average
consensus, IPSN (the weights).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Count, NonNegative, Positive, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.validation import faults_of
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
from asyncdp_sim.network.graphs import Neighbours, parts

MARGIN = 2.0**-30
"""Share of Y that is left to rounding; enough while |N_h| √p < 2²⁰."""


def draw_weights(
    generators: Sequence[np.random.Generator],
    window: int,
    n_servers: int,
    total: float,
    bound: float,
    *,
    n_features: int | None = None,
    every_step: bool = False,
) -> Array:
    """Draw the weights W of one window for several clients.

    The cells (a step and a server) over which a condition sums are drawn together. Let B be uniform
    on [0, M̄]. Where B ≤ M, all cells are positive and share M. Else q of the m cells, chosen at
    random, are negative, q being Bin(m, (B − M)/(2B)) kept within 1 … m − 1; the positive cells
    share (B + M)/2, the negative ones −(B − M)/2. What is shared is split uniformly. So cells are
    exchangeable (E W is M over their number), sizes are about alike for both signs, Σ|W| is max(B,
    M), and no open set of allowed weights is left out: two cells are uniform on all that is
    allowed, W_1 on [(M − M̄)/2, (M + M̄)/2].

    Parameters
    ----------
    generators : sequence of Generator, length C
        One per client; its weights depend on no other's.
    window : int
        Δ ≥ 1.
    n_servers : int
        |N_h| ≥ 2.
    total, bound : float
        M and M̄, 0 < M ≤ M̄ ≤ 2⁴⁰ M. With M̄ = M no weight is negative.
    n_features : int, optional
        p ≥ 1: a weight for each coordinate, and the conditions for each (POLAR, section V-B).
    every_step : bool
        Whether SLC and BUC hold at every step, Σ_J W = M and Σ_J |W| ≤ M̄ (Theorem 2, for losses
        that are not smooth), and not over the window. A window then learns Δ M.

    Returns
    -------
    array (C, Δ, |N_h|) or (C, Δ, |N_h|, p)
        Multiples of ulp(M̄). Σ W is M rounded to such a multiple, within ulp(M̄)/2 (M itself where
        it is one, as whole numbers are); Σ|W| never exceeds M̄.

    References
    ----------
    POLAR, assumptions 1 and 2, theorem 2.
    """
    width = 1 if n_features is None else n_features
    sums, cells = (window, n_servers) if every_step else (1, window * n_servers)
    uniform = np.stack([generator.random((sums, cells + 1, width)) for generator in generators])
    sizes = np.stack(
        [generator.standard_exponential((sums, cells, width)) for generator in generators]
    )

    # in units of M̄'s last place every sum is a whole number below 2^53, hence exact
    unit = float(np.spacing(bound))
    learned, most = np.rint(total / unit), bound / unit
    taken = np.floor(np.maximum(uniform[:, :, :1] * most - learned, 0) / 2)
    coin = uniform[:, :, 1:]
    negative = (coin < taken / (learned + 2 * taken)) | (coin == coin.min(axis=2, keepdims=True))
    negative &= (coin < coin.max(axis=2, keepdims=True)) & (taken > 0)
    taken = np.where(negative.any(axis=2, keepdims=True), taken, 0.0)  # all coins may be equal
    units = _split(learned + taken, np.where(negative, 0.0, sizes))
    units -= _split(taken, np.where(negative, sizes, 0.0))
    shape = (len(generators), window, n_servers)
    return (units * unit).reshape(shape if n_features is None else (*shape, width))


def draw_additive(
    generators: Sequence[np.random.Generator],
    window: int,
    n_servers: int,
    n_features: int,
    bound: float,
) -> Array:
    """Draw the additive perturbations d of one window for several clients.

    At every step, c_J = √(n/(n−1)) (z_J − z̄) for iid standard normal z_J in R^p, n = |N_h|, and
    d_J = Y c_J/√(max_J ‖c_J‖² + 2E) with E ~ Exp(1): servers are exchangeable, directions
    isotropic, and no open set of allowed perturbations is left out. For two servers d_1 = −d_2 is
    uniform in the ball of radius Y.

    Parameters
    ----------
    generators : sequence of Generator, length C
        One per client.
    window, n_servers, n_features : int
        Δ ≥ 1, |N_h| ≥ 2, p ≥ 1.
    bound : float
        Y ≥ 0.

    Returns
    -------
    array (C, Δ, |N_h|, p)
        Multiples of ulp(|N_h| Y) with Σ_J d = 0 exactly, and ‖d‖₂ ≤ Y.

    References
    ----------
    POLAR, equations 3 and 5. Barthe, Guédon, Mendelson and Naor (2005), A probabilistic approach
    to the geometry of the l_p^n-ball (the uniform law in a ball by a normal and an exponential).
    """
    shape = (window, n_servers, n_features)
    drawn = np.stack([generator.standard_normal(shape) for generator in generators])
    extra = np.stack([generator.standard_exponential((window, 1, 1)) for generator in generators])
    drawn -= drawn.mean(axis=2, keepdims=True)
    drawn *= sqrt(n_servers / (n_servers - 1))
    largest = np.square(drawn).sum(axis=3, keepdims=True).max(axis=2, keepdims=True)
    drawn *= (1 - MARGIN) * bound / np.sqrt(largest + 2 * extra)
    unit = float(np.spacing(n_servers * bound))
    sums = np.rint(np.cumsum(drawn, axis=2) / unit)
    sums[:, :, -1] = 0.0
    return np.diff(sums, axis=2, prepend=0.0) * unit


def _split(total: Array, sizes: Array) -> Array:
    """Split whole numbers (C, sums, 1, p) into whole parts in proportion to sizes along axis 2."""
    ends = np.cumsum(sizes, axis=2)
    share = ends / np.maximum(ends[:, :, -1:], np.finfo(float).tiny)
    return np.diff(np.floor(total * share), axis=2, prepend=0.0)


Words = npt.NDArray[np.uint64]
RESOLUTION = 2**40
"""Grid points per |X|: the spacing is |X|·2⁻⁴⁰."""
MODULUS = 2**63
"""All sums are modulo this number, which is more than 2 S · RESOLUTION."""
_LAST = np.uint64(MODULUS - 1)


@dataclass(frozen=True, eq=False)
class Consensus:
    """One secure consensus, and all that was sent for it; … stands for any leading axes.

    Attributes
    ----------
    mean : array (…, p)
        The model that every server goes on with.
    messages : array of uint64 (…, S, p)
        A^J in [0, 2⁶³), which every server sees.
    masks : array of uint64 (…, S, S, p)
        R_{J,L} at [J, L], which servers J and L see.
    """

    mean: Array
    messages: Words
    masks: Words

    def unmasked(self, viewer: int) -> Words:
        """Return what is left of every A^L when one server takes its own masks off.

        It is x^L + |X| on the grid, plus Σ_K (R_{K,L} − R_{L,K}) over third servers K: uniform on
        [0, 2⁶³) whatever x^L is where S ≥ 3, jointly so for all but one of the others (their sum
        follows from the mean). For S = 2 there is no third server, and it is x^L itself.

        Parameters
        ----------
        viewer : int
            J, from 0. Its own row is its own masked model.

        Returns
        -------
        array of uint64 (…, S, p)
        """
        put_on, taken_off = self.masks[..., viewer, :, :], self.masks[..., :, viewer, :]
        return (self.messages - put_on + taken_off) & _LAST


def draw_masks(generators: Sequence[np.random.Generator], n_servers: int, n_features: int) -> Words:
    """Draw R_{J,L}, uniform on [0, 2⁶³), for one consensus in each of R replicates.

    Parameters
    ----------
    generators : sequence of Generator, length R
    n_servers, n_features : int
        S and p.

    Returns
    -------
    array of uint64 (R, S, S, p)
        R_{J,L} at [J, L]; R_{J,J} = 0, as a server sends itself none.
    """
    shape = (n_servers, n_servers, n_features)
    masks = np.stack(
        [generator.integers(0, MODULUS, shape, dtype=np.uint64) for generator in generators]
    )
    own = np.arange(n_servers)
    masks[:, own, own] = 0
    return masks


def secure_consensus(models: Array, bound: float, masks: Words) -> Consensus:
    """Average the models of S servers, each coordinate on its own.

    With x^J on the grid, n^J = round(2⁴⁰ (x^J/|X| + 1)) in [0, 2⁴¹],
    A^J = n^J + Σ_L R_{L,J} − Σ_L R_{J,L} (mod 2⁶³), and the mean is
    |X| ((Σ A^J mod 2⁶³)/S 2⁻⁴⁰ − 1).

    It differs from (1/S) Σ x^J by at most half a spacing, |X|·2⁻⁴¹ (and the rounding of floats,
    |X|·2⁻⁵²), and stays in [−|X|, |X|]; models all on one bound give that bound exactly.

    Parameters
    ----------
    models : array (…, S, p)
        x^J in [−|X|, |X|], 2 ≤ S ≤ 2²⁰.
    bound : float
        |X| > 0, the largest absolute value of a coordinate.
    masks : array of uint64 (…, S, S, p)
        See :func:`draw_masks`.

    Raises
    ------
    ValueError
        If a model is outside [−|X|, |X|] or not a number.

    References
    ----------
    POLAR, algorithm 2. Abbe, Khandani and Lo (2012), Privacy-preserving methods for sharing
    financial risk exposures, American Economic Review 102(3).
    """
    n_servers = models.shape[-2]
    if not np.all(np.abs(models) <= bound):
        raise ValueError(f"a model is outside [-{bound!r}, {bound!r}]: project it first")
    # uint64 wraps at 2^64, a multiple of the modulus
    points = (np.rint(models / bound * RESOLUTION) + RESOLUTION).astype(np.uint64)
    messages = (points + masks.sum(axis=-3) - masks.sum(axis=-2)) & _LAST
    total = (messages.sum(axis=-2) & _LAST).astype(np.int64) - n_servers * RESOLUTION
    return Consensus(total / n_servers / RESOLUTION * bound, messages, masks)


Points = npt.NDArray[np.int64]


def gridded(models: Array, bound: float) -> Points:
    """Return models in [−|X|, |X|] as whole numbers, 2⁴⁰ of them per |X|."""
    return np.rint(models / bound * RESOLUTION).astype(np.int64)


def averaged(points: Points, server: int, near: Neighbours) -> Points:
    """Return what a server goes on with: n_I + Σ_J ⌊(n_J − n_I)/(1 + max(d_I, d_J))⌋ towards 0.

    Rounded towards zero, what I gives J is what J takes from I, and no model leaves the hull of
    those that it is made of; it is off by less than one grid point for each neighbour.

    Parameters
    ----------
    points : array of int64 (…, S, p)
        All servers' models before the agreement; those of others than neighbours do not matter.
    server : int
        I, from 0.
    near : tuple of tuples
        Each server's neighbours, from 1.
    """
    own = points[..., server, :]
    average = own.copy()
    for other in near[server]:
        away = points[..., other - 1, :] - own
        average += np.sign(away) * (np.abs(away) // parts(near, server, other - 1))
    return average


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
        See :func:`~asyncdp_sim.learning.algorithms.polar.draw_weights`.
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
        points = gridded(np.nan_to_num(iteration.stepped[finite]), self.theta_max)
        average[finite] = averaged(points, server, near) / RESOLUTION * self.theta_max
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
        weights = draw_weights(
            state.clients,
            self.window,
            reach,
            self.total,
            self.bound,
            n_features=p if self.per_coordinate else None,
            every_step=self.every_step,
        )
        added = draw_additive(state.clients, self.window, reach, p, self.additive)
        shape = (len(state.central), len(self.reached), self.window, reach)
        state.weights = weights.reshape(*shape, p if self.per_coordinate else 1)
        state.added = added.reshape(*shape, p)
        state.window += 1

    def _agreed(self, state: PolarState) -> Array:
        """Return the mean over servers by secure consensus, shape (R, p).

        Models that have overflowed are not on the consensus's grid, and have no mean either.
        """
        masks = draw_masks(state.masks, self.n_servers, self.n_features)
        finite = np.isfinite(state.servers).all(axis=(1, 2))
        mean = np.full_like(state.central, np.nan)
        models = state.servers[finite]
        mean[finite] = secure_consensus(models, self.theta_max, masks[finite]).mean
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
