"""Published gains of routing: judged on few replicates, drawn, and planted faults are seen."""

from collections.abc import Iterator

import numpy as np
import pytest

from analysis.studies.whom_to_ask import joules_to, time_to
from asyncdp_sim.results import Sweep
from asyncdp_sim.theory.predict.protocols import facts_of
from scenarios.beyond import expected_course, prices, routing
from scenarios.beyond.prices import BOARD
from scenarios.papers.claims import Judged
from scenarios.papers.figure import AS_PUBLISHED
from tests.catalogue.verdicts import verdicts

[FIGURE] = routing.RESULTS
FEW = ("run.replicates=60", 'sweep."protocol.tasks"=[1, 4, 10, 20]')


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Judged], Sweep]]:
    out = tmp_path_factory.mktemp("routing")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected_course, "NETWORKS", 60)
        told = verdicts(FIGURE, out, *FEW, variants=(AS_PUBLISHED,))
        directory = out / FIGURE.name / AS_PUBLISHED
        assert (directory / "figures" / "whom-to-ask.png").exists()
        yield {each.quantity: each for each in told}, Sweep.read(directory)


@pytest.mark.long
def test_no_claim_fails_and_choices_matter(verified):
    found, sweep = verified
    assert {each.verdict for each in found.values()} <= {"agrees", "differs"}
    assert routing.gain(sweep, "time") > 0.1
    assert routing.gain(sweep, "work") > 0.5
    assert routing.gain(sweep, "even", "time") < -0.2


@pytest.mark.long
def test_a_prediction_of_something_else_is_seen(verified):
    """Were joules taken for time, or watts for as many at every owner, windows would tell."""
    _, sweep = verified
    for choice, other in ((("work",), ("time",)), (("even", "time"), ("board", "time"))):
        low, high = routing.around(sweep, *choice)
        assert not low <= routing.gain(sweep, *other) <= high


@pytest.mark.long
def test_joules_are_watts_times_the_times_of_the_table(verified):
    result = routing.usual(verified[1]).result
    drawn = prices.drawn(result, BOARD.powers)
    assert drawn == pytest.approx(result.summary["watts"], rel=1e-12)
    assert joules_to(result) == pytest.approx(drawn * time_to(result), rel=1e-12)


@pytest.mark.long
def test_a_target_that_is_not_reached_is_never(verified):
    cell = routing.usual(verified[1])
    assert time_to(cell.result, 1e-12) == np.inf
    assert time_to(cell.result, 1e9) == 0
    assert 0 < time_to(cell.result, 0.1) < time_to(cell.result, 0.03)


def test_both_variants_load():
    for variant in FIGURE.variants:
        scenario = FIGURE.scenario(variant, full=False)
        assert scenario.owners.count == routing.ALL
        means = {law.mean for law in facts_of(scenario.network).laws("compute")}
        assert len(means) == (2 if variant == AS_PUBLISHED else 1)
        assert sum(facts_of(scenario.network).services) == pytest.approx(10.5)
