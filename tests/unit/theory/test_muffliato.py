"""The published sum over messages: its terms, and where what is exact is above or below it."""

from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from asyncdp_sim.privacy.observers.node import all_at_once, leverages
from scenarios.beyond.messages import sums

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
    exact = leverages(rounds, np.ones(N), np.eye(N, dtype=bool)).T
    return exact, sums(rounds, N)


def test_each_message_by_itself_is_a_term_of_the_sum():
    """Written message by message: what one Gaussian number says of u."""
    found = sums([all_at_once(np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]]), 2)] * 2, 3)
    second = np.array([0.25, 0.0, 0.25]) / 0.5  # node 1 sends (y_0 + y_2)/2 after a step
    assert found[:, 0] == pytest.approx(np.array([0.0, 1.0, 0.0]) + second)


@pytest.mark.parametrize("name", GRAPHS)
def test_one_step_is_exact(name):
    """Then all messages are of different nodes, each about itself."""
    exact, summed = held(name, 1)
    apart = ~np.eye(N, dtype=bool)
    assert np.abs(exact - summed)[apart].max() < 1e-12


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
