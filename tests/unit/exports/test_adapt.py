"""An owner's adapted model in an exported app, against the package's own, without Flower."""

import json
import subprocess
import sys

import numpy as np
import pytest

from asyncdp_sim.decision import LinearModels, OwnRows
from asyncdp_sim.decision.adapted import STRENGTHS, pulled
from asyncdp_sim.exports import export_flower, plan_of
from asyncdp_sim.exports.private_learning import adapt
from asyncdp_sim.runs.gains import linear_models
from asyncdp_sim.runs.problem import build_dataset
from tests.unit.exports.banks import BANKS, banks

PLAN = "app/private_learning/plan.json"


@pytest.fixture
def scenario(tmp_path):
    return banks(tmp_path).replace(data={"held_out": 0.25})


@pytest.mark.parametrize("loss", ["ridge", "logistic"])
@pytest.mark.parametrize(("sigma", "unit"), [(0.0, 1.0), (0.1, 1.0), (0.1, 1e-13)])
def test_models_are_those_that_the_package_pulls_towards_the_joint_one(loss, sigma, unit):
    generator = np.random.default_rng(5)
    columns = np.column_stack([generator.normal(3.0, 2.0, (40, 3)), np.full(40, 7.0)])
    numbers = columns @ [0.5, -1.0, 0.2, 0.0] + generator.normal(size=40)
    targets = numbers if loss == "ridge" else np.where(numbers > np.median(numbers), 1.0, -1.0)
    units = np.array([unit, unit, unit, 1.0])
    towards, columns = (generator.normal(size=4) / units, 0.3), columns * units
    rows = adapt.Rows(columns, targets, np.zeros(40), np.arange(40))
    # the package's scores are those of its first class, whose place is 0
    places, classes = (targets, 0) if loss == "ridge" else (np.where(targets > 0, 0.0, 1.0), 2)
    own = OwnRows(columns, places, classes, np.arange(40))
    joint = LinearModels(towards[0][None, None], np.array([[towards[1]]]))
    theirs = pulled(own, sigma, joint, STRENGTHS[:-1]).scores(columns)[:, 0, :, 0]
    for strength, expected in zip(STRENGTHS[:-1], theirs, strict=True):
        beta, b = adapt.fit(rows, loss, sigma, towards, strength)
        found = columns @ beta + b
        np.testing.assert_allclose(found, expected, atol=2e-4)
    np.testing.assert_allclose(adapt.errors(found, targets, loss), own.errors(found[:, None]))
    np.testing.assert_allclose(adapt.guess(targets, loss), own.constant()[0])


@pytest.mark.parametrize("preprocessing", ["pca", "eigen-uncentred"])
def test_the_joint_model_in_columns_is_the_package_s(scenario, tmp_path, preprocessing):
    scenario = scenario.replace(data={"preprocessing": preprocessing})
    plan, dataset = plan_of(scenario, 1.0), build_dataset(scenario)
    theta = np.random.default_rng(2).normal(size=plan["size"])
    beta, b = adapt.joint_model(theta, plan["data"])
    theirs = linear_models(scenario.model, dataset.projection, theta[None])
    np.testing.assert_allclose(beta, theirs.coefficients[0, 0])
    np.testing.assert_allclose(b, theirs.constants[0, 0])
    owner = plan["owners"][0]
    rows, held_out = adapt.read(str(tmp_path / "north.csv"), owner, plan["data"], theta)
    for part in (rows, held_out):
        np.testing.assert_allclose(part.joint, part.columns @ beta + b)
    assert len(held_out.targets) > 0
    assert len(rows.targets) + len(held_out.targets) < BANKS["north"]  # some rows have no target


def _adapted(folder, scenario, owner="north"):
    """Return what an owner's command did in the exported app, after a run; it writes mine.json."""
    if not (folder / "app").exists():
        export_flower(scenario, folder / "app")
    plan = json.loads((folder / PLAN).read_text("utf-8"))
    (folder / "model.json").write_text(json.dumps({"model": [0.1] * plan["size"]}), "utf-8")
    files = (str(folder / name) for name in ("north.csv", "model.json", "mine.json"))
    command = [sys.executable, "-m", "private_learning.adapt", owner, *files]
    return subprocess.run(command, cwd=folder / "app", capture_output=True, text=True, check=False)


