"""Every algorithm: its formula in a few lines, projection, live = replay, cells in one fold."""

from collections.abc import Callable, Iterable
from dataclasses import is_dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal, get_args

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import FAMILY, kind_of, members
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, AnyAlgorithm, FedAsync, Setting
from asyncdp_sim.learning.answers import AnswerModel, Sample
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.objectives.models import LinearObjective
from asyncdp_sim.learning.recording import Trajectory
from asyncdp_sim.learning.replay import CellTask, alike, fold, replay, replay_together
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.scenario.fields import examples_of
from asyncdp_sim.trace import Trace
from tests.conformance.members import FAMILIES, examples, said
from tests.one_in import one_in
from tests.oracles import Basis, marked, oracles
from tests.scenes import EXACT, scenario
from tests.together import together
from tests.unit.learning.problems import same_path

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


def sample_of(algorithm: AnyAlgorithm) -> Sample | None:
    if algorithm.sample is None:
        return None
    return Sample(LinearRecords(*RECORDS), algorithm.sample)


def reply_of(algorithm: AnyAlgorithm, objective: LinearObjective | Quadratic) -> AnswerModel:
    gradients = steps_of(algorithm, objective).answered_with(objective)
    return AnswerModel(gradients, NOISE, sample_of(algorithm))


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


# Every algorithm without noise equals a few lines written from its formula; others are refused.
#
# The references know owners, read times and answers from the trace alone, one replicate at a time.

REFERENCE = pytest.mark.oracle("models without noise")

Model = np.ndarray
SILENT = LaplaceNoise(np.zeros(N))
SHARE = np.array([len(y) for y in RECORDS[1]]) / sum(len(y) for y in RECORDS[1])


def slope(owner: int, theta: Model) -> Model:
    """Owner i's (from 0) mean gradient of (y − θᵀx)²."""
    x, y = RECORDS[0][owner], RECORDS[1][owner]
    return 2 * x.T @ (x @ theta - y) / len(y)


def boxed(theta: Model) -> Model:
    return np.clip(theta, -BOX, BOX)


def went(spec: Any, owner: int, read: Model, step: float, weight: float = 1.0) -> Model:
    """How far an owner goes from what it read: its gradients are taken in the box."""
    at = read
    for number in range(spec.local_steps or 1):
        at = at if number == 0 else boxed(at)
        at = at - step * (SIGMA * at + weight * slope(owner, at))
    return read - at


def async_gossip(spec: Any, trace: Trace, theta: Model) -> Model:
    rate = spec.rho / (T**2 * SIGMA) if spec.step is None else spec.step / N
    central = rate / 2 if spec.central_step == "proof" else rate * (N - 1) / N
    copies = {i: theta[i + 1].copy() for i in range(N)}
    learner = theta[0].copy()
    for i in trace.updates["owner"] - 1:
        bar = (learner + copies[i]) / 2
        step = (SIGMA * bar / (2 * N) + SHARE[i] * slope(i, bar)) / often(spec, i + 1)
        copies[i] = boxed(bar - N * rate * step)
        learner = boxed(bar - central * SIGMA * bar)
    return learner


def rounds(trace: Trace) -> list[list[int]]:
    """Return the owners (from 0) of every round's answers."""
    used = trace.updates
    return [(used["owner"][used["k"] == k] - 1).tolist() for k in range(1, trace.n_updates + 1)]


def descent(owners: list[int], theta: Model) -> Model:
    answers = np.array([slope(i, theta) for i in owners])
    return SIGMA * theta + SHARE[owners] @ answers / SHARE[owners].sum()


def collab_1(spec: Any, trace: Trace, theta: Model) -> Model:
    theta = boxed(theta)
    for k, owners in enumerate(rounds(trace), 1):
        theta = boxed(theta - spec.rho / (T**2 * k) * descent(owners, theta))
    return theta


