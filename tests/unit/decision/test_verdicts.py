"""The verdict on a gain, its interval, the gain of all, and budgets that suffice."""

from dataclasses import replace
from math import inf, nan, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t

from asyncdp_sim.decision import Estimate, Gain, Verdict, break_even, consortium, over_halves
from asyncdp_sim.decision.forecast import consortium_over_halves, mean_of
from asyncdp_sim.decision.gain import of_rows, of_runs, verdict_of
from tests.tables import table

WORSE = Verdict.WORSE


def between(low: float, high: float) -> Estimate:
    """An estimate with this interval."""
    deviation = (high - low) / 2 / t.ppf(0.975, 20)
    return Estimate((low + high) / 2, ((deviation**2, 20.0),))


def gain_of(value, *, rows=0.01, runs=(0.0, 0.0), guessing=20.0, records=100, rarer=9):
    """Return a gain on an own error of 10."""
    by_run = value + np.array(runs)
    estimate = Estimate(value, ((rows, 50.0), *of_runs(by_run, None)))
    errors = 10.0, 10.0 - value, 10.0 - value, guessing
    judged = "linear", estimate, estimate, rows, 50.0, by_run, None
    return Gain(100, records, *errors, *judged, 0.5, rarer)


@pytest.mark.parametrize(("low", "high", "verdict"), table(__file__, "verdicts.toml")["judged"])
def test_one_verdict_holds_of_what_is_material_and_what_is_known(low, high, verdict):
    estimate = Estimate(-inf) if low == -inf else between(low, high)
    assert verdict_of(estimate, 0.5, better_than_guessing=True) == verdict
    if verdict == Verdict.GAINS:
        assert verdict_of(estimate, 0.5, better_than_guessing=False) is Verdict.UNDECIDED


def test_a_tie_is_no_gain():
    nothing = Estimate(0.0)
    assert (nothing.low, nothing.high) == (0.0, 0.0)
    assert verdict_of(nothing, 0.5, better_than_guessing=True) is Verdict.NO_DIFFERENCE
    assert verdict_of(Estimate(nan), 0.5, better_than_guessing=True) is Verdict.UNDECIDED


def test_an_interval_has_the_degrees_of_both_its_parts():
    parts = ((4.0, 10.0), (1.0, 3.0))
    degrees = 25 / (16 / 10 + 1 / 3)
    assert Estimate(0.0, parts).half_width == pytest.approx(t.ppf(0.975, degrees) * sqrt(5))
    assert Estimate(0.0, ((4.0, 0.0),)).half_width == inf  # one redraw tells of no spread


def test_rows_of_a_person_count_together():
    differences, persons = np.array([1.0, 1.0, -1.0, -1.0, 3.0, 3.0]), np.array([7, 7, 2, 2, 9, 9])
    variance, degrees = of_rows(differences, persons, 1.0)
    assert degrees == 2
    assert variance == pytest.approx(np.var([1.0, -1.0, 3.0], ddof=1) / 3)
    apart, _ = of_rows(differences, np.arange(6), 1.5)
    assert apart == pytest.approx(1.5 * np.var(differences, ddof=1) / 6)
    assert of_rows(differences, np.zeros(6, dtype=int), 1.0) == (inf, 0.0)


def test_redraws_are_one_more_draw_beside_the_owners_rows():
    by_run, redraw = np.array([1.0, 3.0, 5.0, 7.0]), np.array([0, 0, 1, 1])
    assert of_runs(by_run, None) == ((pytest.approx(np.var(by_run, ddof=1) / 4), 3.0),)
    assert of_runs(by_run, redraw) == ((pytest.approx(8.0 * 1.5), 1.0),)
    assert of_runs(by_run, np.zeros(4, dtype=int)) == ((0.0, 0.0),)
    assert of_runs(by_run[:1], None) == ()


def test_halves_share_rows_so_that_their_mean_varies_as_one_more_half():
    means = np.arange(8.0)
    estimate = over_halves(means)
    half = t.ppf(0.975, 7) * means.std(ddof=1) * sqrt(1 + 1 / 8)
    assert (estimate.value, estimate.half_width) == (3.5, pytest.approx(half))


