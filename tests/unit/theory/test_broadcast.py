import math

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.theory.formulas.broadcast import (
    broadcast,
    clean_given,
    no_collision_given,
    responders,
)


def simulated(responders, d, runs, seed):
    """Return the number of clean answers per run, by their sorted times."""
    times = np.sort(np.random.default_rng(seed).random((runs, responders)), axis=1)
    edges = np.full((runs, 1), np.inf)
    gaps = np.concatenate((edges, np.diff(times, axis=1), edges), axis=1)
    return ((gaps[:, :-1] >= d) & (gaps[:, 1:] >= d)).sum(axis=1)


@pytest.mark.parametrize(("m", "d"), [(2, 0.1), (3, 0.5), (5, 0.05), (12, 0.02)])
def test_simulated_windows(m, d):
    runs = 40_000
    clean = simulated(m, d, runs, seed=m)
    exact = no_collision_given(m, d, 1.0)
    error = math.sqrt(exact * (1 - exact) / runs)
    assert abs((clean == m).mean() - exact) <= 4 * error
    assert abs(clean.mean() / m - clean_given(m, d, 1.0)) < 4 * clean.std() / m / math.sqrt(runs)


def test_two_answers_by_hand():
    assert no_collision_given(2, 0.2, 1.0) == pytest.approx(0.8**2)
    for airtime, window in ((0.2, 1.0), (1.0, 5.0)):
        assert clean_given(2, airtime, window) == pytest.approx(0.64)  # one clean, both clean


def test_edges():
    assert no_collision_given(0, 0.3, 1.0) == no_collision_given(1, 0.3, 1.0) == 1
    assert no_collision_given(3, 0.5, 1.0) == no_collision_given(30, 0.5, 1.0) == 0
    assert clean_given(1, 0.3, 1.0) == pytest.approx(1)
    assert clean_given(9, 0.0, 1.0) == 1
    assert clean_given(3, 0.5, 1.0) == pytest.approx(2 / 3 * 0.5**3)


@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
def test_responders_are_binomial(q):
    exact = [math.comb(7, m) * q**m * (1 - q) ** (7 - m) for m in range(8)]
    assert responders(7, q) == pytest.approx(exact, rel=1e-12)


def test_many_responders():
    law = responders(20_000, 0.25)
    assert law.sum() == pytest.approx(1, rel=1e-9)
    assert law @ np.arange(20_001) == pytest.approx(5000, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "q", "d"), [(1, 0.4, 0.2), (6, 0.5, 0.05), (40, 0.1, 0.5), (9, 1, 0)]
)
def test_over_all_numbers_of_listeners(n, q, d):
    answers, law = broadcast(n, q, 3 * d, 3.0), responders(n, q)
    clean = sum(m * clean_given(m, d, 1.0) * law[m] for m in range(1, n + 1))
    apart = sum(no_collision_given(m, d, 1.0) * law[m] for m in range(n + 1))
    assert answers.mean_begun == pytest.approx(n * q)
    assert answers.mean_clean == pytest.approx(clean, rel=1e-12)
    assert answers.no_collision == pytest.approx(apart, rel=1e-12)


def test_simulated_queries():
    draw, runs, n, q, d = np.random.default_rng(3), 40_000, 8, 0.6, 0.04
    times = np.where(draw.random((runs, n)) < q, draw.random((runs, n)), np.inf)
    times[np.isinf(times)] = 10 + np.arange(np.isinf(times).sum())  # far from all others
    times.sort(axis=1)
    edges = np.full((runs, 1), np.inf)
    gaps = np.concatenate((edges, np.diff(times, axis=1), edges), axis=1)
    answered = times < 2
    clean = (answered & (gaps[:, :-1] >= d) & (gaps[:, 1:] >= d)).sum(axis=1)
    exact = broadcast(n, q, d, 1.0)
    error = clean.std() / math.sqrt(runs)
    assert error < 0.003 * exact.mean_clean
    assert abs(clean.mean() - exact.mean_clean) < 4 * error
    apart = (clean == answered.sum(axis=1)).mean()
    assert abs(apart - exact.no_collision) < 4 * math.sqrt(0.25 / runs)


def test_bad_arguments_are_refused():
    with pytest.raises(SpecError, match=r"airtime: given 0.6; .* ≤ window/2 = 0.5"):
        clean_given(3, 0.6, 1.0)
    with pytest.raises(SpecError, match="airtime"):
        no_collision_given(3, -0.1, 1.0)
    with pytest.raises(SpecError, match="window"):
        broadcast(3, 0.5, 0.0, 0.0)
    with pytest.raises(SpecError, match="probability"):
        broadcast(3, 1.5, 0.1, 1.0)
    with pytest.raises(SpecError, match="n_owners"):
        responders(0, 0.5)
    with pytest.raises(SpecError, match="answers"):
        clean_given(0, 0.1, 1.0)
    with pytest.raises(SpecError, match="answers"):
        no_collision_given(-1, 0.1, 1.0)
