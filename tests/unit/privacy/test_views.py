"""Views of averaging, against the formula for all that was seen at once."""

from fractions import Fraction
from math import isqrt
from time import process_time
from typing import Any

import networkx as nx
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from asyncdp_sim.privacy.observers import node as views
from asyncdp_sim.privacy.observers.node import Round, all_at_once, leverages, meeting
from tests.one_in import one_in
from tests.together import together

Rows = list[list[Fraction]]
N, BITS = 24, 1000
LOUDNESS = np.linspace(1.0, 3.0, N)
GRAPHS = {
    "ring": nx.cycle_graph(N),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 6)),
    "geometric": nx.random_geometric_graph(N, 0.4, seed=2),
    "complete": nx.complete_graph(N),
}
EACH = pytest.mark.parametrize("name", GRAPHS)


def averaged(graph: nx.Graph) -> tuple[Any, int]:
    """A node keeps what its neighbours do not take: all weights are 1 over the same number."""
    parts = 1 + max(degree for _, degree in graph.degree)
    taken = nx.to_numpy_array(graph, dtype=np.int64)
    return taken + np.diag(parts - taken.sum(axis=1)), parts


def at_once(rows: Any, noise: Any, pool: set[int]) -> Any:
    """h of all nodes by the pseudo-inverse of everything that was seen."""
    others = [node for node in range(len(noise)) if node not in pool]
    seen = np.array(rows, dtype=float)[:, others] * noise[others]
    found = np.zeros(len(noise))
    found[others] = np.diag(np.linalg.pinv(seen, rcond=1e-12) @ seen)
    return found


def heard(rounds: list[Round], n_nodes: int, pool: set[int]) -> Rows:
    """Every vector that somebody of a pool heard of others, in exact fractions of the first ones.

    Written for all rounds alike: who hears whom, then who takes which part of whom.
    """
    vectors = [[Fraction(int(i == j)) for j in range(n_nodes)] for i in range(n_nodes)]
    found: Rows = []
    for each in rounds:
        pairs = each.heard.tolist()
        found += [vectors[b] for a, b in pairs if a in pool and b not in pool]
        before = [vectors[source] for source in each.sources.tolist()]
        for node, row in zip(each.nodes.tolist(), each.weights.tolist(), strict=True):
            taken = [(w, b) for w, b in zip(row, before, strict=True) if w != 0]
            vectors[node] = [
                sum((w * b[j] for w, b in taken), Fraction(0)) / each.parts for j in range(n_nodes)
            ]
    return found


def by_fractions(rows: Rows, noise: Any, pool: set[int]) -> Any:
    """h by elimination without rounding; the reduced rows are far from dependent."""
    others = [node for node in range(len(noise)) if node not in pool]
    basis: list[tuple[int, list[Fraction]]] = []
    for whole in rows:
        row = [whole[node] for node in others]
        for pivot, known in basis:
            if row[pivot] != 0:
                row = [x - row[pivot] * y for x, y in zip(row, known, strict=True)]
        place = next((j for j, x in enumerate(row) if x != 0), None)
        if place is None:
            continue
        row = [x / row[place] for x in row]
        basis = [
            (pivot, [x - known[place] * y for x, y in zip(known, row, strict=True)])
            for pivot, known in basis
        ]
        basis.append((place, row))
    found = np.zeros(len(noise))
    if len(basis) > 0:
        reduced = np.array([[float(x) for x in row] for _, row in basis]) * noise[others]
        found[others] = (np.linalg.qr(reduced.T)[0] ** 2).sum(axis=1)
    return found


def random_meetings(graph: nx.Graph, count: int, seed: int, lost: float = 0.0) -> list[Round]:
    rng, edges = np.random.default_rng(seed), list(graph.edges)
    chosen = [edges[place] for place in rng.integers(len(edges), size=count)]
    kept = rng.random((count, 2)) >= lost
    return [
        meeting(a, b, a_hears=bool(x), b_hears=bool(y))
        for (a, b), (x, y) in zip(chosen, kept, strict=True)
    ]


def alone(n_nodes: int) -> Any:
    return np.eye(n_nodes, dtype=bool)


def far_from_formula(graph: nx.Graph, steps: int, noise: Any, nodes: Any) -> float:
    """How far h of some nodes is from the pseudo-inverse of all that each heard of others."""
    weights, parts = averaged(graph)
    size = len(noise)
    found = leverages([all_at_once(weights, parts)] * steps, noise, alone(size)[list(nodes)])
    powers = [np.eye(size)]
    for _ in range(steps - 1):
        powers.append(weights / parts @ powers[-1])
    furthest = 0.0
    for node, row in zip(nodes, found, strict=True):
        seen = [each[w] for each in powers for w in graph.neighbors(node)]
        furthest = max(furthest, np.abs(row - at_once(seen, noise, {node})).max())
    return furthest


