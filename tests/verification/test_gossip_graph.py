"""Gossip on graphs: averaging against its exact spectrum, learning against its exact mean.

And how often neighbours meet, against the loss network that they are.
"""

from dataclasses import fields
from functools import cache

import numpy as np
import pytest

from asyncdp_sim.core.units import to_units
from asyncdp_sim.learning.algorithms import GossipGraph, Setting
from asyncdp_sim.learning.algorithms.gossip import GossipGraphState, GossipGraphSteps
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.graphs import Complete, Edges, GeometricGraph, Ring, StarGraph
from asyncdp_sim.network.protocols import Gossip
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.trace.vocabulary import UPDATES
from tests.tables import table
from tests.theory.gossip_spectrum import disagreement

from .networks import lasting, network, own_seed, replicates, runs
from .zscores import require, score, seen, shared, two_stages

pytestmark = pytest.mark.long

MEETINGS = pytest.mark.oracle("contraction rate of averaging, and rate of meetings of neighbours")
MEANS = pytest.mark.oracle("means of all models on a graph, and their limit")

NEAR = GeometricGraph(radius=0.7, graph=3)
LINE = Edges(between=[[k, k + 1] for k in range(1, 12)])
N = 6
AVERAGING = {"star": StarGraph(), "ring": Ring(), "complete": Complete(), "near": NEAR}
KS = (1, 3, 8, 16)
SILENT = LaplaceNoise(np.zeros(N))