def test_an_owner_adapts_the_model_by_a_command_and_reads_its_errors(scenario, tmp_path):
    done = _adapted(tmp_path, scenario)
    assert done.stderr == ""
    head, *errors, note = done.stdout.splitlines()
    written = json.loads((tmp_path / "mine.json").read_text("utf-8"))
    plan = json.loads((tmp_path / PLAN).read_text("utf-8"))
    theta = np.full(plan["size"], 0.1)
    _, held_out = adapt.read(str(tmp_path / "north.csv"), plan["owners"][0], plan["data"], theta)
    assert head == f"mean absolute error on {len(held_out.targets)} held-out rows:"
    names = ["joint model", "adapted model", "own model", "guessing"]
    assert [line.split("  ")[1].strip() for line in errors] == names
    shown = [line.split()[-1] for line in errors]
    assert [f"{error:.3g}" for error in written["errors"].values()] == shown
    mine = held_out.columns @ list(written["coefficients"].values()) + written["constant"]
    missed = np.abs(mine - held_out.targets - plan["data"]["target_shift"])
    assert written["errors"]["adapted model"] == pytest.approx(missed.mean())
    joint = np.abs(held_out.joint - held_out.targets)
    assert written["errors"]["joint model"] == pytest.approx(joint.mean())
    assert written["errors"]["adapted model"] < written["errors"]["guessing"]
    assert (written["owner"], written["release"], written["predicts"]) == ("north", False, "rate")
    assert list(written["coefficients"]) == ["income", "purpose", "debt"]
    assert note.endswith("and errors are for north alone: no ε covers them.")


def test_without_held_out_rows_folds_judge_and_a_margin_gets_probabilities(scenario, tmp_path):
    scenario = scenario.replace(data={"held_out": 0.0})
    done = _adapted(tmp_path, scenario)
    assert "rows, on which the joint model was trained:" in done.stdout.splitlines()[0]
    plan = json.loads((tmp_path / PLAN).read_text("utf-8"))
    plan["model"]["loss"] = "svm"
    plan["data"] |= {"labels": [-1.0, 1.0], "target_shift": 0.0}
    plan["data"]["target"] |= {"name": "purpose", "codes": {"car": [1.0], "house": [-1.0]}}
    (tmp_path / PLAN).write_text(json.dumps(plan), encoding="utf-8")
    done = _adapted(tmp_path, scenario)
    assert done.stdout.startswith("mean log loss on ")
    written = json.loads((tmp_path / "mine.json").read_text("utf-8"))
    assert written["predicts"] == "log-odds of purpose = car"
    assert written["errors"]["adapted model"] < 0.2  # purpose is among the columns


def test_who_cannot_adapt_a_model_reads_why(scenario, tmp_path):
    done = _adapted(tmp_path, scenario, "east")
    assert "the plan has no owner east: allowed is north, south or west" in done.stderr
    plan = json.loads((tmp_path / PLAN).read_text("utf-8"))
    plan["owners"][0] |= {"records": 5, "held_out": list(range(5, BANKS["north"]))}
    (tmp_path / PLAN).write_text(json.dumps(plan), encoding="utf-8")
    done = _adapted(tmp_path, scenario)
    assert "rows are too few: allowed are 10" in done.stderr
    assert not (tmp_path / "mine.json").exists()


def test_rows_of_one_person_are_left_out_together():
    whose = np.array(["a", "b", "a", "c", "d", "e", "f", "b"])
    rows = adapt.Rows(np.zeros((8, 1)), np.zeros(8), np.zeros(8), whose)
    for left_out in rows.folds():
        assert {*whose[left_out]}.isdisjoint(whose[~left_out])
    assert np.sum(rows.folds(), axis=0).tolist() == [1] * 8


def test_a_row_without_a_person_is_one_of_its_own(scenario, tmp_path):
    plan = plan_of(scenario, 1.0)
    owner, data = plan["owners"][0], plan["data"] | {"person": "debt"}  # which has empty cells
    rows, held_out = adapt.read(str(tmp_path / "north.csv"), owner, data, np.zeros(plan["size"]))
    assert "" not in {*rows.whose, *held_out.whose}


@pytest.mark.parametrize("persons", [1, 2])
def test_rows_of_one_person_choose_nothing(persons):
    """Without anybody else's rows the joint model stays as it is, and the own one guesses."""
    y = np.arange(12.0)
    rows = adapt.Rows(y[:, None], y, y, np.arange(12) % persons)
    assert len(rows.folds()) == {1: 0, 2: 2}[persons]
    task = adapt.Adaptation("ridge", 0.1, (np.ones(1), 0.0))
    joint, adapted, own, guess = adapt.judged(rows.take(rows.whose == 0), rows, task)
    assert adapted.tolist() == joint.tolist() == [0.0] * 12
    assert own.tolist() == guess.tolist()
