"""Attacks by what observers see in place of answers: models, views of nodes, and collusion.

The module does three things: it attacks the last model of many runs on each of two neighbouring
datasets; it attacks what a node and its colluders receive in many runs; and it works out the
answers of one owner from what all others know.

Steps are public, so that answers follow from models. An owner that plays the learner and adds no
noise to its own gradient (Collab's remark) reveals it, exactly, to anybody who sees two successive
queries and knows the answers of all others; with N = 2 that is the other owner. A learner that
colludes with owners sees every answer of another one, and can average them.

What an owner's ε says holds against all of them, for it is about all of its answers together:
a test of whether one record was replaced has an advantage of at most tanh(ε/2) with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.audits.check import Check, Claim, Fact, attack, most_shown
from asyncdp_sim.audits.claims import of_models, of_view, owed
from asyncdp_sim.audits.derived import stated_anew
from asyncdp_sim.audits.neighbours import replaced
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.learning.algorithms import (
    Algorithm,
    AnswerBatch,
    AveragingSteps,
    Collab1Steps,
    GossipSteps,
    Wrapped,
)
from asyncdp_sim.learning.algorithms.gossip import AveragingState
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.accountants.attacker import epsilon_of
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.privacy.observers.kind import gaussian_epsilons
from asyncdp_sim.runs.problem import Problem, Task, build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import Trace

_NUMBERS = 10**8
"""About how many numbers of answers are drawn on each dataset."""
_MODELS = (200, 10_000)
"""Fewest and most runs on each dataset whose last models are compared."""
_LARGE = 1000.0
"""Size of a record before its bound scales it down."""
_TOGETHER = 2000
"""Runs that are replayed at once."""


# The last model.


def audit_models(scenario: Scenario, doubt: float) -> tuple[Check, Fact]:
    """Attack the claim against an observer of models, and recompute the claim.

    All records but one are zero (x = 0), so that steps forget that one the least; it is long, with
    a large target or the opposite one. All runs share one network, so that only models depend on
    the record. The last models are projected on their difference without noise.

    Parameters
    ----------
    scenario : Scenario
        Whose observer sees models.
    doubt : float
        In (0, 1); 1 − doubt is the confidence.
    """
    streams = Streams(scenario.run.seed)
    trace = simulate(scenario.network, streams.within("audit", "models", "network"))
    delta = scenario.privacy.delta or 0.0
    # The attack tests the ε that is recomputed here, so that it does not rest on the accountant;
    # the second result compares that with the accounted ε.
    squared = of_models(scenario, trace, owed(scenario))
    recomputed = np.array([epsilon_of(sqrt(mu), delta) for mu in squared])
    owner = int(np.argmax(recomputed))  # from 0
    claim = Claim(float(recomputed[owner]), delta, gaussian=True)
    tasks = opposite(scenario, owner)
    first_end, other = (
        _ends(task.without_noise(), trace, Streams(scenario.run.seed), (0,), 1) for task in tasks
    )  # from one start
    apart, count = (first_end - other)[0], _count(scenario, trace)
    first, second = (
        _ends(task, trace, streams, (1, side), count) @ apart for side, task in enumerate(tasks)
    )
    shown = attack({"last model": (first, second)}, claim, doubt)
    called = scenario.owners.participants
    most = most_shown(claim, count, doubt)
    check = Check("the last model", called[owner], claim, shown, count, most)
    listener = scenario.privacy.listener.listening(scenario)
    accounted = listener.learned(scenario.accountant, [trace]).most[0]
    worst = int(np.argmax(recomputed - accounted))
    whose = f"the last model of owner {called[worst]}"
    return check, stated_anew(whose, float(accounted[worst]), float(recomputed[worst]))


def opposite(scenario: Scenario, owner: int) -> tuple[Task, Task]:
    """Return learning on two datasets of zeros and one record, the second with its opposite."""
    dataset, labels = build_dataset(scenario), scenario.model.labels
    nothing = tuple(np.zeros_like(x) for x in dataset.features)
    targets = (
        dataset.targets if len(labels) > 0 else tuple(np.zeros_like(y) for y in dataset.targets)
    )
    bare = replace(dataset, features=nothing, targets=targets)
    low, high = (labels[0], labels[-1]) if len(labels) > 0 else (-_LARGE, _LARGE)
    x = _LARGE * np.eye(1, nothing[owner].shape[1])[0]
    first_task, other = (
        prepare(scenario, replaced(bare, {(owner, 0): (x, y)}), judged=False).task
        for y in (high, low)
    )
    return first_task, other


def _count(scenario: Scenario, trace: Trace) -> int:
    """Return how many runs on each dataset are replayed."""
    numbers = max(1, len(trace.updates) * scenario.answer_numbers)
    rows = 1 if scenario.model.quadratic else sum(scenario.trained_on or (1,))
    return int(np.clip(_NUMBERS // (numbers * rows), *_MODELS))


def _ends(task: Task, trace: Trace, streams: Streams, name: tuple[Any, ...], count: int) -> Array:
    """Return the last models of so many runs, shape (count, p)."""
    models = []
    for first in range(0, count, _TOGETHER):
        numbers = range(first, min(count, first + _TOGETHER))
        scopes = [streams.within("audit", "models", *name, number) for number in numbers]
        last = max(1, trace.n_updates)
        path = replay([trace] * len(scopes), task.steps, task.reply, scopes, last)
        models.append(path.final)
    return np.concatenate(models)


# The view of a node that averages.

_PAIRS = 16
"""Most pairs of an owner and a node that attacks its record, taken at random."""
_HEARD = 200
"""Largest number of a view's numbers that are used: the first ones."""
_LEARNING = 1000
"""Runs from which the covariance of a view's numbers is estimated."""
_AVERAGED, _RUNS = 10**8, (1000, 10_000)
"""About how many numbers of vectors runs average; and fewest and most runs on each dataset."""


