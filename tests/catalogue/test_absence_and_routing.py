"""Results of others on absence and routing: judged, drawn, planted faults are seen."""

from collections.abc import Iterator

import numpy as np
import pytest

from analysis.studies.whom_to_ask import power, time_estimate, time_to
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.theory.predict.protocols import facts_of
from scenarios.beyond import absence, lasting, moves, prices, routing, routing_accuracy, waves
from scenarios.beyond.moves import crowd, in_rounds, long_run, rounds
from scenarios.beyond.prices import BOARD
from scenarios.beyond.routing_accuracy import best_step, mean_accuracy
from scenarios.papers.figure import AS_PUBLISHED
from scenarios.papers.problem import SURE, mean_psi
from tests.catalogue.verdicts import Verified, once, verified

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
    assert abs(absence.off_model(sweep, absence.PRESENT)) > SURE


@pytest.mark.long
def test_absence_that_lasts_is_as_predicted_and_drawn(tmp_path):
    lasts = verified(LASTS, tmp_path, "run.replicates=6")
    exact = {quantity for quantity in lasts.found if "exact value" in quantity}
    assert len(exact) == 2 * len(lasting.NAMES)
    assert exact & lasts.differ.keys() == set()
    assert 200 < lasting.crossing(lasts.sweep) < 204
    assert lasts.drawn == ["long-absence"]
    low, high = lasting.around(lasts.sweep, lasting.ANEW)
    assert not low <= mean_psi(lasts.sweep, "cycles of 400") <= high


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
    forgetful = moves.crowd
    monkeypatch.setattr(moves, "crowd", lambda p, n: forgetful(min(1.0, 2 * p), n))
    low, high = waves.around(found.sweep, waves.in_waves(0.5))
    assert not low <= waves.mean_psi(found.sweep, waves.in_waves(0.5)) <= high


# Published gains of routing: judged on few replicates, drawn, and planted faults are seen.

[ROUTING] = routing.RESULTS
FEW = ("run.replicates=60", 'sweep."protocol.tasks"=[1, 4, 10, 20]')


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verified]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prices, "NETWORKS", 60)
        yield verified(ROUTING, tmp_path_factory.mktemp("routing"), *FEW)


@pytest.mark.long
def test_no_claim_fails_and_choices_matter(routed):
    assert set(routed.differ.values()) <= {"differs"}
    assert routed.drawn == ["whom-to-ask"]
    assert routing.gain(routed.sweep, "time") > 0.1
    assert routing.gain(routed.sweep, "work") > 0.5
    assert routing.gain(routed.sweep, "even", "time") < -0.2


@pytest.mark.long
def test_a_prediction_of_something_else_is_seen(routed):
    """Were joules taken for time, or watts for as many at every owner, windows would tell."""
    for choice, other in ((("work",), ("time",)), (("even", "time"), ("board", "time"))):
        low, high = routing.around(routed.sweep, *choice)
        assert not low <= routing.gain(routed.sweep, *other) <= high


@pytest.mark.long
def test_joules_are_watts_times_the_times_of_the_table(routed):
    result = routing.usual(routed.sweep).result
    drawn = prices.drawn(result, BOARD.powers)
    assert drawn == pytest.approx(result.summary["watts"], rel=1e-12)
    assert power(result) == pytest.approx(drawn, rel=1e-12)


@pytest.mark.long
def test_the_interval_of_a_time_holds_it(routed):
    result = routing.usual(routed.sweep).result
    time, low, high = time_estimate(result)
    assert time == time_to(result)
    assert low < time < high


@pytest.mark.long
def test_a_target_that_is_not_reached_is_never(routed):
    cell = routing.usual(routed.sweep)
    assert time_to(cell.result, 1e-12) == np.inf
    assert time_to(cell.result, 1e9) == 0
    assert 0 < time_to(cell.result, 0.1) < time_to(cell.result, 0.03)


# Accuracy that routing gains: judged with two of its steps, drawn, and planted faults are seen.

[ACCURACY] = routing_accuracy.RESULTS
accurate = once(ACCURACY, 'sweep."algorithm.step"=[0.25, 2.0]')


@pytest.mark.long
def test_the_gain_is_early(accurate):
    assert set(accurate.differ.values()) <= {"differs"}
    assert accurate.drawn == ["routing-accuracy"]
    gain = "accuracy gained over all alike and m = N after {:g} units, relative"
    early, late = (accurate.found[gain.format(each)] for each in (1.0, routing_accuracy.LATE))
    assert (early.verdict, late.verdict) == ("agrees", "differs")
    assert early.ours - late.ours > 4 * np.hypot(early.error or 0, late.error or 0)
    assert 1.0 <= routing_accuracy.lasts(accurate.sweep) < routing_accuracy.LATE


@pytest.mark.long
def test_means_are_over_replicates(accurate):
    """By hand, for one k; and the best step is as good as every one."""
    results = routing_accuracy.cells(accurate.sweep, routing_accuracy.CHOSEN)
    k, time, score = results[0].columns("curve", "k", "time", "held_out_accuracy")
    every, times, scores = mean_accuracy(results[0])
    at = int(np.flatnonzero(every == 20)[0])
    assert times[at] == pytest.approx(time[k == 20].mean())
    assert scores[at] == pytest.approx(score[k == 20].mean())
    for each in results:
        own = mean_accuracy(each)
        assert (best_step(results, own[1]) >= own[2] - 1e-12).all()


@pytest.mark.parametrize("figure", [ROUTING, ACCURACY], ids=lambda figure: figure.name)
def test_both_variants_load_and_owners_are_as_slow_in_the_mean(figure):
    for variant in figure.variants:
        scenario = figure.scenario(variant, full=False)
        assert scenario.owners.count == routing.ALL
        means = {law.mean for law in facts_of(scenario.network).laws("compute")}
        assert len(means) == (2 if variant == AS_PUBLISHED else 1)
        assert sum(facts_of(scenario.network).services) == pytest.approx(10.5)
