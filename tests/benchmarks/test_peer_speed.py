"""An update against a published peer's: pfl-research's simulated rounds with one client each.

``pfl`` (Apple, Apache-2.0) simulates federated rounds. Its backend samples the client, takes what
the client computes through postprocessors (here its Laplace mechanism), and aggregates; nothing
of its own models' frameworks is loaded. The client computes its gradient from second moments, so
that what is timed is what a round costs beside the arithmetic. It simulates no time, no requests
and no channel, and no copies of owners.

Its requirements exclude the ``dp-accounting`` of this package, so it is no extra of it; whoever
wants this benchmark adds it with ``pip install --no-deps pfl multiprocess dill prv-accountant``
(run with 0.6.0).
"""

import asyncio

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import FedAsync, Setting
from asyncdp_sim.learning.answers import Reply
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.privacy import Declared, Privacy
from asyncdp_sim.streams import Streams
from tests.benchmarks.ratio import best_times, report

pytestmark = pytest.mark.benchmark
N_OWNERS, P, T = 86, 10, 1000
STEP, CLIP = 1e-4, 5.0


def rounds(objective):
    """Return a run of T of its rounds, one client each."""
    pytest.importorskip("pfl", reason="pfl-research's rounds: pfl is not installed")
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import FederatedAlgorithm
    from pfl.common_types import Population
    from pfl.context import CentralContext
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.hyperparam.base import AlgorithmHyperParams, ModelHyperParams
    from pfl.metrics import Metrics
    from pfl.model.base import Model
    from pfl.privacy.laplace_mechanism import LaplaceMechanism
    from pfl.stats import MappedVectorStatistics

    class Linear(Model):
        def __init__(self):
            self.theta = np.zeros(P)

        def apply_model_update(self, statistics):
            self.theta -= STEP * statistics["gradient"]
            return self, Metrics()

    class OneClient(FederatedAlgorithm):
        def get_next_central_contexts(self, model, iteration, algorithm_params, train, judge=None):
            if iteration == T:
                return None, model, Metrics()
            context = CentralContext(
                current_central_iteration=iteration,
                do_evaluation=False,
                cohort_size=1,
                population=Population.TRAIN,
                algorithm_params=algorithm_params,
                model_train_params=train,
                model_eval_params=judge,
                seed=self._get_seed(),
            )
            return (context,), model, Metrics()

        def simulate_one_user(self, model, user_dataset, central_context):  # noqa: ARG002
            gram, moment = user_dataset.raw_data
            gradient = 2 * (gram @ model.theta - moment)
            return MappedVectorStatistics({"gradient": gradient}), Metrics()

        def process_aggregated_statistics(self, context, metrics, model, statistics):  # noqa: ARG002
            return model.apply_model_update(statistics)

    clients = [
        Dataset((objective.gram[i], objective.moment[i]), user_id=str(i)) for i in range(N_OWNERS)
    ]
    chosen = np.random.default_rng(1)
    data = FederatedDataset(clients.__getitem__, lambda: int(chosen.integers(N_OWNERS)))

    def run():
        backend = SimulatedBackend(data, data, [LaplaceMechanism(CLIP, 1.0 / T)])
        how = {"model_train_params": ModelHyperParams(), "send_metrics_to_platform": False}
        return OneClient().run(AlgorithmHyperParams(), backend, Linear(), **how)

    return run


def test_against_rounds_of_one_client(record_property):
    generator = np.random.default_rng(1)
    features = [generator.standard_normal((1000, P)) for _ in range(N_OWNERS)]
    targets = [x.sum(axis=1) + generator.standard_normal(len(x)) for x in features]
    objective = Quadratic.from_records(features, targets, 1e-5, 1e5)
    peer = rounds(objective)
    steps = FedAsync(step=STEP, mixing=1.0).steps(Setting(objective.weights, P, T, 1e-5, 1e5))
    privacy = Privacy(epsilon=1.0, sensitivity=Declared(bound=CLIP))
    reply = Reply(objective, privacy.noise_for(objective.records, T, CLIP, P))
    network = Network(answers_allowed=(T,) * N_OWNERS, updates=T)

    def ours():
        scope = Streams(1).within("replicate", 1)
        learning = LiveLearning(steps, reply, scope, T)
        simulate(network, scope, learning=learning, events=True)
        return learning.trajectory()

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)  # its rounds are coroutines
    try:
        mine, theirs = best_times(ours, peer, rounds=5)
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    report(
        record_property,
        "1000 updates simulated with events and learned live, N = 86, p = 10",
        ours=1e3 * mine,
        baseline=1e3 * theirs,
        against="1000 rounds of one client in pfl-research",
        unit="ms",
        at_least=1.0,
    )
