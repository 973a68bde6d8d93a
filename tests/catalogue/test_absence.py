"""Results of others on absence: few replicates are judged, drawn, and planted faults are seen."""

from pathlib import Path

import pytest

from asyncdp_sim.results import Sweep
from scenarios.beyond import absence, lasting
from scenarios.papers.claims import Judged
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure
from tests.catalogue.verdicts import verdicts

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
    low, high = absence.COUNTED.reaches([sweep])
    assert not low <= absence.bias(sweep, absence.PRESENT) <= high
    assert abs(absence.off_model(sweep, absence.PRESENT)) > absence.SURE


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
    assert not anew[0] <= lasting.mean_psi(sweep, "cycles of 400") <= anew[1]
