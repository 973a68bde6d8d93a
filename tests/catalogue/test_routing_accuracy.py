"""Accuracy that routing gains: judged with two of its steps, drawn, and planted faults are seen."""

import numpy as np
import pytest

from analysis.beyond.accuracy_over_time import best_step, mean_accuracy
from asyncdp_sim.results import Sweep
from asyncdp_sim.theory.predict.protocols import facts_of
from scenarios.beyond import routing_accuracy as routing
from scenarios.papers.claims import Judged
from scenarios.papers.figure import AS_PUBLISHED
from tests.catalogue.verdicts import verdicts

[FIGURE] = routing.RESULTS
FEW = ('sweep."algorithm.step"=[0.25, 2.0]',)


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Judged], Sweep]:
    out = tmp_path_factory.mktemp("accuracy")
    told = verdicts(FIGURE, out, *FEW, variants=(AS_PUBLISHED,))
    directory = out / FIGURE.name / AS_PUBLISHED
    assert (directory / "figures" / "routing-accuracy.png").exists()
    return {each.quantity: each for each in told}, Sweep.read(directory)


@pytest.mark.long
def test_the_gain_is_early(verified):
    found, sweep = verified
    assert {each.verdict for each in found.values()} <= {"agrees", "differs"}
    gain = "accuracy gained over all alike and m = N after {:g} units, relative"
    early, late = (found[gain.format(each)] for each in (1.0, routing.LATE))
    assert early.verdict == "agrees"
    assert late.verdict == "differs"
    assert early.ours - late.ours > 4 * np.hypot(early.error or 0, late.error or 0)
    assert 1.0 <= routing.lasts(sweep) < routing.LATE


@pytest.mark.long
def test_means_are_over_replicates(verified):
    """By hand, for one k; and the best step is as good as every one."""
    results = routing.cells(verified[1], routing.CHOSEN)
    k, time, score = results[0].columns("curve", "k", "time", "held_out_accuracy")
    every, times, scores = mean_accuracy(results[0])
    at = int(np.flatnonzero(every == 20)[0])
    assert times[at] == pytest.approx(time[k == 20].mean())
    assert scores[at] == pytest.approx(score[k == 20].mean())
    for each in results:
        own = mean_accuracy(each)
        assert (best_step(results, own[1]) >= own[2] - 1e-12).all()


def test_owners_of_one_speed_are_as_slow_in_the_mean():
    for variant in FIGURE.variants:
        scenario = FIGURE.scenario(variant, full=False)
        means = {law.mean for law in facts_of(scenario.network).laws("compute")}
        assert len(means) == (2 if variant == AS_PUBLISHED else 1)
        assert sum(facts_of(scenario.network).services) == pytest.approx(10.5)
