"""FedAsync by hand, and over stale answers."""

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.learning.algorithms import FedAsync, Setting, Turn
from asyncdp_sim.learning.algorithms.central import FedAsyncSteps
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec import parse
from asyncdp_sim.streams import Streams

SCOPE = [Streams(1).within("replicate", 1)]
WEIGHTS = np.array([0.25, 0.75])


def made(**fields: object) -> FedAsyncSteps:
    spec = FedAsync(**{"step": 0.5, "mixing": 0.8, **fields})
    return spec.steps(Setting(WEIGHTS, 1, 100, 0.2, None))


def test_one_update_by_hand() -> None:
    """θ = 0, read at 2 with Q = 3 from owner 2: x = 2 − ½(0.2·2 + 2·¾·3) = −0.45."""
    steps = made(weighting="constant")
    state = steps.init(SCOPE)
    point, answer = np.array([[2.0]]), np.array([[3.0]])
    steps.apply(state, Turn(np.array([1]), np.array([4])), point, answer)
    assert state.central[0, 0] == pytest.approx(0.8 * -0.45)
    assert point[0, 0] == 2.0


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"weighting": "constant"}, [1.0, 1.0, 1.0, 1.0]),
        ({"weighting": "polynomial", "exponent": 0.5}, [1.0, 0.5**0.5, 0.5, 10**-0.5]),
        ({"weighting": "hinge", "exponent": 2.0, "patience": 3.0}, [1.0, 1.0, 1.0, 1 / 13]),
        ({"weighting": "polynomial", "exponent": 0.0}, [1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_weights_of_stale_answers(fields: dict[str, object], expected: list[float]) -> None:
    found = made(**fields).weight(Turn(np.zeros(4, dtype=np.int64), np.array([0, 1, 3, 9])))
    assert found[:, 0] == pytest.approx(expected)


def test_a_stale_answer_moves_the_model_less() -> None:
    moved = []
    for late in (0, 8):
        steps = made()
        state = steps.init(SCOPE)
        answer = np.array([[1.0]])
        steps.apply(state, Turn(np.array([0]), np.array([late])), np.array([[0.0]]), answer)
        moved.append(abs(float(state.central[0, 0])))
    assert moved[1] == pytest.approx(moved[0] / 3)


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


def test_copies_of_owners_are_refused_by_name() -> None:
    with pytest.raises(SpecError, match=r"protocol\.payload: given 'all-copies'; algorithm fedas"):
        scenario("replay", protocol={**BROADCAST, "payload": "all-copies"})
