"""Kinds of the docs: the custom loss, learning to its optimum, and the PyTorch model, which is
clipped as the package's own network is, and live as in replay.
"""

import ast
from abc import ABC
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import asyncdp_sim as ad
from asyncdp_sim.learning.objectives import MLP, Objective, Records
from asyncdp_sim.learning.objectives.records import largest_of_all
from asyncdp_sim.runs.run import run
from tests.documents.parts import ROOT
from tests.huber import KINDS, Huber

TORCH = ROOT / "docs" / "kinds" / "torch_model.toml"
EXAMPLE = TORCH.with_suffix(".py")


@pytest.fixture
def scenario():
    return ad.load(KINDS / "huber.toml", allow_code=True)


def test_it_is_learned_to_its_optimum(scenario):
    """As scipy finds it: f = (σ/2)‖θ‖² + mean φ(θᵀx − y)."""
    quiet = {"mechanism": "none", "budget": {"kind": "per-owner-cap", "answers": 3000}}
    long = scenario.replace(algorithm={"rho": 9000.0}, run={"updates": 3000, "replicates": 1})
    made = run(long.replace(privacy=quiet))
    objective, delta = made.problem.task.objective, scenario.model.delta
    x, y = np.concatenate(made.dataset.features), np.concatenate(made.dataset.targets)

    def fitness(theta):
        r = np.abs(x @ theta - y)
        losses = np.where(r <= delta, r**2 / 2, delta * (r - delta / 2))
        return scenario.model.sigma / 2 * theta @ theta + losses.mean()

    best = minimize(fitness, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    assert objective.optimum == pytest.approx(best.x, abs=1e-6)
    assert objective.least == pytest.approx(best.fun, rel=1e-9)
    curve = made.learned.curve
    assert curve["relative_fitness"][-1] < 0.02 * curve["relative_fitness"][0]


def test_its_slope_bounds_the_gradients_of_a_domain_and_the_label_is_not_shown(scenario):
    domain = {"kind": "domain", "row_norm": 2.0, "target_max": 1.0}
    assert scenario.replace(privacy={"sensitivity": domain}).xi == 2.0 * 0.5
    assert run(scenario.replace(run={"updates": 5})).summary["private"] is None


def test_it_is_linear_regression_with_a_delta():
    with pytest.raises(ad.SpecError, match="allowed is a number > 0"):
        Huber(regularisation=0.1, delta=0.0)
    assert Huber(regularisation=0.1, delta=0.5, regulariser="square").sigma == 0.2


def named(class_name: str) -> set[str]:
    """Return the names in the body of a class of the example."""
    body = next(
        each.body
        for each in ast.parse(EXAMPLE.read_text(encoding="utf-8")).body
        if isinstance(each, ast.ClassDef) and each.name == class_name
    )
    functions = {each.name for each in body if isinstance(each, ast.FunctionDef)}
    return functions | {each.target.id for each in body if isinstance(each, ast.AnnAssign)}


def asked(protocol: Any) -> set[str]:
    """Return what a protocol asks for, its bases' with it."""
    return {
        name
        for each in protocol.__mro__
        if issubclass(each, ABC) and each is not ABC
        for name in {**vars(each), **vars(each).get("__annotations__", {})}
        if not name.startswith("_")
    }


INNER = {"counts", "fitness", "lengths", "loss", "spreads", "total", "width"}
"""Names that only methods of a base itself ask for, which the example replaces."""


@pytest.mark.parametrize(
    ("class_name", "protocol"), [("TorchRecords", Records), ("TorchObjective", Objective)]
)
def test_the_example_has_what_its_protocol_asks_for(class_name, protocol):
    assert len(asked(protocol)) > 5
    assert asked(protocol) - named(class_name) <= INNER


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_clipped_gradients_are_those_of_the_perceptron():
    model = ad.load(TORCH, allow_code=True).model
    ours = MLP(regularisation=0.01, hidden=model.hidden)
    draw = np.random.default_rng(1)
    features, targets = [draw.normal(size=(30, 3))], [draw.normal(size=30)]
    theta = draw.normal(size=(2, ours.numbers(3)))

    def as_torch(points: np.ndarray) -> np.ndarray:
        inner, outer = points[:, :16].reshape(-1, 4, 4), points[:, 16:]
        weights = inner[:, :, :3].reshape(len(points), -1)
        return np.concatenate([weights, inner[:, :, 3], outer], axis=1)

    for norm in ("l1", "l2"):
        for clip in (None, 0.5):
            expected = ours.records(ours.design(features), targets, clip, norm)
            found = model.records(model.design(features), targets, clip, norm)
            owners = np.zeros(2, dtype=np.int64)
            gradient = found.gradient(owners, as_torch(theta))
            assert gradient == pytest.approx(as_torch(expected.gradient(owners, theta)), rel=1e-12)
            rows, zero = np.arange(2), np.zeros(1)
            assert found.lengths_at(0, rows, as_torch(theta)) == pytest.approx(
                expected.lengths_at(0, rows, theta)
            )
            assert largest_of_all(found, as_torch(theta), zero) == pytest.approx(
                largest_of_all(expected, theta, zero)
            )


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_it_learns_privately_live_as_in_replay():
    scenario = ad.load(TORCH, ["run.updates=12"], allow_code=True)
    live = ad.run(scenario.replace(run={"learning": "live"}))
    again = ad.run(scenario.replace(run={"learning": "replay"}))
    assert live.label.startswith("Private as claimed: ε = 10 per owner over the run, δ = 1e-06")
    assert live.models.theta_L.tolist() == again.models.theta_L.tolist()


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_declared_bound_is_watched():
    """At every query, by nothing but what a model's records must tell."""
    settings = ["run.updates=12", 'privacy.sensitivity={kind="declared", bound=1e-3, norm="l2"}']
    found = run(ad.load(TORCH, settings, allow_code=True)).summary
    assert (found["bound_exceeded"], found["queries_unseen"]) == (True, 0)