class Pairs:
    """A trace for replay that knows which edges woke, and nothing else."""

    def __init__(self, woken, learner):
        ends = np.array(woken)
        rows = ends[:, ::-1] if learner else np.concatenate([ends, ends[:, ::-1]], axis=1)
        rows = rows.reshape(-1, 2)
        self.updates = np.zeros(len(rows), dtype=UPDATES)
        self.updates["owner"], self.updates["peer"] = rows.T
        self.updates["k"] = np.repeat(np.arange(1, len(ends) + 1), len(rows) // len(ends))
        self.n_updates, self.answers_per_update = len(ends), None
        self.n_owners = int(ends.max()) + 1


def made_up(graph, n_owners, count, updates, seed, shares=None):
    """Return traces whose edges are independent."""
    edges = np.array(graph.edges(n_owners))
    chosen = np.random.default_rng(seed).choice(len(edges), size=(count, updates), p=shares)
    return [Pairs(edges[row], graph.learner) for row in chosen]


class Apart(GossipGraphState):
    """Nodes whose disagreement is what is recorded."""

    @property
    def central(self):
        apart = self.models - self.models.mean(axis=1, keepdims=True)
        return (apart**2).sum(axis=1)


class Spreading(GossipGraphSteps):
    """Gossip of which the disagreement is recorded."""

    def init(self, replicates):
        state = super().init(replicates)
        return Apart(state.models, state.clipped, None)


def averages(graph, traces, seed):
    """Return scores of averaging alone: disagreement at several k, from starts U[0, 1)."""
    size = len(graph.nodes(N))
    steps = Spreading(
        n_nodes=size, n_features=1, shrink=np.ones(N), step=np.zeros(N), theta_max=None,
        shrink_learner=1.0 if graph.learner else None, initial="uniform", judged=None,
    )  # fmt: skip
    flat = Quadratic.from_records([np.ones((1, 1))] * N, [np.ones(1)] * N, 1.0, None)
    path = replay(traces, steps, AnswerModel(flat, SILENT), replicates(seed, len(traces), 0), 1)
    edges = np.array(graph.edges(N)) - graph.nodes(N)[0]
    start = (np.eye(size) - 1 / size) / 12
    exact = disagreement(start, edges, np.full(len(edges), 1 / len(edges)), KS[-1])
    return [score(f"{graph.kind} at {k}", path.central[k, :, 0], exact[k]) for k in KS]


@shared
def averaging(name, simulated):
    graph, seed = AVERAGING[name], own_seed("averaging", name)
    if not simulated:
        return averages(graph, made_up(graph, N, 1000, KS[-1], seed), seed)
    net = network(N, KS[-1], answers_per_update=None, protocol=Gossip(graph=graph))
    return averages(graph, list(runs(net, seed, 150)), seed)


@MEETINGS
@pytest.mark.parametrize("name", AVERAGING)
def test_averaging_contracts_as_the_spectrum_says(name):
    require(averaging(name, simulated=False), error=0.08)
    require(averaging(name, simulated=True), error=0.2)


@pytest.mark.no_evidence
def test_an_edge_that_wakes_more_often_is_seen():
    shares = np.array([3.0, *[1.0] * 5]) / 8
    assert seen(averages(Ring(), made_up(Ring(), N, 1500, KS[-1], 4, shares), 4)) > 5


@cache
def problem(n_owners=N):
    """Owners whose own optima are far apart, and of unequal size."""
    g = np.random.default_rng(7)
    sizes = 10 * np.arange(1, n_owners + 1)
    features = [g.normal(size=(n, 2)) * g.uniform(0.5, 1.5, 2) for n in sizes]
    targets = [x @ (np.array([1.0, -2.0]) + g.normal(size=2)) for x in features]
    return Quadratic.from_records(features, targets, 0.5, None)


def steps_of(graph, rate, updates, judged="central", n_owners=N):
    o = problem(n_owners)
    setting = Setting(o.weights, 2, updates, o.sigma, None, protocol=Gossip(graph=graph))
    return GossipGraph(rho=rate * updates**2, judged=judged).steps(setting)


def mean_map(graph, rate):
    """Return B and c of E x_{k+1} = B E x_k + c for all nodes' models, by the formula."""
    o, nodes, edges = problem(), graph.nodes(N), graph.edges(N)
    size = 2 * len(nodes)
    mean, drift = np.zeros((size, size)), np.zeros(size)
    for edge in edges:
        one, moved = np.eye(size), np.zeros(size)
        spots = [slice(2 * (node - nodes[0]), 2 * (node - nodes[0]) + 2) for node in edge]
        half = sum(one[spot] for spot in spots) / 2
        for node, spot in zip(edge, spots, strict=True):
            if node == 0:
                one[spot] = (1 - rate / 2) * half
                continue
            pi = sum(node in other for other in edges) / len(edges)
            gamma = 1 / (2 * N) if graph.learner else 1 / N
            step = rate / (o.sigma * pi)
            slope = gamma * o.sigma * np.eye(2) + 2 * o.weights[node - 1] * o.gram[node - 1]
            one[spot] = (np.eye(2) - step * slope) @ half
            moved[spot] = 2 * step * o.weights[node - 1] * o.moment[node - 1]
        mean += one / len(edges)
        drift += moved / len(edges)
    return mean, drift


@MEANS
@pytest.mark.parametrize("graph", AVERAGING.values(), ids=AVERAGING)
def test_all_nodes_come_to_the_optimum_as_the_step_falls(graph):
    """In the mean and noise-free: the bias of every node is of the order of the step."""
    bias = []
    for rate in (1e-3, 1e-4, 1e-5):
        mean, drift = mean_map(graph, rate)
        fixed = np.linalg.solve(np.eye(len(mean)) - mean, drift).reshape(-1, 2)
        bias.append(np.abs(fixed - problem().optimum).max() / np.abs(problem().optimum).max())
    assert bias[2] < 2e-4
    assert bias[0] / bias[1] == pytest.approx(10, rel=0.1)
    assert bias[1] / bias[2] == pytest.approx(10, rel=0.01)


@MEANS
@pytest.mark.parametrize("graph", [Ring(), NEAR], ids=["ring", "near"])
def test_a_run_without_noise_comes_as_near_as_the_step_is_small(graph):
    """The mean of the nodes, after the transient; it fluctuates by the root of the step."""
    o = problem()
    for rate, updates, allowed in ((2e-2, 600, 0.06), (5e-3, 1800, 0.03)):
        traces, steps = made_up(graph, N, 10, updates, 1), steps_of(graph, rate, updates)
        path = replay(traces, steps, AnswerModel(o, SILENT), replicates(1, 10, 0), updates)
        apart = np.linalg.norm(path.final - o.optimum, axis=1) / np.linalg.norm(o.optimum)
        assert np.median(apart) < allowed


UPDATES_HELD, RATE = 60, 2e-3


@shared
def learning(name):
    """Return scores of the models after some updates, the judged one and owner 1's."""
    graph, seed, o = AVERAGING[name], own_seed("learning", name), problem()
    traces = made_up(graph, N, 1000, UPDATES_HELD, seed)
    mean, drift = mean_map(graph, RATE)
    exact = np.zeros(len(mean))
    for _ in range(UPDATES_HELD):
        exact = mean @ exact + drift
    nodes = exact.reshape(-1, 2)
    owner = nodes[1] if graph.learner else nodes[0]
    judged = {"central": nodes[0] if graph.learner else nodes.mean(axis=0), "owner": owner}
    reply, found = AnswerModel(o, LaplaceNoise(np.full(N, 0.3))), []
    for judge, expected in judged.items():
        steps = steps_of(graph, RATE, UPDATES_HELD, judge)
        final = replay(traces, steps, reply, replicates(seed, 1000, 0), UPDATES_HELD).final
        for a in range(2):
            found.append(score(f"{judge} θ_{a}", final[:, a], expected[a], np.abs(exact).max()))
    return found


@MEANS
@pytest.mark.parametrize("name", AVERAGING)
def test_models_have_the_exact_mean(name):
    require(learning(name), error=0.02)


LENGTH, SETTLED = 60.0, 5.0
MEETING = table(__file__, "meetings.toml")


def met(name, seed, count=60):
    """Return scores of throughput and staleness once the start is forgotten."""
    graph, parts = AVERAGING[MEETING[name]["graph"]], MEETING[name]["parts"]
    protocol = Gossip(graph=graph, clock=PoissonClock(rate=1.0))
    net = lasting(N, LENGTH, answers_per_update=None, protocol=protocol, **parts)
    exact = {each.quantity: each.value for each in predict(net)}
    rates, ages = [], []
    for trace in runs(net, seed, count):
        late = trace.updates[to_units(trace.updates["tick"]) >= SETTLED]
        rates.append((to_units(trace.update_ticks) >= SETTLED).sum() / (LENGTH - SETTLED))
        ages.append(late["staleness"].mean())
    return [
        score(f"throughput, {name}", rates, exact["throughput"]),
        score(f"staleness, {name}", ages, exact["mean_staleness"]),
    ]


@shared
def meeting(name):
    return met(name, own_seed("meeting", name))


@MEETINGS
@pytest.mark.parametrize("name", MEETING)
def test_neighbours_meet_as_in_a_loss_network(name):
    require(meeting(name), error=0.02)


@MEANS
def test_the_smaller_the_gap_the_further_apart_the_owners_stay():
    """Twelve owners, noise-free: mean disagreement once the start is forgotten.

    The gaps are 0.091 (complete), 0.018, 0.011 (ring) and 0.003 (line).
    """
    graphs = [Complete(), GeometricGraph(radius=0.5, graph=3), Ring(), LINE]
    gaps = [1 - Gossip(graph=graph).contraction(12) for graph in graphs]
    assert gaps == sorted(gaps, reverse=True)
    quiet, found = AnswerModel(problem(12), LaplaceNoise(np.zeros(12))), []
    for graph in graphs:
        steps = steps_of(graph, 2e-2, 500, n_owners=12)
        steps = Spreading(**{field.name: getattr(steps, field.name) for field in fields(steps)})
        path = replay(made_up(graph, 12, 20, 500, 1), steps, quiet, replicates(1, 20, 0), 50)
        found.append(path.central[6:].sum(axis=2).mean())
    assert found == sorted(found)
    assert found[-1] > 5 * found[0]


def scores():
    """Return every score of a sound simulator."""
    found = [averaging(name, simulated=how) for how in (False, True) for name in AVERAGING]
    found += [*map(learning, AVERAGING), *map(meeting, MEETING)]
    return [each for some in found for each in some]


@pytest.mark.nightly
def test_fresh_seeds():
    def fresh(seed, factor):
        found = [met(name, seed, 60 * factor) for name in MEETING]
        for graph in AVERAGING.values():
            found.append(averages(graph, made_up(graph, N, 1000 * factor, KS[-1], seed), seed))
        return [each for some in found for each in some]

    two_stages(fresh)
