"""The hospital figures, small: what they run, how they are drawn, and what must hold of them."""

import numpy as np
import pytest

from asyncdp_sim.data import Dataset
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.sweeps.sweep import sweep
from scenarios import entry
from scenarios.papers import hospital
from scenarios.papers.claims import MOVED, judge
from scenarios.papers.figure import EVERY, SOUND
from scenarios.papers.hospital import FIGURES
from tests.catalogue.verdicts import verdicts
from tests.tables import table

pytestmark = pytest.mark.long

BY_CHANCE = "mean ψ of the runs over its exact expectation, geometric mean over cells"
BY_NAME = {figure.name: figure for figure in FIGURES}
TABLE = table(__file__, "async_hospital.toml")
LITTLE = TABLE["little"]
"""Settings that leave nothing of the figures but their form."""
ALWAYS = ("async-11",)
"""What is run every time; the others at night, and figure 9 in the next test too."""


@pytest.mark.parametrize(
    "figure",
    [
        pytest.param(figure, marks=() if figure.name in ALWAYS else pytest.mark.nightly)
        for figure in FIGURES
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


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
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
