"""A record that contributes nothing: as if it were not there, but for n_i."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.data.dataset import outlying
from asyncdp_sim.learning.objectives import Model, Ridge
from asyncdp_sim.learning.objectives.records import largest
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from tests import tables
from tests.one_in import one_in

SCENES = tables.table(__file__, "scenes.toml")
BASE, SENSITIVITIES = SCENES["void"], SCENES["bounds"]
GAP = 7
"""Of owner 1's 12 records."""
MODELS: dict[str, Model] = {name: parse(Model, raw) for name, raw in SCENES["learned"].items()}


def test_records_of_usual_size_are_not_outlying_among_many_void_ones():
    """With the median over all records, 0, every other record was outlying."""
    mostly_void = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [5e3]])
    for rows, expected in ((mostly_void, [5]), (mostly_void[:5], []), (mostly_void[:3], [])):
        [far] = outlying([rows])
        assert np.flatnonzero(far).tolist() == expected


def table(folder: Path, model: Model, gap: object) -> str:
    """Write two owners' 24 records, one target of which is as told, and 6 public ones."""
    draw = np.random.default_rng(4)
    frame = pd.DataFrame({"a": draw.normal(size=30), "b": draw.normal(size=30)})
    y = frame["a"] - frame["b"] + draw.normal(size=30)
    frame["y"] = np.where(y < 0, -1.0, 1.0) if model.classifies else y
    if gap == 1e153:
        frame.loc[GAP, "a"] = gap
    else:
        frame["y"] = frame["y"].astype(object)
        frame.loc[GAP, "y"] = gap
    frame.to_csv(folder / "t.csv", index=False)
    return str(folder / "t.csv")


def scenario(path: str, model: Model, sensitivity: dict[str, Any], **data: Any) -> Scenario:
    bounded = (
        model.model_copy(update={"theta_max": 3.0}) if sensitivity["kind"] == "domain" else model
    )
    changed = {
        "data": BASE["data"] | {"path": path, **data},
        "model": bounded.model_dump(exclude_none=True),
        "privacy": BASE["privacy"] | {"sensitivity": sensitivity},
    }
    return parse(Scenario, BASE | changed)


@one_in(2, "gap", ["maybe", 1e153], ids=str)
@pytest.mark.parametrize("bound", SENSITIVITIES)
@pytest.mark.parametrize("name", MODELS)
def test_gradient_and_fitness_are_those_of_the_others(name, bound, gap, tmp_path):
    """Over n_i − 1 records, times (n_i − 1)/n_i: what the gap held is in none of them."""
    model = MODELS[name]
    here = scenario(table(tmp_path, model, gap), model, SENSITIVITIES[bound])
    dataset = build_dataset(here)
    assert dataset.records == (12, 12)
    problem = prepare(here, dataset)
    left = [np.delete(np.arange(12), GAP), np.arange(12)]
    sound = model.design([x[rows] for x, rows in zip(dataset.features, left, strict=True)])
    y = [t[rows] for t, rows in zip(dataset.targets, left, strict=True)]
    if bound == "domain":
        confined = here.privacy.sensitivity.confine(  # type: ignore[union-attr]
            [x[rows] for x, rows in zip(dataset.features, left, strict=True)], y, "l1"
        )
        sound, y = model.design(confined[0]), confined[1]
    clip = 0.3 if bound == "clip" else None
    others = model.records(sound, y, clip, "l1")
    points = np.random.default_rng(1).normal(size=(2, problem.task.objective.n_features))
    owners = np.array([0, 1])
    wanted = others.gradient(owners, points) * np.array([[11 / 12], [1.0]])
    assert np.allclose(problem.task.reply.gradients.gradient(owners, points), wanted, rtol=1e-12)
    for i in range(len(others.targets)):
        assert np.isclose(largest(problem.records, i, points), largest(others, i, points))

    judge = problem.task.objective
    losses = sum(
        float(model.phi.value(model.predictions(x, points[0]), t).sum())
        for x, t in zip(sound, y, strict=True)
    )
    wanted_f = judge.sigma / 2 * float(points[0] @ points[0]) + losses / 24
    assert float(judge.excess(points[0])) + judge.least == pytest.approx(wanted_f, rel=1e-9)


