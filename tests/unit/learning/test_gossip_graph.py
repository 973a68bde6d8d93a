"""Gossip on graphs by hand; the star is the published algorithm."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.learning.algorithms import AnswerBatch, AsyncGossip, GossipGraph, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.graphs import Complete, Edges, Ring, StarGraph
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Gossip
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.tables import table
from tests.unit.learning.problems import records
from tests.unit.learning.problems import scopes as replicates

scopes = partial(replicates, seed=9)

N, P, T, SIGMA, RHO = 4, 3, 25, 0.3, 60.0
PATH = Edges(between=[[1, 2], [2, 3], [3, 4]])
FIT = Quadratic.from_records(*records(3, (20, 10, 30, 15), P), SIGMA, None)
NOISE = LaplaceNoise(np.array([0.5, 0.1, 1.0, 0.2]))
SCENES = table(__file__, "scenes.toml")
BASE, STARS = SCENES["gossip-graph"], SCENES["ways"]["star"]
STAR = {"kind": "gossip", "graph": {"kind": "star"}}


def scenario(protocol: dict[str, Any], algorithm: dict[str, Any], **parts: Any) -> Scenario:
    return parse(Scenario, {**BASE, "protocol": protocol, "algorithm": algorithm, **parts})


@pytest.mark.parametrize("parts", STARS.values(), ids=STARS)
@one_in(2, "initial", ["zeros", "uniform"])
def test_the_star_is_the_published_algorithm(parts: dict[str, Any], initial: str) -> None:
    """The same wake-ups and rows of noise, so the same models at every update, to 1e-12."""
    if initial == "uniform" and "theta_max" in parts.get("model", {}):
        parts = parts | {"model": parts["model"] | {"theta_max": 1.1}}  # gossip starts in Θ
    common = {"rho": 60.0, "initial": initial}
    known = run(scenario({"kind": "request"}, {"kind": "async-gossip", **common}, **parts))
    found = run(scenario(STAR, {"kind": "gossip-graph", **common}, **parts))
    for one, two in zip(found.traces, known.traces, strict=True):
        assert one.update_ticks.tolist() == two.update_ticks.tolist()
        assert one.updates["owner"].tolist() == two.updates["owner"].tolist()
    scale = np.abs(known.learned.models).max()
    assert scale > 0.01
    assert np.abs(found.learned.models - known.learned.models).max() <= 1e-12 * scale
    psi, exact = (each.learned.curve["relative_fitness"] for each in (found, known))
    assert np.abs(psi - exact).max() <= 1e-12 * np.abs(exact).max()
    assert found.learned.clipped.tolist() == known.learned.clipped.tolist()


def steps(graph: Any, box: float | None = None, clock: Any = None, **fields: Any) -> Any:
    protocol = Gossip(graph=graph, clock=PoissonClock() if clock is None else clock)
    setting = Setting(FIT.weights, P, T, SIGMA, box, protocol=protocol)
    return GossipGraph(rho=RHO, **fields).steps(setting)


def test_the_stars_numbers_are_those_of_the_proof() -> None:
    setting = Setting(FIT.weights, P, T, SIGMA, None)
    found, known = steps(StarGraph()), AsyncGossip(rho=RHO).steps(setting)
    assert found.shrink == pytest.approx(known.shrink_copy, rel=1e-15)
    assert found.shrink_learner == pytest.approx(known.shrink_central, rel=1e-15)
    assert found.step == pytest.approx(known.step, rel=1e-15)


def test_steps_are_divided_by_how_often_a_node_wakes() -> None:
    """Owners 2 and 3 of a line are in two of its three edges, or in more of its wake-ups."""
    rate = RHO / T**2
    found = steps(PATH)
    pi = np.array([1, 2, 2, 1]) / 3
    assert found.step == pytest.approx(rate / SIGMA * FIT.weights / pi, rel=1e-14)
    assert found.shrink == pytest.approx(1 - rate / N / pi, rel=1e-14)
    assert (found.shrink_learner, found.n_nodes) == (None, 4)
    unequal = steps(PATH, clock=PoissonClock(rate=[1.0, 2.0, 5.0]))
    pi = np.array([1, 3, 7, 5]) / 8
    assert unequal.step == pytest.approx(rate / SIGMA * FIT.weights / pi, rel=1e-14)


def traces(graph: Any, count: int) -> list[Any]:
    network = Network(
        answers_allowed=(T,) * N,
        updates=T,
        answers_per_update=None,
        latency=Latency(query=Exponential(mean=0.2)),
        compute=Exponential(mean=0.3),
        protocol=Gossip(graph=graph),
    )
    return [simulate(network, scope) for scope in scopes(count)]


@pytest.mark.parametrize(
    "graph", [PATH, Ring(), Complete(), StarGraph()], ids=lambda graph: graph.kind
)
@pytest.mark.parametrize("box", [None, 0.4])
def test_replay_is_the_formula_row_by_row(graph: Any, box: float | None) -> None:
    """A slow twin: one update after the other, one node after the other, by the text."""
    made = traces(graph, 2)
    path = replay(made, steps(graph, box), AnswerModel(FIT, NOISE), scopes(2), 1)
    edges = graph.edges(N)
    for r, scope in enumerate(scopes(2)):
        noise = iter(NOISE.rows(scope.generator("noise"), 2 * T, P))
        theta = {node: np.zeros(P) for node in graph.nodes(N)}
        clipped = 0
        for k in range(1, T + 1):
            rows = made[r].updates[made[r].updates["k"] == k]
            owner, peer = int(rows["owner"][0]), int(rows["peer"][0])
            middle = (theta[owner] + theta[peer]) / 2
            moved = {}
            for i in rows["owner"].tolist():
                pi = sum(i in edge for edge in edges) / len(edges)
                gamma = 1 / (2 * N) if 0 in theta else 1 / N
                answer = FIT.gradient(np.array([i - 1]), middle[None])[0]
                answer = answer + next(noise) * NOISE.scale[i - 1]
                step = RHO / (T**2 * SIGMA * pi)
                moved[i] = middle - step * (gamma * SIGMA * middle + FIT.weights[i - 1] * answer)
            if peer == 0:
                moved[0] = middle - RHO / (T**2 * SIGMA) * SIGMA * middle / 2
            assert len(moved) == 2
            for node, model in moved.items():
                theta[node] = model if box is None else np.clip(model, -box, box)
            clipped += box is not None and any(np.abs(m).max() > box for m in moved.values())
            judged = theta[0] if 0 in theta else np.mean(list(theta.values()), axis=0)
            assert path.central[k, r] == pytest.approx(judged, rel=1e-10, abs=1e-12)
        assert path.clipped[r] == clipped
        assert (clipped > 0) == (box is not None)


def test_owner_1_may_be_judged_on_any_graph() -> None:
    for graph in (Ring(), StarGraph()):
        state = steps(graph, judged="owner", initial="uniform").init(scopes(3))
        assert np.array_equal(state.central, state.models[:, len(graph.nodes(N)) - N])


@pytest.mark.parametrize("p", [1, 3])
def test_the_mean_of_all_nodes_does_not_depend_on_the_other_replicates(p: int) -> None:
    n_owners = 40
    setting = Setting(np.full(n_owners, 1 / n_owners), p, T, SIGMA, None)
    spec = GossipGraph(rho=1.0, initial="uniform")
    made = spec.steps(replace(setting, protocol=Gossip(graph=Ring())))
    together = made.init(scopes(7)).central
    for count in (1, 2, 3, 6):
        assert np.array_equal(made.init(scopes(count)).central, together[:count])
    assert together[0] == pytest.approx(made.init(scopes(1)).models[0].mean(axis=0), rel=1e-14)


def test_averaging_alone_keeps_the_mean_and_brings_models_together() -> None:
    made = replace(steps(Ring(), initial="uniform"), step=np.zeros(N), shrink=np.ones(N))
    path = replay(traces(Ring(), 2), made, AnswerModel(FIT, NOISE), scopes(2), 1)
    assert np.ptp(path.central, axis=0).max() < 1e-14


def test_both_steps_are_taken_at_the_update_from_one_point() -> None:
    made = steps(Ring(), initial="uniform")
    state, rows = made.init(scopes(1)), np.array([0])
    before = state.models.copy()
    turns = [
        AnswerBatch(np.array([i]), peers=np.array([j]), rows=rows) for i, j in ((0, 2), (1, 1))
    ]
    points = [made.query(state, turn) for turn in turns]
    assert np.array_equal(*points)
    for turn, point in zip(turns, points, strict=True):
        made.apply(state, turn, point, np.ones((1, P)))
    assert np.array_equal(state.models, before)
    made.update(state, rows)
    assert np.array_equal(state.models[:, 2:], before[:, 2:])
    assert not np.any(state.models[:, :2] == before[:, :2])