class _Hearing(Wrapped):
    """Averaging, in which a pool of nodes notes what it is sent, and its own vectors meanwhile.

    It notes the first coordinate, along which the record moves its owner's vector.
    """

    def __init__(self, steps: AveragingSteps, pool: frozenset[int]) -> None:
        super().__init__(steps)
        self._pool = pool
        self._first = 0 if steps.learner else 1  # the node whose vector is row 0 of the state
        self.heard: list[Array] = []

    @override
    def apply(
        self, state: AveragingState, batch: AnswerBatch, points: Array, answers: Array
    ) -> None:
        """Note the vector that a node sends to one of the pool, or that one of the pool has."""
        super().apply(state, batch, points, answers)
        if batch.peers is None:
            raise ValueError("the view of a node needs the pairs of nodes that met")
        # Batches number owners from 0. Peers and the pool number nodes: 0 is the learner, 1 the
        # first owner.
        sender, listener = int(batch.owners[0]) + 1, int(batch.peers[0])
        noted = [sender] if {sender, listener} & self._pool else []
        noted += [listener] if listener in self._pool else []
        for node in noted if len(self.heard) < _HEARD else ():
            self.heard.append(state.vectors[:, node - self._first, 0].copy())


@dataclass(frozen=True, eq=False)
class _View:
    """An owner, a node that attacks its record, and the best test that the node has.

    Attributes
    ----------
    owner : int
        Its row of the claimed μ², from 0.
    node : int
        Its column of the claimed μ²: owners from 0, the learner last, as column N.
    pool : frozenset of int
        The node and all that collude, as traces number them: owners from 1, the learner is 0.
    tasks : tuple of Task
        Learning on two datasets that differ in the record.
    test : array (numbers,)
        Weights of the numbers that the pool receives, in their sum.
    gain : float
        Ratio of the measured μ² to the claimed one, estimated from a few runs.
    """

    owner: int
    node: int
    pool: frozenset[int]
    tasks: tuple[Task, Task]
    test: Array
    gain: float


