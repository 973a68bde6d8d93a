"""Exact long runs of models that owners move at random: against played ones, and each other."""

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Quadratic
from scenarios.beyond import moves as studied
from scenarios.beyond.moves import LongRun, Moves, copies, long_run, minimiser, one_model

pytestmark = pytest.mark.no_evidence

ONLINE = np.array([0.9, 0.5, 0.2])
PART = ONLINE / ONLINE.sum()


def objective(features: int = 1) -> Quadratic:
    draws = np.random.default_rng(7)
    x = [draws.standard_normal((30, features)) for _ in ONLINE]
    y = [each @ draws.standard_normal(features) for each in x]
    return Quadratic.from_records(x, y, 0.1, None)


def played(moves: Moves, order: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and mean square of the first number after updates in an order."""
    x, found = np.zeros(moves.shift.shape[1]), []
    for e in order.tolist():
        x = moves.factor[e] @ x + moves.shift[e]
        found.append(x[0])
    kept = np.array(found[least:])
    return kept.mean(), np.square(kept).mean()


def close(found: tuple[float, float], exact: LongRun) -> None:
    assert found[0] == pytest.approx(exact.mean[0], abs=0.02)
    assert found[1] == pytest.approx(exact.second[0, 0], rel=0.05)


def test_steps_that_are_infinitely_short_find_the_weighted_minimiser():
    f = objective(2)
    for moves in (one_model(f, 1e-6), copies(f, 1e-6, np.ones(3))):
        assert long_run(moves, PART).mean[:2] == pytest.approx(minimiser(f, PART), abs=1e-3)
    divided = long_run(copies(f, 1e-6, 3 * PART), PART)
    assert divided.mean[:2] == pytest.approx(f.optimum, abs=1e-3)
    assert divided.psi(f) == pytest.approx(0, abs=1e-4)
    assert minimiser(f, studied.shares(f)) == pytest.approx(f.optimum)


def test_of_two_owners_the_mean_over_those_present_counts_as_the_formula_says():
    """E[1{1 ∈ A}/|A|] = p₁(1 − p₂/2), and not in the ratio of p₁ to p₂."""
    f = objective()
    two = Quadratic(f.gram[:2], f.moment[:2], f.energy[:2], f.records[:2], f.sigma, None)
    p = np.array([0.9, 0.5])
    weights = p * (1 - p[::-1] / 2)
    moves, chances = studied.rounds(two, 0.1, p.tolist())
    assert len(chances) == 3
    mean = long_run(moves, chances).mean
    assert mean == pytest.approx(minimiser(two, weights / weights.sum()))
    assert abs(mean - minimiser(two, p / p.sum()))[0] > 0.01


@pytest.mark.parametrize("kind", ["one", "copies"])
def test_a_long_run_is_as_it_is_played(kind):
    f = objective()
    moves = one_model(f, 0.1) if kind == "one" else copies(f, 0.02, 3 * PART)
    order = np.random.default_rng(3).choice(3, 60_000, p=PART)
    close(played(moves, order, 500), long_run(moves, PART))


def chain(cycle: float, share: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    goes, comes = 1 / (share * cycle), 1 / ((1 - share) * cycle)
    return np.array([[1.0, 1, 1], [0, 1, 1]]), np.array([[-goes, goes], [comes, -comes]])


def test_presence_that_changes_at_once_is_drawn_anew():
    f = objective()
    moves, part = one_model(f, 0.1), np.array([0.3, 1, 1]) / 2.3
    quick, anew = studied.while_it_lasts(moves, *chain(1e-6)), long_run(moves, part)
    assert quick.mean == pytest.approx(anew.mean, rel=1e-4)
    assert quick.second == pytest.approx(anew.second, rel=1e-4)
    assert studied.while_it_lasts(moves, *chain(50.0)).psi(f) > 1.05 * anew.psi(f)


@pytest.mark.long
def test_presence_that_lasts_is_as_it_is_played():
    f, draws = objective(), np.random.default_rng(5)
    moves, (rates, changes) = one_model(f, 0.1), chain(4.0)
    state, order = 0, []
    while len(order) < 100_000:
        each = np.append(rates[state], -changes[state, state])
        e = int(draws.choice(4, p=each / each.sum()))
        if e == 3:
            state = 1 - state
        else:
            order.append(e)
    close(played(moves, np.array(order), 500), studied.while_it_lasts(moves, rates, changes))
