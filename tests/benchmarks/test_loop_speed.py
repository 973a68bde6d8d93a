"""Learning against the plain loop on second moments, one replicate after another, N = 86."""

from functools import partial

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AsyncGossip, Setting
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.learning.reply import AnswerModel
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.privacy import Declared, Privacy
from tests.benchmarks.loops import from_moments, gossip
from tests.benchmarks.ratio import best_times, report

pytestmark = pytest.mark.benchmark
N_OWNERS, P, T, REPLICATES = 86, 10, 1000, 100
SIGMA, RHO = 1e-5, 0.3


def test_against_the_plain_loop(record_property):
    generator = np.random.default_rng(1)
    features = [generator.standard_normal((1000, P)) for _ in range(N_OWNERS)]
    targets = [x.sum(axis=1) + generator.standard_normal(len(x)) for x in features]
    objective = Quadratic.from_records(features, targets, SIGMA, 1e5)
    steps = AsyncGossip(rho=RHO).steps(Setting(objective.weights, P, T, SIGMA, 1e5))
    noise = Privacy(epsilon=1.0, sensitivity=Declared(bound=5.0)).noise_for(
        objective.records, T, 5.0, P
    )
    network = Network(answers_allowed=(T,) * N_OWNERS, updates=T)

    def scopes(count):
        streams = Streams(1)
        return [streams.within("replicate", r) for r in range(count)]

    def live():
        [scope] = scopes(1)
        learning = LiveLearning(steps, AnswerModel(objective, noise), scope, 1)
        simulate(network, scope, learning=learning, events=True)
        return learning.trajectory()

    traces = [simulate(network, scope) for scope in scopes(REPLICATES)]

    def replayed():
        return replay(traces, steps, AnswerModel(objective, noise), scopes(REPLICATES), 1)

    def simulated():
        return [simulate(network, scope) for scope in scopes(REPLICATES)]

    plain = partial(
        gossip, from_moments(objective), noise.scale,
        n_owners=N_OWNERS, p=P, updates=T, rate=RHO / (T**2 * SIGMA), sigma=SIGMA,
    )  # fmt: skip
    loop, alone, learned, timed = best_times(plain, live, replayed, simulated, rounds=5)
    against = "a plain NumPy loop on second moments, without a network"
    told = partial(report, record_property, baseline=1e3 * loop, against=against, unit="ms")
    size = "N = 86, p = 10"
    told(
        f"1000 updates simulated with events and learned live, {size}",
        ours=1e3 * alone,
        at_least=0.25,
    )
    each = "each of 100 replicates"
    told(f"1000 updates replayed, {each}, {size}", ours=1e3 * learned / REPLICATES, at_least=10)
    both = 1e3 * (learned + timed) / REPLICATES
    told(f"1000 updates simulated and replayed, {each}, {size}", ours=both, at_least=1.0)
