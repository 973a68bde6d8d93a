"""Waves of absence: moments of rounds against played ones, the verdicts, and a planted fault."""

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.results import Sweep
from scenarios.beyond import crowds, waves
from scenarios.beyond.crowds import crowd, in_rounds
from scenarios.beyond.moves import long_run, rounds
from scenarios.papers.figure import AS_PUBLISHED
from tests.catalogue.verdicts import verdicts

[FIGURE] = waves.RESULTS


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
    found = verdicts(FIGURE, tmp_path, "run.replicates=8")
    named = {each.quantity: each for each in found}
    differ = [each.quantity for each in found if each.verdict != "agrees"]
    assert differ == ["the same without waves, as often there: none, if waves are the cause"]
    assert named[differ[0]].verdict == "differs"
    sweep = Sweep.read(tmp_path / FIGURE.name / AS_PUBLISHED)
    assert waves.part_of_mean(sweep) == pytest.approx(0.83, abs=0.01)
    assert (sweep.directory / "figures" / "with-and-without.png").exists()
    forgetful = crowds.crowd
    monkeypatch.setattr(crowds, "crowd", lambda p, n: forgetful(min(1.0, 2 * p), n))
    low, high = waves.around(sweep, waves.in_waves(0.5))
    assert not low <= waves.mean_psi(sweep, waves.in_waves(0.5)) <= high
