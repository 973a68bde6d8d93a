"""The custom loss of the docs: learning in a scenario, its optimum, and its bound."""

import numpy as np
import pytest
from scipy.optimize import minimize

import asyncdp_sim as ad
from asyncdp_sim.runs.run import run
from tests.huber import KINDS, Huber


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
