"""FedAsync by hand, and over stale answers."""

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import FedAsync, Setting
from asyncdp_sim.learning.algorithms.central import FedAsyncSteps
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import parse

WEIGHTS = np.array([0.25, 0.75])


def made(**fields: object) -> FedAsyncSteps:
    spec = FedAsync(**{"step": 0.5, "mixing": 0.8, **fields})
    return spec.steps(Setting(WEIGHTS, 1, 100, 0.2, None))


def scenario(learning: str, **parts: object) -> Scenario:
    fields = {
        "id": "fedasync",
        "run": {"updates": 60, "replicates": 3, "learning": learning},
        "owners": {"count": 3, "records": 20},
        "data": {"kind": "gaussian", "features": 3, "heterogeneity": 0.5},
        "model": {"kind": "ridge", "regularisation": 0.1, "theta_max": 50.0},
        "latency": {"answer": {"kind": "exponential", "mean": 0.5}},
        "algorithm": {"kind": "fedasync", "step": 0.1, "mixing": 0.7},
        "privacy": {"mechanism": "laplace", "epsilon": 50.0}
        | {"sensitivity": {"kind": "clip", "bound": 5.0}},
        **parts,
    }
    return parse(Scenario, fields)


BROADCAST = {"kind": "broadcast", "interval": 0.5, "own_tick": "overlap"}


@pytest.mark.parametrize(
    "protocol", [{"kind": "request"}, {"kind": "push", "own_tick": "overlap"}, BROADCAST]
)
def test_live_equals_replay_with_stale_answers(protocol: dict[str, object]) -> None:
    lived, replayed = (run(scenario(how, protocol=protocol)) for how in ("live", "replay"))
    assert lived.fingerprints == replayed.fingerprints
    stale = max(int(trace.updates["staleness"].max()) for trace in lived.traces)
    assert (stale > 0) is (protocol["kind"] != "request")


def test_staleness_counts() -> None:
    push = {"kind": "push", "own_tick": "overlap"}
    algorithm = {"kind": "fedasync", "step": 0.1, "mixing": 0.7}
    finals = [
        run(scenario("replay", protocol=push, algorithm=algorithm | {"exponent": a})).learned.models
        for a in (0.0, 0.5)
    ]
    assert not np.array_equal(finals[0], finals[1])
