"""Async's figures of lending and of hospitals, run small: what they do, and how they are judged."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.exact.assumptions import RARE, silent_by
from analysis.studies.psi_lines import Reference
from asyncdp_sim.data import Dataset
from asyncdp_sim.network import Network
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.sweeps import sweep as sweeps
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.theory.predict.update_order import Releases
from asyncdp_sim.trace import Trace
from scenarios import entry
from scenarios.papers import hospital, lending
from scenarios.papers.claims import MOVED, judge
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, EVERY, SOUND
from scenarios.papers.lending import CONSTANT, crossing
from tests.catalogue.verdicts import verdicts
from tests.tables import table
from tests.unit.figures.made import sweep_of

pytestmark = pytest.mark.long

PROMISE = "share of cells that are private as claimed"
BY_CHANCE = "mean ψ of the runs over its exact expectation, geometric mean over cells"
NAMED = {figure.name: figure for figure in lending.FIGURES}
EACH = pytest.mark.parametrize("figure", lending.FIGURES, ids=lambda figure: figure.name)
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
    cells = [
        {
            "values": {"owners.count": count, "privacy.epsilon": 10.0},
            "said": {"n_owners": count},
            "psi": [end],
            "summary": {"psi_final": {"mean": end}},
            "owners": {"psi_alone": [own] * count},
        }
        for count, end, own in zip(counts, psi, alone, strict=True)
    ]
    return sweep_of(directory, cells)


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
    promised = [each.ours for each in found if each.quantity == PROMISE]
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


@pytest.fixture
def exact(monkeypatch):
    """Set what is expected of each cell, and what is left there without noise."""

    def given(expected, left=0.0):
        monkeypatch.setattr(
            lending, "exactly", lambda _: Reference("", "", lambda cell: expected[cell.number])
        )
        monkeypatch.setattr(lending, "quiet", lambda _: Reference("", "", lambda _: left))

    return given


@pytest.mark.parametrize(
    ("expected", "left", "reaches"),
    [((8.0, 2.0, 1.1), 0.0, True), ((8.0, 0.9, 1.1), 0.0, False), ((8.0, 2.0, 1.1), 0.2, False)],
)
def test_no_crossing_is_excused_where_noise_alone_costs_more(
    expected, left, reaches, tmp_path, exact
):
    """And not where what has not been learned makes up the rest."""
    exact(expected, left)
    sweep = banks(tmp_path, (2, 4, 16), (8.0, 4.0, 2.0), (1.0, 1.0, 1.0))
    low, high = lending.too_noisy(sweep, 10.0)
    assert (low <= np.inf <= high) is reaches


@pytest.mark.parametrize(("expected", "share"), [((8.0, 2.0, 1.1), 0.0), ((8.0, 0.9, 1.1), 0.5)])
def test_the_headline_is_excused_as_far_as_exact_moments_go(expected, share, tmp_path, exact):
    exact(expected)
    assert lending.those_that_gain(banks(tmp_path, (4, 16, 32), *[(1.0,) * 3] * 2)) == (0.0, share)


@pytest.mark.parametrize(("left", "reach"), [(1.5, 2.02), (0.5, np.nan)])
def test_no_gain_is_excused_where_nothing_is_gained_without_noise(left, reach, tmp_path, exact):
    exact((2.0, 2.0, 2.0), left)
    sweep = banks(tmp_path, (4, 16, 32), (8.0, 4.0, 2.0), (1.0, 1.0, 1.0))
    assert lending.unlearned_over_alone(sweep)[1] == pytest.approx(reach, nan_ok=True)


@pytest.mark.parametrize("setting", ["owners.count=1", "run.updates=1"])
def test_what_a_run_does_not_have_is_no_number_and_no_crash(setting, tmp_path):
    """Of one owner there is no order, and of one update no repeat."""
    found = verdicts(NAMED["async-04"], tmp_path, setting, variants=[AS_PUBLISHED])
    fails = [each for each in found if each.verdict == "fails"]
    assert any(np.isnan(each.ours) for each in fails)
    assert all("must lie within" in each.because for each in fails)


# The hospital figures, small: what they run, how they are drawn, and what must hold of them.


BY_NAME = {figure.name: figure for figure in hospital.FIGURES}
TABLE = table(__file__, "async_hospital.toml")
LITTLE = TABLE["little"]
"""Settings that leave nothing of the figures but their form."""
ALWAYS = ("async-11",)
"""What is run every time; the others at night, and figure 9 in the next test too."""


@pytest.mark.parametrize(
    "figure",
    [
        pytest.param(figure, marks=() if figure.name in ALWAYS else pytest.mark.nightly)
        for figure in hospital.FIGURES
    ],
    ids=lambda figure: figure.name,
)
def test_every_variant_runs_is_drawn_and_judged(figure, tmp_path):
    found = verdicts(figure, tmp_path, *LITTLE)
    assert {each.variant for each in found} == set(EVERY)
    # so little is learned that Θ's box holds the models, where there are no exact moments
    assert {each.quantity for each in found if not np.isfinite(each.ours)} <= {BY_CHANCE}
    for variant in EVERY:
        pictures = figure.pictures(Sweep.read(tmp_path / figure.name / variant))
        assert len(pictures) > 0
        assert all(picture.label.private is (variant == SOUND) for picture in pictures)


def test_who_talks_when_is_as_published_whatever_is_answered(tmp_path):
    figure = BY_NAME["async-09"]
    found = verdicts(figure, tmp_path, *LITTLE)
    assert [each.ours for each in found if each.quantity == MOVED] == [0, 0]
    swept = {name: Sweep.read(tmp_path / figure.name / name) for name in EVERY}
    one = ('privacy.budget={ kind = "per-owner-cap", answers = 1 }', "owners.count=50")
    sweep(figure.scenario(SOUND, full=False, more=(*LITTLE, *one)), tmp_path / "spent")
    swept[SOUND] = Sweep.read(tmp_path / "spent")
    [moved] = [each for each in judge("", SOUND, figure.claims, swept) if each.quantity == MOVED]
    assert moved.verdict == "fails"
    assert judge("", SOUND, figure.claims[2:3], {SOUND: swept[SOUND]}) == []


@pytest.mark.parametrize("figure", hospital.FIGURES, ids=lambda figure: figure.name)
def test_full_is_the_papers_size(figure):
    scenario = figure.scenario("as-published", full=True)
    assert scenario.owners.count == 86
    assert scenario.records is None  # the twin's own, 10,000 and more
    assert scenario.run.updates == 1000
    assert scenario.run.replicates == (1 if figure.name == "async-09" else 100)


def built(*settings: str) -> tuple[Dataset, object]:
    scenario = entry("async-11").scenario(
        ("owners.count=3", *LITTLE[:1], "owners.records=50", "data.public_records=200", *settings)
    )
    dataset = build_dataset(scenario)
    return dataset, prepare(scenario.base(), dataset)


def test_psi_is_of_all_patients_and_only_the_hospitals_train():
    """θ* of every row of the table, gradients and shares of the owners' (PAPERS, code 9)."""
    dataset, problem = built()
    assert dataset.unowned_targets is not None
    assert len(dataset.unowned_targets) == 200
    x = np.concatenate([*dataset.features, dataset.unowned_features])
    y = np.concatenate([*dataset.targets, dataset.unowned_targets])
    sigma = 1e-5
    hessian = x.T @ x / len(y) + sigma / 2 * np.eye(x.shape[1])
    optimum = np.linalg.solve(hessian, x.T @ y / len(y))
    judge = problem.task.objective
    np.testing.assert_allclose(judge.optimum, optimum, rtol=1e-8)
    least = np.mean((y - x @ optimum) ** 2) + sigma / 2 * optimum @ optimum
    assert judge.least == pytest.approx(least, rel=1e-10)
    assert judge.records.tolist() == [50, 50, 50]
    point = np.ones((1, x.shape[1]))
    worth = np.mean((y - x @ point[0]) ** 2) + sigma / 2 * point[0] @ point[0]
    assert judge.excess(point)[0] == pytest.approx(worth - least, rel=1e-9)
    own = 2 * dataset.features[1].T @ (dataset.features[1] @ point[0] - dataset.targets[1]) / 50
    np.testing.assert_allclose(judge.gradient(np.array([1]), point)[0], own, rtol=1e-10)


