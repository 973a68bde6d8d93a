"""The spectrum of averaging, the long run of meetings, and published sums and bounds."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.graphs import Complete, Edges, GeometricGraph, GossipGraph, Ring, StarGraph
from asyncdp_sim.network.protocols import Gossip
from asyncdp_sim.privacy.observers.node import all_at_once, leverages
from asyncdp_sim.theory.formulas import convergence, exchanges
from asyncdp_sim.theory.formulas.exchanges import loss_network
from scenarios.beyond.muffliato import sums
from tests.theory import polar
from tests.theory.gossip_spectrum import complete, disagreement, ring, star
from tests.together import together
from tests.verification.chains import flow, stationary

# The spectrum of averaging, and the long run of meetings, against slow and exact twins.

PATH = Edges(between=[[1, 2], [2, 3], [3, 4]])
KNOWN = {StarGraph(): star, Ring(): ring, Complete(): complete}


def averaging(n_nodes, edge):
    """W by its definition."""
    apart = np.zeros(n_nodes)
    apart[edge[0]], apart[edge[1]] = 1, -1
    return np.eye(n_nodes) - np.outer(apart, apart) / 2


def placed(graph: GossipGraph, n_owners):
    """The number of nodes, and the edges between nodes from 0."""
    nodes = graph.nodes(n_owners)
    return len(nodes), [(a - nodes[0], b - nodes[0]) for a, b in graph.edges(n_owners)]


def uniform(edges):
    return np.full(len(edges), 1 / len(edges))


class TestSpectrum:
    @pytest.mark.parametrize(
        "graph", [StarGraph(), Ring(), Complete(), GeometricGraph(radius=0.9), PATH]
    )
    def test_the_mean_update_is_the_mean_of_the_updates(self, graph):
        n_nodes, edges = placed(graph, 4)
        share = np.arange(1.0, len(edges) + 1)
        share /= share.sum()
        mean = convergence.mean_update(n_nodes, edges, share)
        slow = sum(p * averaging(n_nodes, edge) for p, edge in zip(share, edges, strict=True))
        assert np.allclose(mean, slow, rtol=0, atol=1e-15)
        assert np.allclose(mean.sum(axis=0), 1, rtol=0, atol=1e-15)

    @together
    @pytest.mark.parametrize("n_owners", [2, 3, 10, 86])
    @pytest.mark.parametrize("graph", list(KNOWN), ids=lambda graph: graph.kind)
    def test_closed_forms(self, graph, n_owners):
        n_nodes, edges = placed(graph, n_owners)
        mean = convergence.mean_update(n_nodes, edges, uniform(edges))
        exact = KNOWN[graph](n_owners)
        assert convergence.second_eigenvalue(mean) == pytest.approx(exact, rel=0, abs=1e-12)
        assert Gossip(graph=graph).contraction(n_owners) == pytest.approx(exact, rel=0, abs=1e-12)

    @pytest.mark.parametrize("n_owners", [2, 3, 10])
    def test_lambda_as_printed_is_one(self, n_owners):
        one = averaging(n_owners + 1, (0, 1))
        apart = one - np.ones((n_owners + 1,) * 2) @ one / (n_owners + 1)
        assert np.linalg.norm(apart, 2) ** 2 == pytest.approx(1)

    def test_edges_that_wake_unequally_have_no_closed_form(self):
        clock = PoissonClock(rate=[3.0, 1.0, 1.0, 1.0])
        left = Gossip(graph=Ring(), clock=clock).contraction(4)
        _, edges = placed(Ring(), 4)
        mean = sum(p * averaging(4, e) for p, e in zip([3, 1, 1, 1], edges, strict=True)) / 6
        assert left == pytest.approx(np.linalg.eigvalsh(mean)[-2])
        assert left != pytest.approx(ring(4))


class TestDisagreement:
    def test_it_is_the_mean_over_all_sequences_of_edges(self):
        n_nodes, edges = placed(PATH, 4)
        share, start = np.array([0.5, 0.3, 0.2]), np.array([1.0, -2.0, 0.5, 4.0])
        y = start - start.mean()
        found = disagreement(np.outer(y, y), edges, share, 5)
        exact = np.zeros(6)
        exact[0] = y @ y
        for k in range(1, 6):
            for sequence in product(range(3), repeat=k):
                x = start
                for place in sequence:
                    x = averaging(n_nodes, edges[place]) @ x
                exact[k] += np.prod(share[list(sequence)]) * np.sum((x - x.mean()) ** 2)
        assert found == pytest.approx(exact, rel=1e-13)

    @pytest.mark.parametrize("graph", [StarGraph(), Ring(), GeometricGraph(radius=0.6, graph=3)])
    def test_no_update_leaves_more_than_lambda_2_and_one_start_keeps_it_all(self, graph):
        n_nodes, edges = placed(graph, 12)
        left = Gossip(graph=graph).contraction(12)
        mean = convergence.mean_update(n_nodes, edges, uniform(edges))
        y = np.linalg.eigh(mean)[1][:, -2]
        first = disagreement(np.outer(y, y), edges, uniform(edges), 1)
        assert first[1] == pytest.approx(left * first[0], rel=1e-12)
        path = disagreement(np.eye(n_nodes) - 1 / n_nodes, edges, uniform(edges), 30)
        assert np.all(path[1:] <= left * path[:-1] * (1 + 1e-12))


def matchings(rates, times):
    """The long run of exponential meetings by their chain over all matchings."""

    def moves(state):
        met = {node for edge in state for node in edge}
        for edge in rates:
            if edge in state:
                yield 1 / times[edge], state - {edge}
            elif not met & set(edge):
                yield rates[edge], state | {edge}

    law = stationary(moves, frozenset())
    flows = {edge: flow(law, lambda s, e=edge: (e in s) / times[e]) for edge in rates}
    others = flow(law, lambda s: (len(s) - 1) * sum(1 / times[edge] for edge in s))
    return flows, 1 - law[frozenset()], others / sum(flows.values())


class TestMeetings:
    @pytest.mark.parametrize(
        "graph", [PATH, Ring(), Complete(), GeometricGraph(radius=0.7, graph=3), StarGraph()]
    )
    def test_they_are_the_chain_of_matchings(self, graph):
        edges = graph.edges(4 if graph == PATH else 5)
        rates = {edge: 0.5 + 0.3 * place for place, edge in enumerate(edges)}
        times = {edge: 2.0 / (1 + place) for place, edge in enumerate(edges)}
        ones = dict.fromkeys(rates, 1.0)
        found, (flows, busy, others) = loss_network(rates, times, ones), matchings(rates, times)
        assert found is not None
        assert found.flows == pytest.approx(flows, rel=1e-10)
        assert found.total(ones) == pytest.approx(sum(flows.values()), rel=1e-10)
        assert found.busy_fraction == pytest.approx(busy, rel=1e-10)
        after = found.total(found.after) / found.total(ones)
        assert after == pytest.approx(others, rel=1e-9, abs=1e-12)

    def test_a_star_is_the_lock_that_refuses(self):
        rates, times = (0.5, 1.0, 2.0), (0.1, 0.4, 0.3)
        edges = StarGraph().edges(3)
        both = dict(zip(edges, rates, strict=True)), dict(zip(edges, times, strict=True))
        ones = dict.fromkeys(edges, 1.0)
        found, known = loss_network(*both, ones), exchanges.refusing_unequal(rates, times)
        assert found is not None
        assert found.total(ones) == pytest.approx(known.update_rate, rel=1e-13)
        assert found.busy_fraction == pytest.approx(known.busy_fraction, rel=1e-13)
        assert found.total(found.after) == 0

    def test_too_many_matchings_are_not_summed(self):
        many = dict.fromkeys(Complete().edges(30), 1.0)
        assert loss_network(many, many, many) is None
        long = dict.fromkeys(Ring().edges(40), 1.0)
        found = loss_network(long, long, long)
        assert found is not None
        assert found.total(long) / 40 == pytest.approx(
            (1 - 5**-0.5) / 2, rel=1e-9
        )  # dimers, no end


# The published sum over messages: its terms, and where what is exact is above or below it.

PAGE = Path(__file__).parents[3] / "docs" / "privacy" / "gossip-averaging.md"
N = 64
GRAPHS = {
    "ring": nx.cycle_graph(N),
    "grid, 8 × 8": nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 8)),
    "geometric": nx.random_geometric_graph(N, 0.22, seed=4),
    "complete": nx.complete_graph(N),
}


@cache
def held(name: str, steps: int) -> tuple[Any, Any]:
    """Return h, exact, and the sum for all owners u (rows) and nodes v (columns)."""
    graph = GRAPHS[name]
    parts = 1 + max(degree for _, degree in graph.degree)
    taken = nx.to_numpy_array(graph, dtype=np.int64)
    weights = taken + np.diag(parts - taken.sum(axis=1))
    rounds = [all_at_once(weights, parts)] * steps
    return leverages(rounds, np.ones(N), np.eye(N, dtype=bool)).T, sums(rounds, N)


def test_each_message_by_itself_is_a_term_of_the_sum():
    """Written message by message: what one Gaussian number says of u."""
    found = sums([all_at_once(np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]]), 2)] * 2, 3)
    second = np.array([0.25, 0.0, 0.25]) / 0.5  # node 1 sends (y_0 + y_2)/2 after a step
    assert found[:, 0] == pytest.approx(np.array([0.0, 1.0, 0.0]) + second)


@pytest.mark.parametrize("name", GRAPHS)
def test_one_step_is_exact(name):
    """Then all messages are of different nodes, each about itself."""
    exact, summed = held(name, 1)
    assert np.abs(exact - summed)[~np.eye(N, dtype=bool)].max() < 1e-12


def row(name: str, steps: int) -> str:
    exact, summed = held(name, steps)
    apart = ~np.eye(N, dtype=bool)
    h, s = exact[apart], summed[apart]
    above, known = h > s + 1e-9, h > 1e-9
    loose = (s[known] / h[known]).max()
    means = f"{h.mean():.2f} | {s.mean():.2f}"
    return f"| {name} | {steps} | {means} | {above.mean():.0%} | {loose:.1f} |"


@pytest.mark.long
def test_the_page_says_where_the_sum_is_exceeded_and_where_it_is_loose():
    text = PAGE.read_text(encoding="utf-8")
    for name in GRAPHS:
        for steps in (2, 5):
            assert row(name, steps) in text
    exact, summed = held("ring", 5)
    assert f"h = {exact[5, 0]:.0f} and the sum {summed[5, 0]:.5f}" in text


# Lemma 3 of POLAR as printed, what it follows from, and how loose it is.

STEPS = 0.05 / np.arange(1, 6)
BOUNDS = polar.Obfuscation(
    n_servers=4, n_clients=3, window=2, gradient_norm=0.5, weight_bound=6.0, additive_bound=0.4
)
FOUR = 0.4 * np.eye(4) + 0.3 * (np.roll(np.eye(4), 1, axis=0) + np.roll(np.eye(4), -1, axis=0))
"""The averaging in which every server gives a share to each of two neighbours."""


def test_lemma_3_by_a_slow_sum():
    start, rho = 1.5, 0.2
    beta = 1 - rho / 64
    theta, far = beta**-2, 2 * 3 * (6 * 0.5 + 0.4)
    found = polar.lemma_3(BOUNDS, STEPS, start, rho)
    for k in range(5):
        sums = sum(beta ** (k + 1 - m) * STEPS[m - 1] for m in range(1, k + 1))
        moved = 4 * STEPS[k] * far + 2 * theta * 4 * far * sums
        assert found[k] == pytest.approx(4 * theta * beta ** (k + 1) * start + moved, rel=1e-12)


@pytest.mark.parametrize("mixed", [polar.mixing(FOUR, 5), polar.printed_mixing(4, 0.3, 5)])
def test_disagreement_by_a_slow_sum(mixed):
    found = polar.disagreement(BOUNDS, STEPS, 1.5, mixed)
    for k in range(5):
        exact = min(4 * mixed[k], 1.5) * 1.5
        for m in range(k + 1):
            exact += STEPS[m] * min(4 * mixed[k - m] * BOUNDS.mean_reach, 1.5 * BOUNDS.reach)
        assert found[k] == pytest.approx(exact, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    bounds=st.builds(
        polar.Obfuscation,
        n_servers=st.integers(2, 9),
        n_clients=st.integers(1, 100),
        window=st.integers(1, 50),
        gradient_norm=st.floats(0, 10),
        weight_bound=st.floats(0.1, 50),
        additive_bound=st.floats(0, 10),
        every_step=st.booleans(),
    ),
    rho=st.floats(1e-3, 0.5),
    start=st.floats(0, 10),
    steps=st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=20).map(np.array),
)
def test_lemma_3_follows_from_what_is_derived(bounds, rho, start, steps):
    mixed = polar.printed_mixing(bounds.n_servers, rho, len(steps))
    derived = polar.disagreement(bounds, steps, start, mixed)
    printed = polar.lemma_3(bounds, steps, start, rho)
    assert np.all(derived + steps * bounds.mean_reach <= printed * (1 + 1e-12))


def test_lemma_3_is_loose_for_complete_averaging():
    """Figure 3's setting with L = Y = 1: δ within 2α, and 1.3·10⁵ times that in the lemma."""
    bounds = polar.Obfuscation(
        n_servers=5, n_clients=100, window=10, gradient_norm=1, weight_bound=50, additive_bound=1
    )
    ratio = polar.lemma_3(bounds, np.full(4000, 1e-3), 0.0, 0.2)[-1] / (1e-3 * bounds.mean_reach)
    assert ratio == pytest.approx(1.3e5, rel=0.05)
    assert ratio > 8 * 5**4