def audit_views(scenario: Scenario, doubt: float) -> list[tuple[Check, Fact]]:
    """Attack the claim for a node and an owner, and recompute the claim.

    Nothing where no node received anything.

    One record of the owner is long, with a large target or the opposite one, and all other records
    are zero. For a few pairs, some runs determine the best weights of the numbers that the node
    and its colluders receive, and the pairs that exceed their claim most. Other runs measure these.

    Parameters
    ----------
    scenario : Scenario
        Whose observer sees meetings.
    doubt : float
        In (0, 1); 1 − doubt is the confidence.
    """
    observer, streams = scenario.privacy.listener, Streams(scenario.run.seed)
    multiplier = scenario.accountant.multiplier
    # A check only: views exist for nodes alone.
    if not isinstance(observer, NodeObserver) or multiplier is None:
        raise TypeError("views are those of nodes that average Gaussian vectors")
    trace = simulate(scenario.network, streams.within("audit", "views", "network"))
    # Rows are owners from 0. Columns are nodes: owners from 0, the learner last, as column N.
    squared = np.nan_to_num(observer.squared(multiplier, trace))
    pairs = streams.generator("audit", "views", "pairs").permutation(np.argwhere(squared > 0))
    views = [_view(scenario, pair, squared, trace, streams) for pair in pairs[:_PAIRS].tolist()]
    if len(views) == 0:
        return []
    view, delta = max(views, key=lambda each: each.gain), scenario.privacy.delta or 0.0
    accounted = float(gaussian_epsilons(squared[view.owner, view.node], delta))
    # As for the last model, the attack tests the recomputed ε where there is one.
    recomputed_squared = of_view(trace, owed(scenario), view.pool, view.owner + 1)
    recomputed = None
    if recomputed_squared is not None:
        recomputed = epsilon_of(sqrt(recomputed_squared), delta)
    claim = Claim(accounted if recomputed is None else recomputed, delta, gaussian=True)
    count = int(np.clip(_AVERAGED // max(1, scenario.answer_numbers * trace.n_updates), *_RUNS))
    first, second = (
        _heard(task, view.pool, trace, _scopes(streams, f"tried {side}", count)) @ view.test
        for side, task in enumerate(view.tasks)
    )
    shown = attack({"view": (first, second)}, claim, doubt)
    names = (*scenario.owners.participants, 0)  # by column: the learner, 0, is last
    whose = f"owner {names[view.node]}" if names[view.node] > 0 else "the learner"
    view_name, most = f"the view that {whose} has", most_shown(claim, count, doubt)
    check = Check(view_name, names[view.owner], claim, shown, count, most)
    whose_view = f"{view_name} of owner {names[view.owner]}"
    return [(check, stated_anew(whose_view, accounted, recomputed))]


def _view(
    scenario: Scenario, pair: list[int], squared: Array, trace: Trace, streams: Streams
) -> _View:
    """Return how a node attacks a record of an owner; μ², (N, M), is what is claimed of them."""
    owner, node = pair
    tasks, name = opposite(scenario, owner), (owner, node)
    listens = 0 if node == scenario.owners.count else node + 1  # from columns to nodes of traces
    colluding = scenario.privacy.listener.model_dump()["colluding"] or ()
    pool = frozenset({listens, *colluding} - {owner + 1})
    first_heard, other = (
        _heard(task.without_noise(), pool, trace, _scopes(streams, f"exact {name} {side}", 1))
        for side, task in enumerate(tasks)
    )
    scopes = _scopes(streams, f"learned {name}", _LEARNING)
    spread = np.atleast_2d(np.cov(_heard(tasks[0], pool, trace, scopes).T))
    apart = (other - first_heard)[0]
    test = np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ apart
    return _View(owner, node, pool, tasks, test, float(test @ apart / squared[owner, node]))


def _scopes(streams: Streams, name: str, count: int) -> list[Scope]:
    return [streams.within("audit", "views", name, number) for number in range(count)]


def _heard(task: Task, pool: frozenset[int], trace: Trace, scopes: list[Scope]) -> Array:
    """Return what a pool noted in runs of one network, (runs, numbers)."""
    if not isinstance(task.steps, AveragingSteps):
        raise TypeError("views are those of nodes that average")
    steps = _Hearing(task.steps, pool)
    replay([trace] * len(scopes), steps, task.reply, scopes, max(1, trace.n_updates))
    return np.array(steps.heard).T


# Answers of one owner that all others work out.

HIDDEN = 0
"""The owner that plays the learner, from 0; all others collude."""


@dataclass(frozen=True, eq=False)
class Transcript:
    """All exchanges of one replicate whose answers were used, in that order.

    Attributes
    ----------
    k : array of int (m,)
        Updates made before the answer's own.
    owners : array of int (m,)
        Whose, from 0.
    points, answers : array (m, p)
        The queries, and the answers as the learner takes them.
    """

    k: Ints
    owners: Ints
    points: Array
    answers: Array


class Transcribed(Wrapped):
    """An algorithm that notes all exchanges and is otherwise what it was.

    Parameters
    ----------
    steps : Algorithm
        The algorithm.
    """

    def __init__(self, steps: Algorithm) -> None:
        super().__init__(steps)
        self._seen: list[tuple[int, AnswerBatch, Array, Array]] = []
        self._updates = 0

    @override
    def apply(self, state: Any, batch: AnswerBatch, points: Array, answers: Array) -> None:
        self._seen.append((self._updates, batch, points.copy(), answers.copy()))
        super().apply(state, batch, points, answers)

    @override
    def update(self, state: Any, rows: Ints | None = None) -> None:
        super().update(state, rows)
        self._updates += 1

    def transcript(self, replicate: int) -> Transcript:
        """Return the exchanges of a replicate, from 0; points are queries where none is stale."""
        found = [
            (k, batch.owners[row], points[row], answers[row])
            for k, batch, points, answers in self._seen
            for row in np.flatnonzero(batch.replicates == replicate).tolist()
        ]
        shape = (len(found), self.n_features)
        return Transcript(
            np.array([k for k, _, _, _ in found], dtype=np.int64),
            np.array([owner for _, owner, _, _ in found], dtype=np.int64),
            np.array([point for _, _, point, _ in found]).reshape(shape),
            np.array([answer for _, _, _, answer in found]).reshape(shape),
        )


@dataclass(frozen=True, eq=False)
class Recovered:
    """Answers of an owner that others have worked out.

    Attributes
    ----------
    k : array of int (m,)
        Updates made before each.
    points, answers : array (m, p)
        The queries that the owner was sent, and its answers; NaN where Π_Θ hides a coordinate.
    """

    k: Ints
    points: Array
    answers: Array

    @classmethod
    def of(cls, found: Sequence[tuple[int, Array, Array]], n_features: int) -> "Recovered":
        """Return what was found, one k, query and answer after another."""
        shape = (len(found), n_features)
        return cls(
            np.array([k for k, _, _ in found], dtype=np.int64),
            np.array([point for _, point, _ in found]).reshape(shape),
            np.array([answer for _, _, answer in found]).reshape(shape),
        )


def from_rounds(
    seen: Transcript, hidden: int, weights: Array, sizes: Array, sigma: float
) -> Recovered:
    """Return answers of one owner from successive queries of synchronous learning.

    θ[k+1] = θ[k] − s_k (σθ[k] + Σ w_i Q_i) is solved for
    Q_h = ((θ[k] − θ[k+1])/s_k − σθ[k] − Σ_{i≠h} w_i Q_i)/w_h, in every round but the last one.

    Parameters
    ----------
    seen : Transcript
        Rows of h are read for nothing but who answered; all owners answer in every round.
    hidden : int
        h, from 0.
    weights : array (N,)
        w_i = n_i/n.
    sizes : array (T,)
        s_k: ρ/(T²k) in Collab's Algorithm 1, c_1/√k in its Algorithm 2, where Π_Θ does nothing.
    sigma : float
        σ.
    """
    n_owners, found = len(weights), []
    others = np.flatnonzero(np.arange(n_owners) != hidden)
    rounds = int(seen.k[-1]) + 1
    place = np.full((rounds, n_owners), -1)
    place[seen.k, seen.owners] = np.arange(len(seen.k))
    for k in range(rounds - 1):
        before, after = seen.points[place[k, others[0]]], seen.points[place[k + 1, others[0]]]
        known = weights[others] @ seen.answers[place[k, others]]
        answer = ((before - after) / sizes[k] - sigma * before - known) / weights[hidden]
        found.append((k, before, answer))
    return Recovered.of(found, seen.points.shape[1])


def from_exchanges(seen: Transcript, hidden: int, steps: GossipSteps) -> Recovered:
    """Return answers of one owner from the queries to all others, in asynchronous learning.

    Between two updates of colluders let there be one, of the hidden owner h. The first one's
    θ_L follows from its query, and the second's query θ̄ and copy θ_c give the θ_L = 2θ̄ − θ_c
    that h left: m_L θ̄_h = θ_L gives the query that h was sent, and 2θ̄_h − θ_L its copy before.
    Where two successive updates of h are such, the copies before both are known, and
    Q_h = (m_h θ̄_h − θ_h⁺)/s_h. With N = 2 uniform owners that is one in eight of h's answers.

    Parameters
    ----------
    seen : Transcript
        Rows of h are read for nothing but who answered; no answer may be stale.
    hidden : int
        h, from 0.
    steps : GossipSteps
        The public rule; models start at 0 or 1.

    Raises
    ------
    ValueError
        If the models start where colluders do not know.
    """
    if steps.initial == "uniform":
        raise ValueError("models must start at zeros or ones, given uniform")
    bound = np.inf if steps.theta_max is None else steps.theta_max
    inside = bound * (1 - 1e-9)  # a coordinate that rounding moved off the bound is on it
    shrink = steps.shrink_copy
    central = np.full(steps.n_features, 0.0 if steps.initial == "zeros" else min(1.0, bound))
    copies = np.tile(central, (steps.n_owners, 1))
    owners, queries = seen.owners, seen.points
    previous: tuple[int, Array] | None = None  # k and query of h's last update, if worked out
    found: list[tuple[int, Array, Array]] = []
    for k, owner in enumerate(owners.tolist()):
        if owner == hidden:
            continue
        if k > 1 and owners[k - 1] == owners[k - 2] == hidden:
            # Two updates of h in a row: no colluder saw the model between them.
            previous = None
        elif k > 0 and owners[k - 1] == hidden:
            # One update of h: this query is the mean of the model that h left and of this
            # owner's copy, which colluders know. A coordinate on the bound stays unknown.
            central_after = 2 * queries[k] - copies[owner]
            on_no_bound = np.where(np.abs(central_after) < inside, central_after, np.nan)
            point = on_no_bound / steps.shrink_central
            copy = 2 * point - central  # of h, before this update
            if previous is not None:
                # The copy before this update is the one after h's previous update.
                copy_after = np.where(np.abs(copy) < inside, copy, np.nan)
                answer = (shrink[hidden] * previous[1] - copy_after) / steps.step[hidden]
                found.append((*previous, answer))
            previous = (k - 1, point)
        # The steps of this owner's own update, as the public rule has them.
        central = np.clip(steps.shrink_central * queries[k], -bound, bound)
        own = shrink[owner] * queries[k] - steps.step[owner] * seen.answers[k]
        copies[owner] = np.clip(own, -bound, bound)
    return Recovered.of(found, steps.n_features)


@dataclass(frozen=True)
class Learned:
    """Estimates of an owner's gradients in one run or several of the same scenario.

    Attributes
    ----------
    epsilon : float
        The owner's ε, over all of its answers.
    answers : float
        How many of its answers are known, in the mean.
    single, mean : float
        Error of one gradient that was worked out, and of the mean of all, in root mean square
        relative to a gradient's size.
    noise, averaged_noise : float
        What both should be by the noise alone.
    """

    epsilon: float
    answers: float
    single: float
    mean: float
    noise: float
    averaged_noise: float


def transcribed(scenario: Scenario) -> tuple[Problem, Transcribed, Array]:
    """Run a scenario with all that is sent noted; return the final models (R, p) too."""
    problem = prepare(scenario, build_dataset(scenario))

    def scopes() -> list[Scope]:
        streams = Streams(scenario.run.seed)
        return [streams.within("replicate", r + 1) for r in range(scenario.run.replicates)]

    traces = [simulate(scenario.network, scope) for scope in scopes()]
    task, noted = problem.task, Transcribed(problem.task.steps)
    path = replay(traces, noted, task.reply, scopes(), task.record_every, task.asks)
    return problem, noted, path.final


def recover(problem: Problem, noted: Transcribed, replicate: int) -> Recovered:
    """Return what all owners but one know of its answers.

    Raises
    ------
    SpecError
        If nothing is worked out for this algorithm.
    """
    steps, seen = problem.task.steps, noted.transcript(replicate)
    # What follows from a transcript is algebra on these algorithms' own steps, and on no others.
    if isinstance(steps, GossipSteps):
        return from_exchanges(seen, HIDDEN, steps)
    if isinstance(steps, Collab1Steps):
        sizes = steps.rate / np.arange(1, int(seen.k[-1]) + 2)
        return from_rounds(seen, HIDDEN, steps.weights, sizes, float(steps.sigma))
    raise SpecError([Fault("algorithm.kind", "another", "allowed: async-gossip, collab-1")])


def learned(scenario: Scenario) -> Learned:
    """Return how well a scenario's hidden owner is known; NaN where nothing is worked out."""
    problem, noted, _ = transcribed(scenario)
    reply, p = problem.task.reply, problem.task.steps.n_features
    sizes: list[float] = []
    singles: list[float] = []
    means: list[float] = []
    counts: list[int] = []
    for replicate in range(scenario.run.replicates):
        found = recover(problem, noted, replicate)
        whole = np.isfinite(found.answers).all(axis=1)
        points, answers = found.points[whole], found.answers[whole]
        counts.append(len(points))
        if len(points) > 0:
            exact = reply.gradients.gradient(np.full(len(points), HIDDEN), points)
            sizes += np.square(exact).sum(axis=1).tolist()
            singles += np.square(answers - exact).sum(axis=1).tolist()
            means.append(float(np.square((answers - exact).mean(axis=0)).sum()))
    shares = [1 / count for count in counts if count > 0]
    size = float(np.mean(sizes)) if len(shares) > 0 else np.nan
    noise = 2 * p * float(reply.noise.scale[HIDDEN]) ** 2  # E‖b w‖²
    return Learned(
        epsilon=float(problem.accountant.epsilon[HIDDEN]),
        answers=float(np.mean(counts)),
        single=sqrt(fsum(singles) / max(1, len(singles)) / size),
        mean=sqrt(fsum(means) / max(1, len(means)) / size),
        noise=sqrt(noise / size),
        averaged_noise=sqrt(noise * fsum(shares) / max(1, len(shares)) / size),
    )