def test_scored_on_the_participants_nothing_is_added():
    dataset, problem = built('data.score_on="participants"')
    assert dataset.unowned_targets is None
    x, y = np.concatenate(dataset.features), np.concatenate(dataset.targets)
    hessian = x.T @ x / len(y) + 1e-5 / 2 * np.eye(x.shape[1])
    optimum = np.linalg.solve(hessian, x.T @ y / len(y))
    np.testing.assert_allclose(problem.task.objective.optimum, optimum, rtol=1e-8)


def test_who_trains_does_not_depend_on_who_is_scored():
    """The same models come out; only what is thought of them differs."""
    alike = run(entry("async-11").scenario(("owners.count=3", *LITTLE[:-1])).base())
    other = run(
        entry("async-11")
        .scenario(("owners.count=3", *LITTLE[:-1], 'data.score_on="participants"'))
        .base()
    )
    assert np.array_equal(alike.learned.models, other.learned.models)
    assert alike.summary["psi_final"] != other.summary["psi_final"]


def test_a_domain_confines_the_unowned_rows_too():
    domain = 'privacy.sensitivity={ kind = "domain", row_norm = 0.05, target_max = 5.0 }'
    dataset, problem = built(domain, 'privacy.noise="vector"', "model.theta_max=100.0")
    assert dataset.unowned_targets is not None
    assert dataset.unowned_targets.max() > 5
    assert "of 350 rows" in next(note for note in problem.posed.notes if "bounded domain" in note)


