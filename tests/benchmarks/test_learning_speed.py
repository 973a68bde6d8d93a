"""Learning against loops that do the arithmetic and nothing else, N = 86, p = 10, T = 1000."""

from functools import partial

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AsyncGossip, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.replay import CellTask, fold, replay, replay_together
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.privacy import Declared, Privacy
from tests.benchmarks.loops import from_moments, gossip
from tests.benchmarks.ratio import best_times, told

pytestmark = pytest.mark.benchmark
N_OWNERS, P, T, RECORDS, REPLICATES = 86, 10, 1000, 10_000, 100
SIGMA, RHO = 1e-5, 0.3


def owners(sizes):
    """Return features and targets of owners with so many records, and what they learn."""
    generator = np.random.default_rng(1)
    features = [np.asfortranarray(generator.standard_normal((size, P))) for size in sizes]
    targets = [x.sum(axis=1) + generator.standard_normal(len(x)) for x in features]
    return features, targets, Quadratic.from_records(features, targets, SIGMA, 1e5)


def steps_of(objective, rho=RHO):
    return AsyncGossip(rho=rho).steps(Setting(objective.weights, P, T, SIGMA, 1e5))


def noise_of(objective, epsilon=1.0):
    privacy = Privacy(epsilon=epsilon, sensitivity=Declared(bound=5.0))
    return privacy.noise_for(objective.records, T, 5.0, P)


@pytest.fixture(scope="module")
def problem():
    *_, objective = owners([RECORDS] * N_OWNERS)
    return objective, steps_of(objective), noise_of(objective)


@pytest.fixture(scope="module")
def traces():
    """The traces of all replicates."""
    network = Network(answers_allowed=(T,) * N_OWNERS, updates=T)
    return [simulate(network, scope) for scope in scopes()]


def scopes(count=REPLICATES):
    return [Streams(1).within("replicate", r) for r in range(count)]


def test_against_the_plain_loop(problem, traces, record_property):
    """The loop is on second moments, one replicate after another."""
    objective, steps, noise = problem
    network = Network(answers_allowed=(T,) * N_OWNERS, updates=T)

    def live():
        [scope] = scopes(1)
        learning = LiveLearning(steps, AnswerModel(objective, noise), scope, 1)
        simulate(network, scope, learning=learning, events=True)
        return learning.trajectory()

    def replayed():
        return replay(traces, steps, AnswerModel(objective, noise), scopes(), 1)

    def simulated():
        return [simulate(network, scope) for scope in scopes()]

    plain = partial(
        gossip, from_moments(objective), noise.scale,
        n_owners=N_OWNERS, p=P, updates=T, rate=RHO / (T**2 * SIGMA), sigma=SIGMA,
    )  # fmt: skip
    loop, alone, learned, timed = best_times(plain, live, replayed, simulated, rounds=5)
    told(record_property, "learned live", 1e3 * alone, 1e3 * loop)
    told(record_property, "replayed", 1e3 * learned / REPLICATES, 1e3 * loop)
    both = 1e3 * (learned + timed) / REPLICATES
    told(record_property, "simulated and replayed", both, 1e3 * loop)


def test_replay_against_bare_lockstep(problem, traces, record_property):
    objective, steps, noise = problem
    cell = CellTask(steps, AnswerModel(objective, noise), record_every=1)
    owners = np.stack([trace.updates["owner"] - 1 for trace in traces]).astype(np.int64).T.copy()
    gram, moment = objective.gram, objective.moment
    rows = np.arange(REPLICATES)

    def bare():
        """The same arithmetic with owners at hand, one stream, and no record of the way."""
        draws = np.random.default_rng(1).laplace(size=(T, REPLICATES, P))
        central = np.zeros((REPLICATES, P))
        copies = np.zeros((REPLICATES, N_OWNERS, P))
        step = steps.step[0]
        for k in range(T):
            chosen = owners[k]
            point = (central + copies[rows, chosen]) / 2
            answer = np.matmul(gram[chosen], point[:, :, None])[:, :, 0] - moment[chosen]
            answer = 2 * answer + noise.scale[0] * draws[k]
            copies[rows, chosen] = np.clip(steps.shrink_copy[0] * point - step * answer, -1e5, 1e5)
            central = np.clip(steps.shrink_central * point, -1e5, 1e5)
        return central

    def ours():
        return fold(traces, [cell], scopes())

    loop, replayed = best_times(bare, ours)
    each = 1000 / REPLICATES
    told(record_property, "lockstep", each * replayed, each * loop)


def best_alone_and_together(traces, cells):
    """Return the times (s) of cells over the same traces, one by one and together."""
    count = len(traces)
    return best_times(
        lambda: [fold(traces, [cell], scopes(count)) for cell in cells],
        lambda: list(replay_together(traces, cells, lambda: scopes(count))),
        rounds=3,
    )


def test_cells_together_against_one_by_one(record_property):
    """100 cells of other ε, one replicate, N = 3."""
    *_, objective = owners([100] * 3)
    traces = [simulate(Network(answers_allowed=(T,) * 3, updates=T), Streams(1).within("r", 1))]
    noises = [noise_of(objective, epsilon) for epsilon in np.geomspace(0.1, 10, 100)]
    steps = steps_of(objective)
    cells = [CellTask(steps, AnswerModel(objective, noise), record_every=1) for noise in noises]
    alone, together = best_alone_and_together(traces, cells)
    told(record_property, "cells together", together, alone)


def test_steps_of_one_search_together_against_one_by_one(record_property):
    """Steps over the same networks, as a search for the best step compares them."""
    count, replicates = 48, 10
    features, targets, objective = owners(np.random.default_rng(1).integers(100, 1700, count))
    reply = AnswerModel(LinearRecords(features, targets, clip=1.0), noise_of(objective))
    network = Network(answers_allowed=(T,) * count, updates=T)
    traces = [simulate(network, scope) for scope in scopes(replicates)]
    rhos = np.geomspace(0.03, 3, 8)
    cells = [CellTask(steps_of(objective, rho), reply, record_every=T) for rho in rhos]
    alone, together = best_alone_and_together(traces, cells)
    told(record_property, "steps together", together, alone)
