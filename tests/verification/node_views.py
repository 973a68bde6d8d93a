"""An attack on what a node claims: a test that is learned from what nodes are sent in runs."""

from dataclasses import replace

import numpy as np

from asyncdp_sim.audits.check import Check, Claim, attack, most_shown
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, AveragingSteps, Wrapped
from asyncdp_sim.learning.algorithms.gossip import AveragingState
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.privacy.observers.kind import gaussian_epsilons
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario

LEARN, RUNS = 1000, 4000


class Seen(Wrapped):
    """Averaging, in which some nodes note both vectors of their meetings, along one coordinate."""

    def __init__(self, steps: AveragingSteps, pool: set[int]) -> None:
        super().__init__(steps)
        self.pool, self._first = pool, 0 if steps.learner else 1
        self.noted = []

    def nodes(self, owner: int, peer: int) -> list[int]:
        """Return whose vectors are noted of a meeting."""
        met = {owner, peer}
        return sorted(met) if met & self.pool else []

    def apply(self, state: AveragingState, turn: AnswerBatch, points, answers) -> None:
        """Note the vectors, once they are put in."""
        super().apply(state, turn, points, answers)
        assert turn.peers is not None
        for node in self.nodes(int(turn.owners[0]) + 1, int(turn.peers[0])):
            self.noted.append(state.vectors[:, node - self._first, 0].copy())


def attack_on_views(scenario: Scenario, doubt: float) -> list[Check]:
    """Attack an owner, taken at random, on behalf of a node that knows something of it.

    Nothing of scenarios whose observer is no node, or where nobody met anybody.
    """
    observer = scenario.privacy.listener
    if not isinstance(observer, NodeObserver):
        return []
    n, streams = scenario.owners.count, Streams(scenario.run.seed)
    problem = prepare(scenario, build_dataset(scenario))
    trace = simulate(scenario.network, streams.within("replicate", 1))
    multiplier = problem.accountant.multiplier
    assert multiplier is not None
    known = np.nan_to_num(observer.squared(multiplier, trace)[:, :n])
    if not known.any():
        return []
    owner, node = np.random.default_rng(scenario.run.seed).choice(np.argwhere(known > 0)).tolist()
    colluding = {each for each in observer.colluding or () if each != owner + 1}
    delta = problem.accountant.delta
    claim = Claim(float(gaussian_epsilons(known[owner, node], delta)), delta, gaussian=True)
    pool = {node + 1} | colluding
    steps, seed = problem.task.steps, scenario.run.seed
    assert isinstance(steps, AveragingSteps)
    sides = [
        scores(problem, trace, Seen(steps, pool), owner, moved, seed, LEARN + RUNS)
        for moved in (0, 1)
    ]
    test = best_test(*(each[:LEARN] for each in sides))
    first, second = (each[LEARN:] @ test for each in sides)
    found = attack({"view": (first, second)}, claim, doubt)
    return [Check("a view", owner + 1, claim, found, RUNS, most_shown(claim, RUNS, doubt))]


def scores(problem, trace, seen, owner, moved, seed, runs):
    """Return (runs, noted) numbers that nodes have seen, where a record moves an owner's gradient.

    ``owner`` counts from 0; ``moved`` is 0 or 1.
    """
    reply = problem.task.reply
    reach = moved * 2 * problem.xi / problem.task.objective.records[owner]

    class Moved:
        def gradient(self, owners, points):
            found = np.array(reply.gradients.gradient(owners, points))
            found[:, 0] += np.where(owners == owner, reach, 0.0)
            return found

    scopes = [Streams(seed).within("view", moved, r) for r in range(runs)]
    replay([trace] * runs, seen, replace(reply, gradients=Moved()), scopes, 10**6)
    return np.array(seen.noted).T


def best_test(first, second):
    """Return the direction that tells two lots of runs apart best, of one covariance."""
    within = (np.cov(first.T) + np.cov(second.T)) / 2
    apart = second.mean(axis=0) - first.mean(axis=0)
    return np.linalg.pinv(np.atleast_2d(within), rcond=1e-9, hermitian=True) @ apart
