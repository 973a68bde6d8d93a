"""Synchronous algorithms: against short references, by brute force, live, and in whole runs."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.learning.algorithms import (
    AnswerBatch,
    AnyAlgorithm,
    Collab1,
    ParameterServer,
    Setting,
)
from asyncdp_sim.learning.algorithms.gathered import GatheredState
from asyncdp_sim.learning.answers import AnswerModel, Sample
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.recording import Trajectory
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Rounds
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.trace import Trace
from tests.unit.learning.problems import records
from tests.unit.learning.problems import scopes as replicates

scopes = partial(replicates, seed=3)

N, P, T, SIGMA = 3, 4, 30, 0.3
SIZES = (30, 10, 20)
X, Y = records(N, SIZES, P)
WEIGHTS = np.array(SIZES) / sum(SIZES)
SILENT = LaplaceNoise(np.zeros(N))


def objective(box: float | None = None) -> Quadratic:
    return Quadratic.from_records(X, Y, SIGMA, box)


def network(**parts: Any) -> Network:
    """Everybody answers every round, in an order of its own."""
    fields = {"answers_allowed": (T,) * N, "updates": T, "compute": Exponential(mean=0.2)}
    return Network(**{"protocol": Rounds(), "answers_per_update": None, **fields, **parts})


def learned(
    algorithm: AnyAlgorithm, reply: AnswerModel, box: float | None = None
) -> tuple[Trace, Trajectory]:
    trace = simulate(network(), scopes()[0])
    steps = algorithm.steps(Setting(WEIGHTS, P, T, SIGMA, box))
    return trace, replay([trace], steps, reply, scopes(), 1, "central")


def gradient(theta: np.ndarray, rows: list[np.ndarray] | None = None) -> np.ndarray:
    """∇f, record by record: σθ + (1/n) Σ 2(θᵀx − y)x; or over some of each owner's records."""
    total = SIGMA * theta
    for i in range(N):
        some = range(SIZES[i]) if rows is None else rows[i].tolist()
        each = [2 * (X[i][j] @ theta - Y[i][j]) * X[i][j] for j in some]
        total = total + WEIGHTS[i] * np.mean(each, axis=0)
    return total


@pytest.mark.parametrize("batch", [None, 4])
def test_the_parameter_server_is_its_ten_lines(batch: int | None) -> None:
    """Its batches are the rows of one stream, in the order in which answers arrive."""
    algorithm = ParameterServer(step=0.1, exponent=0.75, batch=batch)
    sample = None if batch is None else Sample(LinearRecords(X, Y), batch)
    trace, path = learned(algorithm, AnswerModel(objective(), SILENT, sample))
    draws = None if batch is None else scopes()[0].generator("batch").random((N * T, batch))
    orders = trace.updates["owner"].reshape(T, N) - 1
    assert len({tuple(order) for order in orders.tolist()}) == 6
    theta = np.zeros(P)
    for k in range(1, T + 1):
        rows = None
        if draws is not None:
            rows = [np.empty(0, int)] * N
            for place, owner in enumerate(orders[k - 1]):
                rows[owner] = (draws[N * (k - 1) + place] * SIZES[owner]).astype(int)
        theta = theta - 0.1 * k**-0.75 * gradient(theta, rows)
        assert np.abs(path.models(0)[k] - theta).max() <= 1e-12


def gathered(replicates: int, features: int, turns: list[AnswerBatch], answers: list[Any]) -> Any:
    """Return the direction of one round at θ = 0 and σ = 0: the mean of its answers."""
    setting = Setting(np.full(9, 1 / 9), features, 1, 0.0, None)
    steps = Collab1(rho=1.0).steps(setting)
    state = steps.init(scopes(replicates))
    for turn, found in zip(turns, answers, strict=True):
        steps.apply(state, turn, np.zeros_like(found), found.copy())
    rows = np.unique(np.concatenate([turn.rows for turn in turns]))
    steps.update(state, rows)
    assert isinstance(state, GatheredState)
    assert (state.batches, state.answers) == ([], [])
    return -state.central


def test_one_coordinate_of_one_replicate_has_the_same_bits_alone() -> None:
    """Nine answers of one number each, summed alone or beside another replicate."""
    answers = np.random.default_rng(5).normal(size=(9, 2, 1))
    alone, both = np.array([0]), np.array([0, 1])
    one = [AnswerBatch(np.array([i]), rows=alone) for i in range(9)]
    two = [AnswerBatch(np.array([i, i]), rows=both) for i in range(9)]
    found = gathered(1, 1, one, list(answers[:, :1]))
    assert found[0, 0] == gathered(2, 1, two, list(answers))[0, 0]


@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf])
def test_a_replicate_that_diverged_is_the_same_beside_one_with_more_answers(lost: float) -> None:
    answers = np.array([[[1.0], [1.0]], [[lost], [2.0]], [[0.0], [3.0]]])
    alone, both = np.array([0]), np.array([0, 1])
    one = [AnswerBatch(np.array([i]), rows=alone) for i in range(2)]
    two = [AnswerBatch(np.array([i, i]), rows=both) for i in range(2)]
    two.append(AnswerBatch(np.array([2]), rows=np.array([1])))
    both_found = [answers[0], answers[1], answers[2, 1:]]
    found = gathered(1, 1, one, [answers[0, :1], answers[1, :1]])
    together = gathered(2, 1, two, both_found)
    assert np.array_equal(found[0], together[0], equal_nan=True)


def test_weights_are_those_of_the_owners_that_answered() -> None:
    """Owners 1 and 3 of weights 1/2, 1/6, 1/3 answer 2 and 7: (1/2·2 + 1/3·7)/(5/6) = 4."""
    steps = Collab1(rho=1.0).steps(Setting(WEIGHTS, 1, 1, 0.0, None))
    state = steps.init(scopes(2))
    for owner, answer in ((2, 7.0), (0, 2.0)):
        turn = AnswerBatch(np.array([owner]), rows=np.array([1]))
        steps.apply(state, turn, np.zeros((1, 1)), np.array([[answer]]))
    steps.update(state, np.array([1]))
    assert state.central.ravel().tolist() == pytest.approx([0.0, -4.0])


def test_a_trim_of_0_is_read_and_written_as_older_versions_did() -> None:
    """Digests hold it, and so scenarios of results do; any other is refused as gone."""
    found = parse(Collab1, {"kind": "collab-1", "rho": 1.0, "trim": 0})
    assert found == Collab1(rho=1.0)
    assert found.model_dump() == {"kind": "collab-1", "trim": 0, "initial": "zeros", "rho": 1.0}
    assert found.model_dump(exclude_unset=True) == {"kind": "collab-1", "rho": 1.0}
    with pytest.raises(SpecError, match="'trim'"):
        Collab1(rho=1.0, trim=1)