def test_every_owner_counts_once_and_runs_are_common_to_all():
    gains = [gain_of(1.0, runs=(-0.3, 0.3), records=300), gain_of(3.0, runs=(-0.3, 0.3))]
    found = consortium(gains)
    assert found.gain.value == 2.0
    assert found.by_records.value == pytest.approx(1.5)
    rows, runs = found.gain.parts
    assert rows == (pytest.approx(0.02 / 4), pytest.approx(100.0))
    assert runs == (pytest.approx(np.var([1.7, 2.3], ddof=1) / 2), 1.0)
    assert consortium([gain_of(2.0), gain_of(4.0)]).verdict is Verdict.GAINS
    assert consortium([gain_of(4.0, guessing=5.0)]).verdict is Verdict.UNDECIDED
    assert consortium([gain_of(nan)]) is None
    assert consortium([gain_of(2.0), gain_of(nan)]).owners == 1


@pytest.mark.parametrize("redraw", [None, np.arange(2)])
def test_a_joint_model_that_diverged_is_infinitely_worse_for_the_mean_owner_too(redraw):
    gains = [replace(gain_of(value), redraw=redraw) for value in (-inf, 2.0)]
    halves = consortium_over_halves([gains[:1], gains[:1]], 0.05, 3)
    for mean in (consortium(gains), consortium(gains[:1]), halves):
        assert (mean.gain.value, mean.verdict, mean.verdict_by_records) == (-inf, WORSE, WORSE)
    assert consortium(gains).owners == 2
    assert (mean_of(gains[:1], "joint"), mean_of(gains, "own")) == (inf, 10.0)
    assert consortium_over_halves([gains, [gain_of(nan)]], 0.05, 3) is None
    assert np.isnan(mean_of([gain_of(nan)], "joint"))


@pytest.mark.parametrize(("rarer", "known"), [((0, 0), False), ((1, 0), False), ((1, 1), True)])
def test_rows_of_one_class_decide_nothing_for_the_mean_owner_either(rarer, known):
    gains = [gain_of(0.0, rows=0.0, rarer=persons) for persons in rarer]
    assert (consortium(gains).verdict is Verdict.NO_DIFFERENCE) == known
    halves = consortium_over_halves([gains, gains], 0.05, 2)  # judged by the same public rows
    assert halves.verdict is Verdict.UNDECIDED
    assert consortium_over_halves([[gain_of(0.0, rarer=2)]] * 2, 0.05, 2).verdict != "undecided"


def test_how_many_rows_would_decide():
    # half width 2.009 · √0.25 = 1.004 at 100 rows; 0.8 is material, so that it must be halved
    undecided = gain_of(0.8, rows=0.25)
    assert undecided.verdict is Verdict.UNDECIDED
    needed = undecided.rows_to_decide
    assert needed == pytest.approx(100 * (undecided.gain.half_width / 0.8) ** 2, abs=1)
    assert gain_of(0.8, rows=0.25 * 100 / (needed + 5)).verdict is Verdict.GAINS
    assert gain_of(3.0).rows_to_decide is None
    assert gain_of(0.8, rows=0.01, runs=(-9.0, 9.0)).rows_to_decide is None  # runs decide


def test_a_budget_suffices_from_which_on_all_larger_ones_do():
    budgets, material = (1.0, 2.0, 4.0), [0.1] * 3
    enough, too_little = Verdict.GAINS, Verdict.UNDECIDED

    def found(*verdicts):
        ends = between(-1.0, 1.0), between(-0.5, 1.5), between(0.5, 2.5)
        pairs = zip(ends, verdicts, strict=True)
        gains = [SimpleNamespace(gain=gain, verdict=verdict) for gain, verdict in pairs]
        return break_even(budgets, gains, material)

    level = found(too_little, too_little, enough)
    assert (level.low, level.high) == (2.0, 4.0)
    assert level.value == pytest.approx(1 / 0.375)  # half-way in 1/ε
    assert found(enough, enough, enough).low == 0.0
    assert found(enough, enough, too_little) is None
    assert break_even((1.0,), [gain_of(2.0)], [0.1]) is None
    assert break_even(budgets, [gain_of(2.0), None, gain_of(2.0)], material) is None