@together
@EACH
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_fixed_matrix_gives_its_matrix_formula(name, steps):
    assert far_from_formula(GRAPHS[name], steps, LOUDNESS, range(N)) < 1e-8


def in_many_digits(weights: Any, steps: int, noise: Any, node: int) -> Any:
    """h of all nodes by rows made orthogonal in 1,000 bits: all that one hears of a fixed matrix.

    The matrix formula, which knows no prime: what is left of a row that says nothing new is nothing
    in so many bits. Rows are whole numbers, since their lengths do not matter.
    """
    others, taken = np.delete(np.arange(len(weights)), node), [np.flatnonzero(w) for w in weights]
    loud = np.array([int(s * 2**52) for s in noise[others].tolist()], dtype=object)
    power, basis = np.eye(len(weights), dtype=object), []
    for _ in range(steps):
        for speaker in taken[node][taken[node] != node].tolist():
            row, _ = of_length_one(power[speaker][others] * loud << BITS)
            for axis in [*basis, *basis]:
                row = row - (axis * (int(axis @ row) >> BITS) >> BITS)
            row, length = of_length_one(row)
            basis += [row] if length >> BITS // 2 > 0 else []
        power = np.array(
            [w[some].astype(object) @ power[some] for w, some in zip(weights, taken, strict=True)]
        )
    found = np.zeros(len(weights))
    first = np.array([axis >> BITS - 62 for axis in basis]).astype(float) / 2.0**62
    found[others] = np.square(first).sum(axis=0)
    return found


def of_length_one(row: Any) -> tuple[Any, int]:
    length = isqrt(int(row @ row))
    return (row << BITS) // max(length, 1), length


@one_in(4, "name", GRAPHS)
def test_a_fixed_matrix_gives_its_formula_in_many_digits(name):
    """Twenty steps, after which floats have long lost what is new."""
    weights, parts = averaged(GRAPHS[name])
    found = leverages([all_at_once(weights, parts)] * 20, LOUDNESS, alone(N)[:2])
    for node in range(2):
        exact = in_many_digits(weights, 20, LOUDNESS, node)
        assert np.abs(found[node] - exact).max() < 1e-8
        assert np.all(found[node] >= np.minimum(exact, 1.0) - 1e-15)


MANY = 256
LARGE = {
    "ring": nx.cycle_graph(MANY),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(16, 16)),
    "geometric": nx.random_geometric_graph(MANY, 0.13, seed=2),
    "complete": nx.complete_graph(MANY),
}
CPU_SECONDS = 10


@pytest.mark.nightly
@pytest.mark.parametrize("name", LARGE)
def test_twenty_steps_of_many_nodes_are_exact_and_take_less_than_ten_seconds(name):
    weights, parts = averaged(LARGE[name])
    noise = np.linspace(1.0, 3.0, MANY)
    began = process_time()
    found = leverages([all_at_once(weights, parts)] * 20, noise, alone(MANY))
    taken = process_time() - began
    furthest = 0.0
    for node in (0,) if name == "complete" else (0, 231):  # there all is known after a step
        exact = in_many_digits(weights, 1 if name == "complete" else 20, noise, node)
        furthest = max(furthest, np.abs(found[node] - exact).max())
        assert np.all(found[node] >= np.minimum(exact, 1.0) - 1e-15)
    print(f"{name}: {taken:.1f} s, mean h {found.mean():.4f}, off by {furthest:.1e} at most")
    assert furthest < 1e-8
    assert taken < CPU_SECONDS


@pytest.mark.long
def test_where_all_of_many_meet_the_matrix_formula_is_met():
    """Twenty steps; everything is known after the first, and must stay so."""
    noise = np.linspace(1.0, 3.0, MANY)
    assert far_from_formula(LARGE["complete"], 20, noise, (0, 100)) < 1e-8


