"""Published gains of routing, in time and in accuracy: judged, drawn, planted faults are seen."""

from collections.abc import Iterator

import numpy as np
import pytest

from analysis.studies.whom_to_ask import power, time_estimate, time_to
from asyncdp_sim.theory.predict.protocols import facts_of
from scenarios.beyond import expected_course, prices, routing, routing_accuracy
from scenarios.beyond.prices import BOARD
from scenarios.beyond.routing_accuracy import best_step, mean_accuracy
from scenarios.papers.figure import AS_PUBLISHED
from tests.catalogue.verdicts import Verified, once, verified

# Published gains of routing: judged on few replicates, drawn, and planted faults are seen.

[FIGURE] = routing.RESULTS
FEW = ("run.replicates=60", 'sweep."protocol.tasks"=[1, 4, 10, 20]')


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verified]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected_course, "NETWORKS", 60)
        yield verified(FIGURE, tmp_path_factory.mktemp("routing"), *FEW)


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


@pytest.mark.parametrize("figure", [FIGURE, ACCURACY], ids=lambda figure: figure.name)
def test_both_variants_load_and_owners_are_as_slow_in_the_mean(figure):
    for variant in figure.variants:
        scenario = figure.scenario(variant, full=False)
        assert scenario.owners.count == routing.ALL
        means = {law.mean for law in facts_of(scenario.network).laws("compute")}
        assert len(means) == (2 if variant == AS_PUBLISHED else 1)
        assert sum(facts_of(scenario.network).services) == pytest.approx(10.5)
