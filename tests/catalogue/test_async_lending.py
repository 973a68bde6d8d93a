"""Async's lending figures load in every size and variant, run small, are drawn and judged."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.exact.silence import RARE, silent_by
from analysis.studies.psi_lines import Reference
from asyncdp_sim.network import Network
from asyncdp_sim.results import Cell, Result, Sweep
from asyncdp_sim.sweeps import sweep as sweeps
from asyncdp_sim.theory.predict.update_order import Releases
from asyncdp_sim.trace import Trace
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, EVERY, SOUND
from scenarios.papers.lending import reasons
from scenarios.papers.lending.figures import FIGURES, PROMISE
from scenarios.papers.lending.readings import crossing
from scenarios.papers.lending.reasons import CONSTANT
from tests.catalogue.verdicts import verdicts

pytestmark = pytest.mark.long

NAMED = {figure.name: figure for figure in FIGURES}
EACH = pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
QUICK = {
    "async-03": ("owners.records=500", "run.updates=60"),
    "async-04": ("run.updates=400",),
    "async-05": ('sweep."owners.records"=[300, 600]', "run.updates=60"),
    "async-06": ('sweep."owners.records"=[300, 600]', "run.updates=60"),
    "async-07": ('sweep."owners.count"=[2, 3]', "owners.records=300", "run.updates=60"),
}
"""So little that nothing is learned: what is drawn matters here."""
FEW = ("run.replicates=4", "data.public_records=300")


def banks(directory, counts, psi, alone):
    """Return cells of so many banks that end at ψ, where bank 1 alone has another."""
    found = []
    for number, (count, end, own) in enumerate(zip(counts, psi, alone, strict=True)):
        place = directory / str(number)
        place.mkdir(parents=True)
        pq.write_table(pa.table({"psi_alone": [own] * count}), place / "owners.parquet")
        said = {"owners": {"count": count}, "run": {"updates": 1}}
        manifest = {"scenario": said, "replicates": [1], "summary": {"psi_final": {"mean": end}}}
        result = Result(place, manifest)
        found.append(Cell(number, {"owners.count": count, "privacy.epsilon": 10.0}, result))
    return Sweep(directory, ("owners.count", "privacy.epsilon"), tuple(found), ())


@EACH
def test_the_sound_variant_changes_privacy_alone(figure):
    """It enforces the published bound, and draws fewer replicates of what takes longer."""
    raw, sound = (figure.scenario(v, full=True).plain() for v in (AS_PUBLISHED, SOUND))
    assert raw["run"] | {"replicates": sound["run"]["replicates"]} == sound["run"]
    assert {key for key in raw if raw[key] != sound[key]} <= {"privacy", "run"}
    assert raw["privacy"]["sensitivity"] == {**sound["privacy"]["sensitivity"], "kind": "declared"}
    assert (sound["privacy"]["sensitivity"]["kind"], sound["privacy"]["noise"]) == (
        "clip",
        "vector",
    )
    assert sound["privacy"]["epsilon"] == raw["privacy"]["epsilon"]


@EACH
def test_no_sound_bank_has_to_fall_silent(figure):
    scenario = figure.scenario(SOUND, full=True)
    for cell in map(scenario.cell, scenario.grid()):
        network = cell.network
        law = Releases(np.ones(network.n_owners), np.zeros(network.n_owners))
        assert silent_by(law, np.array(network.answers_allowed), network.updates) < RARE


@pytest.mark.parametrize(
    ("name", "variants"),
    [
        ("async-03", (SOUND,)),
        ("async-04", EVERY),
        ("async-05", (SOUND,)),
        ("async-07", (AS_PUBLISHED,)),
        *(
            pytest.param(name, EVERY, marks=pytest.mark.nightly)
            for name in ("async-03", "async-05", "async-06", "async-07")
        ),
    ],
)
def test_it_is_run_drawn_and_judged(name, variants, tmp_path):
    figure = NAMED[name]
    found = verdicts(figure, tmp_path, *FEW, *QUICK[name], variants=variants)
    assert {(each.figure, each.variant) for each in found} == {
        (figure.source, variant) for variant in variants
    }
    for variant in variants:
        drawn = {path.name for path in (tmp_path / name / variant / "figures").iterdir()}
        pictures = {each.name for each in figure.pictures(Sweep.read(tmp_path / name / variant))}
        files = {f"{each}.{kind}" for each in pictures for kind in ("csv", "png")}
        assert drawn == {"captions.md", *files}
    promised = [each.ours for each in found if each.quantity == PROMISE[0].quantity]
    assert promised == [float(variant == SOUND) for variant in variants]


def test_variants_with_one_network_simulate_it_once(tmp_path, monkeypatch):
    simulated, simulate = [], sweeps.simulate_all

    def counted(network: Network, *given: Any) -> list[Trace]:
        simulated.append(network)
        return simulate(network, *given)

    monkeypatch.setattr(sweeps, "simulate_all", counted)
    figure, more = NAMED["async-05"], (*FEW, *QUICK["async-05"])
    verdicts(figure, tmp_path / "both", *more, variants=(AS_PUBLISHED, AS_WRITTEN))
    assert len(simulated) == 1
    verdicts(figure, tmp_path / "alone", *more, variants=(AS_WRITTEN,))
    assert len(simulated) == 2
    for one in (tmp_path / "alone" / "async-05" / AS_WRITTEN).rglob("*"):
        other = tmp_path / "both" / one.relative_to(tmp_path / "alone")
        assert one.is_dir() or one.read_bytes() == other.read_bytes(), one


def test_figure_5_has_the_published_law(tmp_path):
    more = (
        'sweep."owners.records"=[1000, 2000]', 'sweep."privacy.epsilon"=[1.0, 10.0]',
        "run.replicates=40",
    )  # fmt: skip
    found = verdicts(NAMED["async-05"], tmp_path / "right", *more, variants=(AS_PUBLISHED,))
    assert [each.verdict for each in found] == ["agrees"] * 9 + ["differs"]
    assert found[0].published == CONSTANT
    assert found[-1].ours == 0.0  # not private as claimed
    for number, bound in enumerate((10.0, 2.5)):
        planted = (*more, f"privacy.sensitivity.bound={bound}")
        off = verdicts(
            NAMED["async-05"], tmp_path / str(number), *planted, variants=(AS_PUBLISHED,)
        )
        said = {each.quantity: each.verdict for each in off}
        assert [said[found[place].quantity] for place in (0, 4)] == ["fails", "fails"]


def test_where_few_records_are_clipped_the_exact_forecast_holds(tmp_path):
    """And where many are, with as little noise, is seen."""
    [claim] = [
        each
        for each in NAMED["async-05"].claims
        if each.quantity.startswith("ψ over the exact forecast")
    ]
    figure = replace(NAMED["async-05"], claims=(claim,), pictures=lambda _: ())
    more = ('sweep."owners.records"=[500, 1000]', "data.public_records=1000", "run.replicates=6")
    for epsilons, bound, verdict in (([20.0, 40.0], 5.0, "agrees"), ([2.0, 4.0], 0.5, "fails")):
        set_to = (f'sweep."privacy.epsilon"={epsilons}', f"privacy.sensitivity.bound={bound}")
        [judged] = verdicts(figure, tmp_path / verdict, *more, *set_to, variants=(SOUND,))
        assert judged.verdict == verdict, judged.ours


@pytest.mark.parametrize(
    ("alone", "psi", "expected"),
    [
        ((1.0, 1.0, 1.0), (8.0, 2.0, 0.5), 4.0 * np.sqrt(2.0)),
        ((1.0, 1.0, 1.0), (0.9, 2.0, 3.0), 2.0),
        ((1.0, 1.0, 1.0), (8.0, 4.0, 2.0), np.inf),
        ((1.0, 1.0, 16.0), (4.0, 4.0, 4.0), 4.0 * np.sqrt(2.0)),
    ],
)
def test_the_crossing_is_found(alone, psi, expected, tmp_path):
    assert crossing(banks(tmp_path, (2, 4, 8), psi, alone), 10.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("expected", "left", "reaches"),
    [((8.0, 2.0, 1.1), 0.0, True), ((8.0, 0.9, 1.1), 0.0, False), ((8.0, 2.0, 1.1), 0.2, False)],
)
def test_no_crossing_is_excused_where_noise_alone_costs_more(
    expected, left, reaches, tmp_path, monkeypatch
):
    """And not where what has not been learned makes up the rest."""
    exact = Reference("", "", lambda cell: expected[cell.number])
    monkeypatch.setattr(reasons, "exactly", lambda _: exact)
    monkeypatch.setattr(reasons, "quiet", lambda _: Reference("", "", lambda _: left))
    sweep = banks(tmp_path, (2, 4, 16), (8.0, 4.0, 2.0), (1.0, 1.0, 1.0))
    low, high = reasons.too_noisy(sweep, 10.0)
    assert (low <= np.inf <= high) is reaches


@pytest.mark.parametrize(("expected", "share"), [((8.0, 2.0, 1.1), 0.0), ((8.0, 0.9, 1.1), 0.5)])
def test_the_headline_is_excused_as_far_as_exact_moments_go(expected, share, tmp_path, monkeypatch):
    exact = Reference("", "", lambda cell: expected[cell.number])
    monkeypatch.setattr(reasons, "exactly", lambda _: exact)
    assert reasons.those_that_gain(banks(tmp_path, (4, 16, 32), *[(1.0,) * 3] * 2)) == (0.0, share)


@pytest.mark.parametrize(("left", "reach"), [(1.5, 2.02), (0.5, np.nan)])
def test_no_gain_is_excused_where_nothing_is_gained_without_noise(
    left, reach, tmp_path, monkeypatch
):
    monkeypatch.setattr(reasons, "exactly", lambda _: Reference("", "", lambda _: 2.0))
    monkeypatch.setattr(reasons, "quiet", lambda _: Reference("", "", lambda _: left))
    sweep = banks(tmp_path, (4, 16, 32), (8.0, 4.0, 2.0), (1.0, 1.0, 1.0))
    assert reasons.unlearned_over_alone(sweep)[1] == pytest.approx(reach, nan_ok=True)


@pytest.mark.parametrize("setting", ["owners.count=1", "run.updates=1"])
def test_what_a_run_does_not_have_is_no_number_and_no_crash(setting, tmp_path):
    """Of one owner there is no order, and of one update no repeat."""
    found = verdicts(NAMED["async-04"], tmp_path, setting, variants=[AS_PUBLISHED])
    fails = [each for each in found if each.verdict == "fails"]
    assert any(np.isnan(each.ours) for each in fails)
    assert all("must lie within" in each.because for each in fails)
