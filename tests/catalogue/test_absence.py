"""Results of others on absence, in waves or not: judged, drawn, planted faults are seen."""


import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Quadratic
from scenarios.beyond import absence, crowds, lasting, waves
from scenarios.beyond.crowds import crowd, in_rounds
from scenarios.beyond.moves import long_run, rounds
from tests.catalogue.verdicts import once, verified

# Results of others on absence: few replicates are judged, drawn, and planted faults are seen.

[BIAS] = absence.RESULTS
[LASTS] = lasting.RESULTS
biased = once(BIAS, "run.replicates=60")


@pytest.mark.long
def test_equation_3_holds_of_answers_one_at_a_time_and_of_no_mean_over_those_present(biased):
    present = "over those present: bias over that of equation (3)"
    assert biased.differ == {present: "differs"}
    assert biased.found[present].ours > 1.4
    assert biased.drawn == ["where-it-ends"]


@pytest.mark.long
def test_weights_by_chance_are_no_excuse_where_means_are_over_those_present(biased, monkeypatch):
    """Were the exact mean taken with p_i/Σ p_j there too, runs would be far off it."""
    sweep = biased.sweep
    single = absence.exactly(sweep, absence.SINGLE)
    monkeypatch.setattr(absence, "exactly", lambda *_: single)
    low, high = absence.about_exact(sweep, absence.PRESENT)
    assert not low <= absence.bias(sweep, absence.PRESENT) <= high
    assert abs(absence.off_model(sweep, absence.PRESENT)) > absence.SURE


@pytest.mark.long
def test_absence_that_lasts_is_as_predicted_and_drawn(tmp_path):
    lasts = verified(LASTS, tmp_path, "run.replicates=6")
    exact = {quantity for quantity in lasts.found if "exact value" in quantity}
    assert len(exact) == 2 * len(lasting.NAMES)
    assert exact & lasts.differ.keys() == set()
    assert 200 < lasting.crossing(lasts.sweep) < 204
    assert lasts.drawn == ["long-absence"]
    low, high = lasting.around(lasts.sweep, lasting.ANEW)
    assert not low <= lasting.mean_psi(lasts.sweep, "cycles of 400") <= high


# Waves of absence: moments of rounds against played ones, the verdicts, and a planted fault.

[WAVES] = waves.RESULTS


def objective(n_owners: int) -> Quadratic:
    draws = np.random.default_rng(11)
    x = [draws.standard_normal((25, 1)) for _ in range(n_owners)]
    y = [each @ draws.standard_normal(1) for each in x]
    return Quadratic.from_records(x, y, 0.05, None)


def test_what_is_known_of_a_round():
    found = crowd(0.5, 2)
    assert found.anybody == pytest.approx(0.75)
    assert found.inverse == pytest.approx((0.5 + 0.25 / 2) / 0.75)
    assert crowd(1.0, 5).inverse == pytest.approx(1 / 5)
    assert crowd(0.0, 5).anybody == 0


def test_alike_chances_are_the_sum_over_all_sets():
    f = objective(4)
    moves, chances = rounds(f, 0.2, [0.3] * 4)
    expected, found = long_run(moves, chances), in_rounds(f, 0.2, [0.3], 400)
    assert found.mean == pytest.approx(expected.mean)
    assert found.second == pytest.approx(expected.second)


def test_waves_are_as_they_are_played():
    f, draws = objective(5), np.random.default_rng(2)
    period = [0.05, 0.4, 0.9]
    h, g = 2 * f.gram[:, 0, 0], 2 * f.moment[:, 0]
    x, seen = np.zeros(400), []
    for t in range(600):
        there = draws.random((400, 5)) < period[t % 3]
        anybody = there.any(axis=1)
        share = there / np.maximum(there.sum(axis=1, keepdims=True), 1)
        x = np.where(anybody, x - 0.2 * (0.05 * x + share @ h * x - share @ g), x)
        if t >= 150:
            seen.append(x[anybody])
    every = np.concatenate(seen)
    exact = in_rounds(f, 0.2, period, 200)
    assert every.mean() == pytest.approx(exact.mean[0], abs=0.01)
    assert np.square(every).mean() == pytest.approx(exact.second[0, 0], rel=0.03)


@pytest.mark.long
def test_the_drop_is_reproduced_and_is_there_without_waves(tmp_path, monkeypatch):
    found = verified(WAVES, tmp_path, "run.replicates=8")
    alike = "the same without waves, as often there: none, if waves are the cause"
    assert found.differ == {alike: "differs"}
    assert waves.part_of_mean(found.sweep) == pytest.approx(0.83, abs=0.01)
    assert found.drawn == ["with-and-without"]
    forgetful = crowds.crowd
    monkeypatch.setattr(crowds, "crowd", lambda p, n: forgetful(min(1.0, 2 * p), n))
    low, high = waves.around(found.sweep, waves.in_waves(0.5))
    assert not low <= waves.mean_psi(found.sweep, waves.in_waves(0.5)) <= high