def test_who_is_named_only_of_a_real_table(tmp_path):
    figure = BY_NAME["async-11"]
    sweep(figure.scenario("as-published", full=False, more=LITTLE), tmp_path / "result")
    assert hospital.names(Sweep.read(tmp_path / "result")) == ()


def test_hospitals_of_a_table_go_by_their_facility(tmp_path):
    draws = np.random.default_rng(11)
    rows = [
        f"{facility},{draws.integers(1, 20)},{age} to 99,{sex},White,Unknown,Elective,"
        f"{draws.integers(1, 260)},{draws.integers(0, 230)},{drg},4"
        for facility in (1000, 4, 66)
        for age, sex, drg in ((0, "M", 140), (18, "F", 300), (50, "F", 302), (70, "M", 45))
    ]
    header = "Facility Id,Length of Stay,Age Group,Gender,Race,Ethnicity,Type of Admission,"
    codes = "CCS Diagnosis Code,CCS Procedure Code,APR DRG Code,APR MDC Code"
    (tmp_path / "2015.csv").write_text("\n".join([header + codes, *rows]) + "\n")
    figure = BY_NAME["async-11"]
    path = (tmp_path / "2015.csv").as_posix()
    read = (f'data.path="{path}"', "data.preprocessing=none", "data.public_records=0")
    read = (*read, "data.split.least=1")
    few = ("owners.count=3", "run.replicates=1", "run.updates=5", "algorithm.rho=1e-6")
    sweep(figure.scenario("as-published", full=False, more=(*read, *few)), tmp_path / "result")
    swept = Sweep.read(tmp_path / "result")
    assert hospital.names(swept) == ("4", "66", "1000")
    [picture] = figure.pictures(swept)
    assert picture.table["name"].tolist() == ["4", "66", "1000"] * 3
    assert picture.table["records"].tolist() == [4] * 9