def test_one_thread_works_them_out(monkeypatch):
    """However many there are: others wait, and take five times as long in all."""
    met = []
    right = views.leverage

    def noted(*given: Any) -> Any:
        met.extend(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
        return right(*given)

    monkeypatch.setattr(views, "leverage", noted)
    with threadpool_limits(2, "blas"):
        leverages(random_meetings(GRAPHS["geometric"], 10 * N, 8), LOUDNESS, alone(N)[:2])
    assert set(met) == {1}


@EACH
@pytest.mark.parametrize("lost", [0.0, 0.3])
@pytest.mark.long
def test_random_meetings_and_lost_messages_give_what_fractions_do(name, lost):
    rounds = random_meetings(GRAPHS[name], 10 * N, 5, lost)
    pools = [{0}, {7}, {3, 11}, {0, 1, 2, 20}]
    flags = np.array([[node in pool for node in range(N)] for pool in pools])
    found = leverages(rounds, LOUDNESS, flags)
    for pool, row in zip(pools, found, strict=True):
        assert np.abs(row - by_fractions(heard(rounds, N, pool), LOUDNESS, pool)).max() < 1e-8
    assert 0 <= found.min() <= found.max() <= 1


@pytest.mark.long
def test_long_runs_are_as_exact():
    rounds = random_meetings(GRAPHS["geometric"], 25 * N, 8)
    found = leverages(rounds, LOUDNESS, alone(N)[:4])
    exact = np.array([by_fractions(heard(rounds, N, {v}), LOUDNESS, {v}) for v in range(4)])
    assert np.abs(found - exact).max() < 1e-8
    assert np.all(found >= exact - 1e-12)  # floats are that far off


def test_where_digits_do_not_suffice_more_is_taken_for_known(monkeypatch):
    rounds = random_meetings(GRAPHS["geometric"], 10 * N, 8)
    exact = leverages(rounds, LOUDNESS, alone(N))
    monkeypatch.setattr(views, "_LIMBS", (2,))
    careful = leverages(rounds, LOUDNESS, alone(N))
    assert np.all(careful >= exact - 1e-12)
    assert np.any(careful > exact + 0.1)
    assert careful.max() == 1
    assert np.array_equal(exact == 0, careful == 0)  # of whom nothing was heard, nothing is known
    monkeypatch.setattr(views, "_LIMBS", (2, 3, 5, 20))  # more digits where fewer do not suffice
    assert np.abs(leverages(rounds, LOUDNESS, alone(N)) - exact).max() < 1e-8


@one_in(2, "numbers", [2**10, 2**13])
def test_pools_that_are_looked_at_apart_know_the_same(monkeypatch, numbers):
    rounds = random_meetings(GRAPHS["grid"], 4 * N, 3)
    together = leverages(rounds, LOUDNESS, alone(N))
    monkeypatch.setattr(views, "_NUMBERS", numbers)
    assert np.array_equal(leverages(rounds, LOUDNESS, alone(N)), together)


def test_on_a_ring_whoever_is_as_many_hops_away_as_steps_were_made_is_known_exactly():
    weights, parts = averaged(GRAPHS["ring"])
    for steps in range(1, 9):
        [found] = leverages([all_at_once(weights, parts)] * steps, np.ones(N), alone(N)[:1])
        hops = np.minimum(np.arange(N), N - np.arange(N))
        assert np.array_equal(found, np.where((hops > 0) & (hops <= steps), 1.0, 0.0))


def test_a_number_that_is_nearly_hidden_counts_in_full():
    """Node 0 hears 2⁻⁴⁰ of nodes 2 and 3 beside what it knows: that is as good as all of it."""
    rounds = [meeting(0, 1), meeting(1, 2), meeting(2, 3), meeting(1, 2, b_hears=False)]
    rounds += [meeting(0, 1, a_hears=False)] * 40 + [meeting(0, 1)]
    [found] = leverages(rounds, np.ones(5), alone(5)[:1])
    exact = by_fractions(heard(rounds, 5, {0}), np.ones(5), {0})
    assert np.abs(found - exact).max() < 1e-8
    assert exact[3] > 0.05


def test_a_node_that_adds_no_noise_hides_nothing():
    """A learner, which starts at a public vector, hands owner 0's vector on."""
    rounds = [meeting(0, 2), meeting(1, 2)]
    quiet, loud = (leverages(rounds, np.array([1.0, 1.0, s]), alone(3)) for s in (0.0, 1.0))
    assert quiet[1].tolist() == [1, 0, 0]
    assert loud[1] == pytest.approx([0.5, 0, 0.5])


def test_colluders_know_more_than_each():
    rounds = random_meetings(GRAPHS["ring"], 3 * N, 2)
    single = leverages(rounds, LOUDNESS, alone(N))
    pools = alone(N) | np.isin(np.arange(N), [4, 9])
    together = leverages(rounds, LOUDNESS, pools)
    others = ~pools
    assert np.all(together[others] >= single[others] - 1e-12)
    assert np.any(together[others] > single[others] + 0.1)
    assert not together[pools].any()
