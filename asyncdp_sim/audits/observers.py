"""Attacks on what observers see in place of answers: the last model, and the views of nodes.

Both run a scenario many times on each of two neighbouring datasets that differ in one record, with
the same network, and score each run by what the observer saw of it.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.audits.check import Check, Claim, Fact, attack, most_shown
from asyncdp_sim.audits.claims import of_models, of_view, owed
from asyncdp_sim.audits.facts import recomputed_fact
from asyncdp_sim.audits.neighbours import replaced
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, AveragingSteps, Wrapped
from asyncdp_sim.learning.algorithms.gossip import AveragingState
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.privacy.observers.kind import gaussian_epsilons, multipliers
from asyncdp_sim.privacy.pairs import epsilon_of
from asyncdp_sim.runs.problem import Task, build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import Trace

_NUMBERS = 10**8
"""About how many numbers of answers are drawn on each dataset: some seconds of work."""
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
        _last_models(task.without_noise(), trace, Streams(scenario.run.seed), (0,), 1)
        for task in tasks
    )  # from one start
    apart, count = (first_end - other)[0], _number_of_runs(scenario, trace)
    first, second = (
        _last_models(task, trace, streams, (1, side), count) @ apart
        for side, task in enumerate(tasks)
    )
    shown = attack({"last model": (first, second)}, claim, doubt)
    called = scenario.owners.participants
    most = most_shown(claim, count, doubt)
    check = Check("the last model", called[owner], claim, shown, count, most)
    listener = scenario.privacy.listener.listening(scenario)
    accounted = listener.learned(scenario.accountant, [trace]).most[0]
    worst = int(np.argmax(recomputed - accounted))
    whose = f"the last model of owner {called[worst]}"
    return check, recomputed_fact(whose, float(accounted[worst]), float(recomputed[worst]))


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


def _number_of_runs(scenario: Scenario, trace: Trace) -> int:
    """Return how many runs on each dataset are replayed."""
    numbers = max(1, len(trace.updates) * scenario.answer_numbers)
    rows = 1 if scenario.model.quadratic else sum(scenario.trained_on or (1,))
    return int(np.clip(_NUMBERS // (numbers * rows), *_MODELS))


def _last_models(
    task: Task, trace: Trace, streams: Streams, name: tuple[Any, ...], count: int
) -> Array:
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
_RECEIVED = 200
"""Most numbers of a view that are used, the first ones; their covariance is then 200 by 200."""
_LEARNING = 1000
"""Runs from which the covariance of a view's numbers is estimated: five for each number."""
_AVERAGED, _RUNS = 10**8, (1000, 10_000)
"""About how many numbers of vectors runs average; and fewest and most runs on each dataset."""


class _Listening(Wrapped):
    """Averaging, in which a pool of nodes notes what it is sent, and its own vectors meanwhile.

    It notes the first coordinate, along which the record moves its owner's vector.
    """

    def __init__(self, steps: AveragingSteps, pool: frozenset[int]) -> None:
        super().__init__(steps)
        self._pool = pool
        self._first = 0 if steps.learner else 1  # the node whose vector is row 0 of the state
        self.noted: list[Array] = []
        """The first coordinate of each vector, by replicate, (R,)."""

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
        nodes = [sender] if {sender, listener} & self._pool else []
        nodes += [listener] if listener in self._pool else []
        for node in nodes if len(self.noted) < _RECEIVED else ():
            self.noted.append(state.vectors[:, node - self._first, 0].copy())


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
    if not isinstance(observer, NodeObserver):
        raise TypeError("views are those of nodes")
    trace = simulate(scenario.network, streams.within("audit", "views", "network"))
    # Rows are owners from 0. Columns are nodes: owners from 0, the learner last, as column N.
    squared = np.nan_to_num(observer.squared(multipliers(scenario.accountant), trace))
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
        _received(task, view.pool, trace, _scopes(streams, f"tried {side}", count)) @ view.test
        for side, task in enumerate(view.tasks)
    )
    shown = attack({"view": (first, second)}, claim, doubt)
    names = (*scenario.owners.participants, 0)  # by column: the learner, 0, is last
    whose = f"owner {names[view.node]}" if names[view.node] > 0 else "the learner"
    view_name, most = f"the view that {whose} has", most_shown(claim, count, doubt)
    check = Check(view_name, names[view.owner], claim, shown, count, most)
    whose_view = f"{view_name} of owner {names[view.owner]}"
    return [(check, recomputed_fact(whose_view, accounted, recomputed))]


def _view(
    scenario: Scenario, pair: list[int], squared: Array, trace: Trace, streams: Streams
) -> _View:
    """Return how a node attacks a record of an owner; μ², (N, M), is what is claimed of them."""
    owner, node = pair
    tasks, name = opposite(scenario, owner), (owner, node)
    listens = 0 if node == scenario.owners.count else node + 1  # from columns to nodes of traces
    colluding = scenario.privacy.listener.model_dump()["colluding"] or ()
    pool = frozenset({listens, *colluding} - {owner + 1})
    first_received, other = (
        _received(task.without_noise(), pool, trace, _scopes(streams, f"exact {name} {side}", 1))
        for side, task in enumerate(tasks)
    )
    scopes = _scopes(streams, f"learned {name}", _LEARNING)
    spread = np.atleast_2d(np.cov(_received(tasks[0], pool, trace, scopes).T))
    apart = (other - first_received)[0]
    test = np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ apart
    return _View(owner, node, pool, tasks, test, float(test @ apart / squared[owner, node]))


def _scopes(streams: Streams, name: str, count: int) -> list[Scope]:
    """Return the random streams of so many runs of one name."""
    return [streams.within("audit", "views", name, number) for number in range(count)]


def _received(task: Task, pool: frozenset[int], trace: Trace, scopes: list[Scope]) -> Array:
    """Return what a pool noted in runs of one network, (runs, numbers)."""
    if not isinstance(task.steps, AveragingSteps):
        raise TypeError("views are those of nodes that average")
    steps = _Listening(task.steps, pool)
    replay([trace] * len(scopes), steps, task.reply, scopes, max(1, trace.n_updates))
    return np.array(steps.noted).T
