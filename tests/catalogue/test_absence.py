"""Results of others on absence, in waves or not: judged, drawn, planted faults are seen."""

from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.results import Sweep
from scenarios.beyond import absence, lasting, moves, waves
from scenarios.beyond.moves import crowd, in_rounds, long_run, rounds
from scenarios.papers.claims import Judged
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure
from scenarios.papers.problem import SURE, mean_psi
from tests.catalogue.verdicts import verdicts

# Results of others on absence: few replicates are judged, drawn, and planted faults are seen.

[BIAS] = absence.RESULTS
[LASTS] = lasting.RESULTS
FEW = {BIAS.name: ("run.replicates=60",), LASTS.name: ("run.replicates=6",)}


def judged(figure: PaperFigure, out: Path) -> dict[str, Judged]:
    return {each.quantity: each for each in verdicts(figure, out, *FEW[figure.name])}


@pytest.fixture(scope="module")
def biased(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Judged], Sweep]:
    out = tmp_path_factory.mktemp("biased")
    found = judged(BIAS, out)
    assert (out / BIAS.name / AS_PUBLISHED / "figures" / "where-it-ends.png").exists()
    return found, Sweep.read(out / BIAS.name / AS_PUBLISHED)


@pytest.mark.long
def test_equation_3_holds_of_answers_one_at_a_time_and_of_no_mean_over_those_present(biased):
    found, _ = biased
    differ = [quantity for quantity, each in found.items() if each.verdict != "agrees"]
    assert differ == ["over those present: bias over that of equation (3)"]
    assert found[differ[0]].verdict == "differs"
    assert found[differ[0]].ours > 1.4


@pytest.mark.long
def test_weights_by_chance_are_no_excuse_where_means_are_over_those_present(biased, monkeypatch):
    """Were the exact mean taken with p_i/Σ p_j there too, runs would be far off it."""
    _, sweep = biased
    single = absence.exactly(sweep, absence.SINGLE)
    monkeypatch.setattr(absence, "exactly", lambda *_: single)
    low, high = absence.about_exact(sweep, absence.PRESENT)
    assert not low <= absence.bias(sweep, absence.PRESENT) <= high
    assert abs(absence.off_model(sweep, absence.PRESENT)) > SURE


@pytest.mark.long
def test_absence_that_lasts_is_as_predicted_and_drawn(tmp_path):
    found = judged(LASTS, tmp_path)
    exact = {each for each in found.values() if "exact value" in each.quantity}
    assert len(exact) == 2 * len(lasting.NAMES)
    assert {each.verdict for each in exact} == {"agrees"}
    sweep = Sweep.read(tmp_path / LASTS.name / AS_PUBLISHED)
    assert 200 < lasting.crossing(sweep) < 204
    assert (sweep.directory / "figures" / "long-absence.png").exists()
    anew = lasting.around(sweep, lasting.ANEW)
    assert not anew[0] <= mean_psi(sweep, "cycles of 400") <= anew[1]


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
    found = verdicts(WAVES, tmp_path, "run.replicates=8")
    named = {each.quantity: each for each in found}
    differ = [each.quantity for each in found if each.verdict != "agrees"]
    assert differ == ["the same without waves, as often there: none, if waves are the cause"]
    assert named[differ[0]].verdict == "differs"
    sweep = Sweep.read(tmp_path / WAVES.name / AS_PUBLISHED)
    assert waves.part_of_mean(sweep) == pytest.approx(0.83, abs=0.01)
    assert (sweep.directory / "figures" / "with-and-without.png").exists()
    forgetful = moves.crowd
    monkeypatch.setattr(moves, "crowd", lambda p, n: forgetful(min(1.0, 2 * p), n))
    low, high = waves.around(sweep, waves.in_waves(0.5))
    assert not low <= waves.mean_psi(sweep, waves.in_waves(0.5)) <= high