def collab_2(spec: Any, trace: Trace, theta: Model) -> Model:
    theta, mean, lead = boxed(theta), np.zeros(P), 1 / np.sqrt(T)
    for k, owners in enumerate(rounds(trace), 1):
        mean = (k - 1) / (lead + k) * mean + (lead + 1) / (lead + k) * theta
        theta = boxed(theta - spec.step / np.sqrt(k) * descent(owners, theta))
    return mean


def parameter_server(spec: Any, trace: Trace, theta: Model) -> Model:
    theta, local = boxed(theta), spec.local_steps or 1
    for k, owners in enumerate(rounds(trace), 1):
        if local > 1:  # the owners' mean model is what a step of Eη ends at
            far = np.array([went(spec, i, theta, spec.local_step) for i in owners])
            mean = SHARE[owners] @ far / SHARE[owners].sum()
            theta = boxed(theta - spec.step * k**-spec.exponent / (local * spec.local_step) * mean)
            continue
        theta = boxed(theta - spec.step * k**-spec.exponent * descent(owners, theta))
    return theta


def worth(spec: Any, late: int) -> float:
    if spec.weighting == "polynomial":
        return float((1 + late) ** -spec.exponent)
    beyond = max(0, late - spec.patience) if spec.weighting == "hinge" else 0
    return float(1 / (spec.exponent * beyond + 1))


def often(spec: Any, owner: int) -> float:
    """How often an owner (from 1) answers, over how often if all did alike, where that counts."""
    return float(N * SHARES[owner - 1]) if spec.selection == "inverse-rate" else 1.0


def fedasync(spec: Any, trace: Trace, theta: Model) -> Model:
    path = [theta]
    for _, _, owner, _, late, *_ in trace.updates.tolist():
        read = path[-1 - late]
        far = went(spec, owner - 1, read, spec.step, N * SHARE[owner - 1])
        local = read - far / often(spec, owner)
        mixing = spec.mixing * worth(spec, late)
        path.append(boxed((1 - mixing) * path[-1] + mixing * local))
    return path[-1]


def fedbuff(spec: Any, trace: Trace, theta: Model) -> Model:
    path, used = [theta], trace.updates
    for k in range(1, trace.n_updates + 1):
        total = np.zeros(P)
        for _, _, owner, _, late, *_ in used[used["k"] == k].tolist():
            far = went(spec, owner - 1, path[-1 - late], spec.step, N * SHARE[owner - 1])
            total += worth(spec, late) * far / often(spec, owner)
        path.append(boxed(path[-1] - spec.server_step / spec.buffer * total))
    return path[-1]


def noisy_statistics(spec: Any, trace: Trace, theta: Model) -> Model:  # noqa: ARG001
    answered = trace.updates["owner"] - 1
    share = SHARE[answered] / SHARE[answered].sum()
    gram, moment = SIGMA / 2 * np.eye(P), np.zeros(P)
    for weight, i in zip(share, answered, strict=True):
        x, y = RECORDS[0][i], RECORDS[1][i]
        gram += weight * x.T @ x / len(y)
        moment += weight * x.T @ y / len(y)
    return boxed(np.linalg.solve(gram, moment))


def averaging(spec: Any, trace: Trace, theta: Model) -> Model:  # noqa: ARG001
    """Gossip of owners without a learner: its first example, a complete graph."""
    start = boxed(np.full(P, 0.0 if spec.initial == "zeros" else 1.0))
    own = [start - spec.step * (SIGMA * start + N * SHARE[i] * slope(i, start)) for i in range(N)]
    nodes = [start - spec.step * SIGMA * start for _ in range(N)]
    fresh = set(range(N))
    pairs = {(int(u["k"]), *sorted((int(u["owner"]), int(u["peer"])))) for u in trace.updates}
    for _, a, b in sorted(pairs):
        for i in (a - 1, b - 1):
            if i in fresh:
                nodes[i] = own[i]
                fresh.discard(i)
        nodes[a - 1] = nodes[b - 1] = (nodes[a - 1] + nodes[b - 1]) / 2
    return boxed(nodes[0] if spec.judged == "owner" else np.mean(nodes, axis=0))


