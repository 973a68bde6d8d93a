"""Attacks on what observers see in place of answers: central models, and views of nodes.

Two attacks: on the last model of many runs on each of two neighbouring datasets; and on what a
node and its colluders receive in many runs.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.audits.check import Check, Claim, Fact, attack, most_shown
from asyncdp_sim.audits.claims import of_models, of_view, owed
from asyncdp_sim.audits.derived import stated_anew
from asyncdp_sim.audits.neighbours import replaced
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, AveragingSteps, Wrapped
from asyncdp_sim.learning.algorithms.gossip import AveragingState
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.accountants.attacker import epsilon_of
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.privacy.observers.kind import gaussian_epsilons
from asyncdp_sim.runs.problem import Task, build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import Trace

_NUMBERS = 10**8
"""Numbers of answers that are drawn on each dataset, about."""
_MODELS = (200, 10_000)
"""Last models on each dataset, at least and at most."""
_LARGE = 1000.0
"""Of a record that its bound brings down."""
_TOGETHER = 2000
"""Runs that are replayed at once."""


def audit_models(scenario: Scenario, doubt: float) -> tuple[Check, Fact]:
    """Attack the claim against an observer of models, and recompute the claim.

    All records but one are nothing (x = 0), which steps forget the least; that one is long, with a
    large target or the opposite one. All runs have one network, which tells nothing of records, so
    that models alone do. The last ones are ordered along what sets them apart without noise.

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
    squared = of_models(scenario, trace, owed(scenario))
    anew = np.array([epsilon_of(sqrt(mu), delta) for mu in squared])
    owner = int(np.argmax(anew))
    claim = Claim(float(anew[owner]), delta, gaussian=True)
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
    stated = scenario.privacy.listener.listening(scenario).learned(scenario.accountant, [trace])
    worst = int(np.argmax(anew - stated.most[0]))
    whose = f"the last model of owner {called[worst]}"
    return check, stated_anew(whose, float(stated.most[0, worst]), float(anew[worst]))


def opposite(scenario: Scenario, owner: int) -> tuple[Task, Task]:
    """Return learning on two datasets that are nothing but one record, or the opposite one."""
    dataset, labels = build_dataset(scenario), scenario.model.labels
    nothing = tuple(np.zeros_like(x) for x in dataset.features)
    targets = (
        dataset.targets if len(labels) > 0 else tuple(np.zeros_like(y) for y in dataset.targets)
    )
    bare = replace(dataset, features=nothing, targets=targets)
    first, last = (labels[0], labels[-1]) if len(labels) > 0 else (-_LARGE, _LARGE)
    x = _LARGE * np.eye(1, nothing[owner].shape[1])[0]
    first_task, other = (
        prepare(scenario, replaced(bare, {(owner, 0): (x, y)}), judged=False).task
        for y in (last, first)
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


_PAIRS = 16
"""Of owners and nodes that look for their records, taken at random, at most."""
_HEARD = 200
"""Largest number of a view's numbers that are used: the first ones."""
_LEARNING = 1000
"""Runs that tell how the numbers of a view hang together."""
_AVERAGED, _RUNS = 10**8, (1000, 10_000)
"""Numbers of vectors that runs average, about; and runs on each dataset, at least and at most."""


class _Hearing(Wrapped):
    """Averaging, in which a pool of nodes notes what it is sent, and its own vectors meanwhile.

    Along the first coordinate, in which the record moves its owner's vector.
    """

    def __init__(self, steps: AveragingSteps, pool: frozenset[int]) -> None:
        super().__init__(steps)
        self._pool, self._first = pool, 0 if steps.learner else 1
        self.heard: list[Array] = []

    @override
    def apply(
        self, state: AveragingState, batch: AnswerBatch, points: Array, answers: Array
    ) -> None:
        """Note the vector that a node sends to one of the pool, or that one of the pool has."""
        super().apply(state, batch, points, answers)
        if batch.peers is None:
            raise ValueError("the view of a node needs the pairs of nodes that met")
        sender, listener = int(batch.owners[0]) + 1, int(batch.peers[0])
        noted = [sender] if {sender, listener} & self._pool else []
        noted += [listener] if listener in self._pool else []
        for node in noted if len(self.heard) < _HEARD else ():
            self.heard.append(state.vectors[:, node - self._first, 0].copy())


@dataclass(frozen=True, eq=False)
class _View:
    """An owner, a node that looks for its record, both from 0, and what tells it most.

    Attributes
    ----------
    pool : frozenset of int
        The node and all that collude, from 1; the learner is 0.
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
    squared = np.nan_to_num(observer.squared(multiplier, trace))
    pairs = streams.generator("audit", "views", "pairs").permutation(np.argwhere(squared > 0))
    views = [_view(scenario, pair, squared, trace, streams) for pair in pairs[:_PAIRS].tolist()]
    if len(views) == 0:
        return []
    view, delta = max(views, key=lambda each: each.gain), scenario.privacy.delta or 0.0
    stated = float(gaussian_epsilons(squared[view.owner, view.node], delta))
    anew = of_view(trace, owed(scenario), view.pool, view.owner + 1)
    again = None if anew is None else epsilon_of(sqrt(anew), delta)
    claim = Claim(stated if again is None else again, delta, gaussian=True)
    count = int(np.clip(_AVERAGED // max(1, scenario.answer_numbers * trace.n_updates), *_RUNS))
    first, second = (
        _heard(task, view.pool, trace, _scopes(streams, f"tried {side}", count)) @ view.test
        for side, task in enumerate(view.tasks)
    )
    shown = attack({"view": (first, second)}, claim, doubt)
    names = (*scenario.owners.participants, 0)
    whose = f"owner {names[view.node]}" if names[view.node] > 0 else "the learner"
    view_name, most = f"the view that {whose} has", most_shown(claim, count, doubt)
    check = Check(view_name, names[view.owner], claim, shown, count, most)
    return [(check, stated_anew(f"{view_name} of owner {names[view.owner]}", stated, again))]


def _view(
    scenario: Scenario, pair: list[int], squared: Array, trace: Trace, streams: Streams
) -> _View:
    """Return how a node looks for a record of an owner, of whom μ², (N, M), is claimed."""
    owner, node = pair
    tasks, name = opposite(scenario, owner), (owner, node)
    listens = 0 if node == scenario.owners.count else node + 1
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
