"""Every algorithm: shapes, determinism, projection, replicates apart, live = replay."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import kind_of, members
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, AnyAlgorithm, Setting
from asyncdp_sim.learning.answers import AnswerModel, Sample
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.objectives.models import LinearObjective
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.scenario.fields import examples_of
from asyncdp_sim.trace import Trace
from tests.conformance.members import examples, said
from tests.one_in import one_in
from tests.together import together

ORACLE = pytest.mark.oracle("models learned live, inside the network")

ALGORITHMS = examples(AnyAlgorithm)
EACH = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=said)
ON_EACH = [
    (examples_of(algorithm)[0], kind_of(protocol))
    for algorithm in members(AnyAlgorithm)
    for protocol in members(Protocol)
    if algorithm.runs_on(protocol)
]
N, P, T, R = 3, 4, 30, 5
SIGMA, BOX = 0.3, 0.5
SHARES = np.array([0.5, 0.2, 0.3])
"""Of the updates, as algorithms are told that divide by them."""
NETWORK = Network(
    answers_allowed=(12,) * N,
    updates=T,
    until=17.0,
    latency=Latency(request=Exponential(mean=0.1), answer=Exponential(mean=0.2)),
)
NOISE = LaplaceNoise(np.array([0.1, 0.0, 2.0]))


def _records() -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(1)
    x = [rng.normal(size=(n, P)) for n in (30, 10, 20)]
    return x, [a @ np.arange(1.0, P + 1) + rng.normal(size=len(a)) for a in x]


RECORDS = _records()


def scopes(count: int = R) -> list[Scope]:
    return [Streams(1).within("replicate", r) for r in range(1, count + 1)]


@pytest.fixture(scope="module")
def quadratic() -> Quadratic:
    return Quadratic.from_records(*RECORDS, SIGMA, BOX)


def network_of(algorithm: AnyAlgorithm, kind: str | None = None) -> Network:
    """A network under one of its protocols, the first unless told otherwise."""
    fitting = (each for each in examples(Protocol) if algorithm.runs_on(each))
    protocol = next(each for each in fitting if kind is None or each.kind == kind)
    several = None if protocol.makes_updates else algorithm.answers_per_update
    changed: dict[str, Any] = {"answers_per_update": several, "protocol": protocol}
    if protocol.kind == "rounds":  # some of which lack some answers, or all
        changed |= {"channel": Ideal(loss=0.4), "until": 6.0, "answers_allowed": (T,) * N}
    if protocol.kind == "servers":
        changed |= {"until": 7.0, "answers_allowed": (T,) * N}
    return NETWORK.model_copy(update=changed)


def reply_of(algorithm: AnyAlgorithm, objective: LinearObjective | Quadratic) -> AnswerModel:
    sample = None
    if algorithm.sample is not None:
        sample = Sample(LinearRecords(*RECORDS), algorithm.sample)
    return AnswerModel(steps_of(algorithm, objective).answered_with(objective), NOISE, sample)


def everybody(algorithm: AnyAlgorithm, owners: list[int]) -> AnswerBatch:
    rows = None if algorithm.answers_per_update is not None else np.arange(len(owners))
    peers = (np.array(owners) + 1) % N + 1  # where there are neighbours, the next
    return AnswerBatch(np.array(owners), peers=peers, rows=rows)


@cache
def traces_of(algorithm: AnyAlgorithm) -> list[Trace]:
    return [simulate(network_of(algorithm), scope) for scope in scopes()]


def steps_of(algorithm, objective, box=BOX):
    protocol = network_of(algorithm).protocol
    shares = SHARES if algorithm.needs_shares else None
    return algorithm.steps(Setting(objective.weights, P, T, SIGMA, box, shares, protocol))


def replayed(algorithm, quadratic, every, count=R):
    steps, traces = steps_of(algorithm, quadratic), traces_of(algorithm)[:count]
    return replay(traces, steps, reply_of(algorithm, quadratic), scopes(count), every)


@together
@EACH
def test_a_query_is_a_copy_and_changes_nothing(algorithm, quadratic):
    steps = steps_of(algorithm, quadratic)
    state = steps.init(scopes())
    before = state.central.copy()
    turn = everybody(algorithm, [0] * R)
    points = steps.query(state, turn)
    kept = points.copy()
    points[:] = np.nan
    assert np.array_equal(state.central, before)
    assert np.array_equal(steps.query(state, turn), kept)


@together
@EACH
def test_models_stay_in_the_box_and_projections_are_counted(algorithm, quadratic):
    found = replayed(algorithm, quadratic, 1)
    for r in range(R):
        assert np.abs(found.models(r)[1:]).max() <= BOX
    assert np.all(found.clipped > 0)
    assert np.all(found.clipped <= found.updates)
    free = steps_of(algorithm, quadratic, 1e6)  # wide, since some need one
    wide = replay(traces_of(algorithm), free, reply_of(algorithm, quadratic), scopes(), 1)
    assert not wide.clipped.any()


@ORACLE
@EACH
@one_in(2, "every", [1, 7])
def test_live_equals_replay(algorithm, quadratic, every):
    """Each replicate alone and by itself, so that none touches another where all are replayed."""
    path = replayed(algorithm, quadratic, every)
    for r, scope in enumerate(scopes()):
        steps = steps_of(algorithm, quadratic)
        live = LiveLearning(steps, reply_of(algorithm, quadratic), scope, every)
        trace = simulate(network_of(algorithm), scope, learning=live)
        assert trace.exchanges.tolist() == traces_of(algorithm)[r].exchanges.tolist()
        found = live.trajectory()
        assert np.array_equal(found.ks(0), path.ks(r))
        assert np.array_equal(found.models(0), path.models(r))
        assert found.clipped[0] == path.clipped[r]


@together
@ORACLE
@pytest.mark.parametrize(("algorithm", "kind"), ON_EACH, ids=str)
def test_live_equals_replay_on_each_of_its_protocols(algorithm, kind, quadratic):
    network = network_of(algorithm, kind)
    setting = Setting(quadratic.weights, P, T, SIGMA, BOX, protocol=network.protocol)
    steps, asks = algorithm.steps(setting), network.protocol.asks
    reply = AnswerModel(steps.answered_with(quadratic), NOISE)
    lives = [LiveLearning(steps, reply, scope, 1, asks) for scope in scopes(2)]
    pairs = zip(lives, scopes(2), strict=True)
    traces = [simulate(network, scope, learning=live) for live, scope in pairs]
    trajectory = replay(traces, steps, reply, scopes(2), 1, asks)
    for r, live in enumerate(lives):
        assert np.array_equal(live.trajectory().models(0), trajectory.models(r))


@together
@EACH
def test_the_traces_end_at_different_updates(algorithm):
    assert len({trace.n_updates for trace in traces_of(algorithm)}) > 1


@together
@EACH
def test_models_start_in_the_box(algorithm, quadratic):
    """Or the first query would be where no bound on a gradient holds."""
    steps = steps_of(algorithm, quadratic)
    state = steps.init(scopes())
    asked = steps.query(state, everybody(algorithm, [0, 1, 2, 0, 1]))
    models = [
        asked,
        state.central,
        *(getattr(state, name, state.central) for name in ("copies", "model")),
    ]
    assert max(np.abs(model).max() for model in models) <= BOX