REFERENCES: dict[str, Callable[[Any, Trace, Model], Model]] = {
    "async-gossip": async_gossip,
    "collab-1": collab_1,
    "collab-2": collab_2,
    "parameter-server": parameter_server,
    "fedasync": fedasync,
    "fedbuff": fedbuff,
    "noisy-statistics": noisy_statistics,
    "averaging": averaging,
}
ELSEWHERE = {
    "gossip-graph": "tests/unit/learning/test_gossip_graph.py, row by row",
    "polar": "tests/unit/learning/test_polar.py, given the same perturbations",
}
"""Algorithms whose reference needs more than the trace, and where it is."""


class New(FedAsync):
    """An algorithm of which nobody has written a reference."""

    kind: Literal["new"] = "new"


WHOLE = [spec for spec in examples(AnyAlgorithm) if spec.kind in REFERENCES and spec.sample is None]


@REFERENCE
def test_every_algorithm_has_a_reference():
    kinds = {kind_of(member) for member in members(AnyAlgorithm)}
    remedy = "write it from its formula into REFERENCES, and its class into the kinds of REFERENCE"
    assert kinds == REFERENCES.keys() | ELSEWHERE.keys(), remedy


def claimed(referred: Iterable[str]) -> set[str]:
    """Algorithms that are said to equal a reference, without having one, or the other way round."""
    [oracle] = [each for each in oracles() if each.statistic == REFERENCE.args[0]]
    stated = {kind_of(each) for each in members(AnyAlgorithm) if each.__name__ in oracle.kinds}
    return stated ^ set(referred)


def test_the_register_names_a_reference_only_where_there_is_one():
    """Not of a new algorithm, which joins the union before anybody has written its formula."""
    referred = REFERENCES.keys() | ELSEWHERE.keys()
    assert claimed(referred) == set()
    assert claimed(referred - {"fedasync"}) == {"fedasync"}


def test_an_algorithm_that_is_new_in_the_union_is_not_exact(monkeypatch):
    """With a copy of the register as it is made with one more member."""
    monkeypatch.setitem(FAMILIES, "algorithm", Annotated[get_args(AnyAlgorithm)[0] | New, FAMILY])
    made = marked()
    bases = {each.basis for each in made if "New" in each.kinds}
    assert bases == {Basis.replay}
    assert {each.basis for each in made if "FedAsync" in each.kinds} > bases


@together
@REFERENCE
@pytest.mark.parametrize("algorithm", WHOLE, ids=said)
def test_without_noise_it_equals_its_reference(algorithm):
    quadratic = Quadratic.from_records(*RECORDS, SIGMA, BOX)
    steps, traces = steps_of(algorithm, quadratic), traces_of(algorithm)
    answers = reply_of(algorithm, quadratic).gradients
    path = replay(traces, steps, AnswerModel(answers, SILENT), scopes(), 1)
    initial = steps.init(scopes())
    for r, trace in enumerate(traces):
        start = initial.central[r]
        if hasattr(initial, "copies"):
            start = np.vstack([start[None], initial.copies[r]])
        expected = REFERENCES[algorithm.kind](algorithm, trace, start)
        assert trace.n_updates > 5
        assert np.allclose(path.final[r], expected, rtol=0, atol=1e-12)


@together
@pytest.mark.parametrize("algorithm", members(AnyAlgorithm), ids=kind_of)
@pytest.mark.parametrize("protocol", members(Protocol), ids=kind_of)
def test_other_protocols_are_refused_by_name(algorithm, protocol):
    if algorithm.runs_on(protocol):
        return
    spec = next(each for each in examples(AnyAlgorithm) if type(each) is algorithm)
    asked = next(each for each in examples(Protocol) if type(each) is protocol)
    with pytest.raises(SpecError) as caught:
        scenario(
            protocol=asked.model_dump(exclude_none=True),
            algorithm=spec.model_dump(exclude_none=True),
            privacy=EXACT,
        )
    faults = {fault.key: fault for fault in caught.value.faults}
    assert f"algorithm {spec.kind} runs on " in faults["protocol.kind"].allowed