@pytest.mark.parametrize("name", ["ridge", "svm"])
def test_held_out_rows_without_a_target_are_in_no_loss(name, tmp_path):
    model = MODELS[name]
    here = scenario(table(tmp_path, model, None), model, SENSITIVITIES["clip"], held_out=0.75)
    dataset = build_dataset(here)
    gaps = [int(np.isnan(y).sum()) for y in dataset.held_out_targets]
    assert sum(gaps) == 1  # else nothing is tested
    judge = prepare(here, dataset).task.held_out
    assert judge is not None
    assert judge.records == 17
    rows = np.concatenate(dataset.held_out_features)
    y = np.concatenate(dataset.held_out_targets)
    seen = ~np.isnan(y)
    theta = np.array([[0.3, -0.2, 0.1][: len(model.design([rows])[0][0])]])
    z = model.predictions(model.design([rows[seen]])[0], theta[0])
    assert judge.mean_loss(theta)[0] == pytest.approx(model.phi.value(z, y[seen]).sum() / 17)
    if model.classifies:
        wrong = np.count_nonzero(y[seen] * z < 0)
        assert judge.error_rate(theta)[0] == pytest.approx(wrong / 17)


SIZES = (1e153, 1e49, 1e20, 1e9, 1e6)
FEW = {("ridge", 1e153), ("ridge", 1e20), ("ridge in a box", 1e49), ("svm", 1e9), ("mlp", 1e153)}


@one_in(
    2,
    ("name", "number"),
    [
        pytest.param(name, number, marks=[] if (name, number) in FEW else pytest.mark.nightly)
        for name in (*MODELS, "ridge in a box")
        for number in SIZES
    ],
)
def test_a_private_number_of_any_size_ends_no_run(name, number, tmp_path):
    """Two columns alike, and beyond what doubles tell apart from 1, make a singular system."""
    model = MODELS.get(name, Ridge(regularisation=0.1, theta_max=1.0))
    frame = pd.read_csv(table(tmp_path, model, 1))
    frame.loc[GAP, ["a", "b"]] = number
    frame.to_csv(tmp_path / "t.csv", index=False)
    path = str(tmp_path / "t.csv")
    for preprocessing in ("none", "pca", "eigen-uncentred"):
        found = run(scenario(path, model, SENSITIVITIES["clip"], preprocessing=preprocessing))
        assert np.isfinite(found.learned.models).all()
        assert np.isfinite(found.learned.curve["relative_fitness"]).all()


def test_a_record_is_no_number_at_a_diverged_model_and_contributes_nothing():
    x = np.asfortranarray([[1.0, -1.0], [1.0, 2.0]])
    records = Ridge(regularisation=1.0).records([x], [np.array([0.0, 1.0])], 0.5, "l1")
    point = np.full((1, 2), np.inf)  # ∞ − ∞ is no number, fused multiply-add or not
    with np.errstate(over="ignore", invalid="ignore"):
        found = records.gradient(np.array([0]), point)
    assert np.allclose(found, 0.25 * np.array([[1.0, 2.0]]) / 3)


def test_private_targets_that_are_no_labels_contribute_nothing(tmp_path):
    model = MODELS["svm"]
    here = scenario(table(tmp_path, model, 0), model, SENSITIVITIES["clip"])
    problem = prepare(here, build_dataset(here))
    assert "Records without a target: 1. Their loss and gradient are 0" in " ".join(
        build_dataset(here).notes
    )
    spoilt = scenario(table(tmp_path, model, "maybe"), model, SENSITIVITIES["clip"])
    same = prepare(spoilt, build_dataset(spoilt))
    point = np.array([[0.5, 0.1, -0.3]])
    gradients = (
        each.task.reply.gradients.gradient(np.array([0]), point) for each in (problem, same)
    )
    assert np.array_equal(*gradients)
