"""Learning against loops that do the arithmetic and nothing else, N = 86, p = 10, T = 1000."""

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import AsyncGossip, Setting
from asyncdp_sim.learning.answers import Reply
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.privacy import Declared, Privacy
from asyncdp_sim.streams import Streams
from tests.benchmarks.ratio import best_times

pytestmark = pytest.mark.benchmark
N_OWNERS, P, T, RECORDS, REPLICATES = 86, 10, 1000, 10_000, 100
SIGMA, RHO = 1e-5, 0.3


@pytest.fixture(scope="module")
def problem():
    generator = np.random.default_rng(1)
    features = [np.asfortranarray(generator.standard_normal((RECORDS, P))) for _ in range(N_OWNERS)]
    targets = [x.sum(axis=1) + generator.standard_normal(RECORDS) for x in features]
    objective = Quadratic.from_records(features, targets, SIGMA, 1e5)
    steps = AsyncGossip(rho=RHO).steps(Setting(objective.weights, P, T, SIGMA, 1e5))
    privacy = Privacy(epsilon=1.0, sensitivity=Declared(bound=5.0))
    noise = privacy.noise_for(objective.records, T, 5.0, P)
    return features, targets, objective, steps, noise


def test_live_beats_recomputing_gradients(problem, record_property):
    features, targets, objective, steps, noise = problem
    network = Network(answers_allowed=(T,) * N_OWNERS, updates=T)

    def recompute():
        """One replicate whose every gradient is taken over the owner's 10,000 records."""
        generator = np.random.default_rng(1)
        rate = RHO / (T**2 * SIGMA)
        central, copies = np.zeros(P), np.zeros((N_OWNERS, P))
        for owner in generator.integers(N_OWNERS, size=T):
            point = (central + copies[owner]) / 2
            residual = features[owner] @ point - targets[owner]
            answer = 2 * features[owner].T @ residual / RECORDS
            answer += noise.scale[owner] * generator.laplace(size=P)
            step = SIGMA * point / (2 * N_OWNERS) + answer / N_OWNERS
            copies[owner] = np.clip(point - N_OWNERS * rate * step, -1e5, 1e5)
            central = np.clip(point - rate / 2 * SIGMA * point, -1e5, 1e5)
        return central

    def live():
        streams = Streams(1).within("replicate", 1)
        learning = LiveLearning(steps, Reply(objective, noise), streams, 1)
        simulate(network, streams, learning=learning, events=True)
        return objective.relative_fitness(learning.path().models(0))

    loop, ours = best_times(recompute, live)
    record_property("ratio", loop / ours)
    print(f"live with events {ours:.4f} s, recomputing loop {loop:.4f} s: {loop / ours:.2f} times")
    assert ours < loop


def test_replay_against_bare_lockstep(problem, record_property):
    _, _, objective, steps, noise = problem
    network = Network(answers_allowed=(T,) * N_OWNERS, updates=T)
    streams = Streams(1)
    traces = [simulate(network, streams.within("replicate", r)) for r in range(REPLICATES)]
    owners = np.stack([trace.updates["owner"] - 1 for trace in traces], axis=1).astype(np.int64)
    gram, moment = objective.gram, objective.moment
    rows = np.arange(REPLICATES)

    def bare():
        """The same arithmetic with owners and noise at hand, and no record of the way."""
        draws = np.random.default_rng(1).laplace(size=(T, REPLICATES, P))
        central = np.zeros((REPLICATES, P))
        copies = np.zeros((REPLICATES, N_OWNERS, P))
        step = steps.step[0]
        for k in range(T):
            chosen = owners[k]
            point = (central + copies[rows, chosen]) / 2
            answer = np.matmul(gram[chosen], point[:, :, None])[:, :, 0] - moment[chosen]
            answer = 2 * answer + noise.scale[0] * draws[k]
            copies[rows, chosen] = np.clip(steps.shrink_copy * point - step * answer, -1e5, 1e5)
            central = np.clip(steps.shrink_central * point, -1e5, 1e5)
        return central

    def ours():
        fresh = Streams(1)
        scopes = [fresh.within("replicate", r) for r in range(REPLICATES)]
        path = replay(traces, steps, Reply(objective, noise), scopes, record_every=1)
        return objective.relative_fitness(path.central)

    loop, replayed = best_times(bare, ours)
    each = 1000 * replayed / REPLICATES
    record_property("ratio", replayed / loop)
    print(
        f"replay {each:.2f} ms per 1000 updates per replicate, bare lockstep "
        f"{1000 * loop / REPLICATES:.2f} ms: {replayed / loop:.2f} times"
    )
    assert replayed <= 2.5 * loop