# Cells of a sweep as rows of one fold: each has the bits that it has alone, in every algorithm.

FACTORS = (1.0, 0.7, 1.3, 0.9)
"""By which a cell's numbers are other ones than another's."""
OTHER = [x[:, ::-1].copy(order="F") for x in RECORDS[0]], RECORDS[1]


def varied(held: Any, factor: float) -> Any:
    """Return an algorithm with each number that may differ between rows times a factor."""
    values = {name: getattr(held, name) for name in held.by_row}
    changes = {
        name: varied(value, factor) if is_dataclass(value) else value * factor
        for name, value in values.items()
        if value is not None
    }
    return replace(held, **changes)


def cells_of(algorithm: AnyAlgorithm, protocol: Any = None) -> list[CellTask]:
    """Cells of other steps, boxes, noise and records."""
    shares = SHARES if algorithm.needs_shares else None
    protocol = network_of(algorithm).protocol if protocol is None else protocol
    found = []
    for place, factor in enumerate(FACTORS):
        objective = Quadratic.from_records(*(RECORDS if place < 2 else OTHER), SIGMA, BOX)
        setting = Setting(objective.weights, P, T, SIGMA, BOX, shares, protocol, NOISE.scale)
        steps = varied(algorithm.steps(setting), factor)
        noise, gradients = LaplaceNoise(factor * NOISE.scale), steps.answered_with(objective)
        found.append(CellTask(steps, AnswerModel(gradients, noise, sample_of(algorithm)), 3))
    return found


def alone(traces: list[Any], cell: CellTask, asks: Any = "average") -> Trajectory:
    [path] = fold(traces, [replace(cell, watch=None)], scopes(len(traces)), asks)
    return path


def held_to_each_alone(traces: list[Any], cells: list[CellTask], asks: Any = "average") -> None:
    assert len({alike(cell) for cell in cells}) == 1
    assert alike(cells[0]) is not None
    found = dict(replay_together(traces, cells, lambda: scopes(len(traces)), asks))
    expected = [alone(traces, cell, asks) for cell in cells]
    for number, path in enumerate(expected):
        same_path(found[number], path)
    finals = {path.final.tobytes() for path in expected}
    assert len(finals) == len(cells), "cells that end alike show nothing"


@one_in(2, "algorithm", ALGORITHMS, ids=said)
def test_a_mixed_batch_has_the_bits_of_each_cell_alone(algorithm):
    for count in (1, 2, R):
        held_to_each_alone(traces_of(algorithm)[:count], cells_of(algorithm))


@together
@pytest.mark.parametrize(("algorithm", "kind"), ON_EACH, ids=str)
def test_on_each_of_its_protocols(algorithm, kind):
    network = network_of(algorithm, kind)
    traces = [simulate(network, scope) for scope in scopes(2)]
    held_to_each_alone(traces, cells_of(algorithm, network.protocol), network.protocol.asks)


@together
@EACH
def test_every_number_of_a_step_may_differ(algorithm):
    """But for those by which randomness is drawn, and a solver's."""
    steps = cells_of(algorithm)[0].steps
    fixed = {"start", "begin"} if algorithm.kind == "averaging" else set()  # 0 times any factor
    apart = {"polar": {"theta_max", "total", "bound", "additive"}}
    apart["noisy-statistics"] = {"sigma", "caution"}
    real = {
        field
        for field, value in vars(steps).items()
        if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype == np.float64)
    }
    missing = real - set(steps.by_row) - fixed
    assert missing == apart.get(str(algorithm.kind), set()), f"{type(steps).__name__}.by_row"
