"""ψ of an owner's own optimum where Θ binds: that of the best model in Θ, never below 0."""

import numpy as np
import pytest

import asyncdp_sim as ad
from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.population import population, value_alone
from asyncdp_sim.scenario import Scenario
from tests.unit.forecasts.banks import banks


@pytest.mark.parametrize("theta_max", [0.05, 0.3, None])
def test_it_is_what_runs_say_of_owners_alone(theta_max):
    raw = banks(records=(40, 90, 30))
    raw["model"] |= {} if theta_max is None else {"theta_max": theta_max}
    raw["run"] |= {"alone": True, "replicates": 2}
    scenario = parse(Scenario, raw)
    known = population(scenario, private=False)
    objective = known.objective
    assert objective.interior is (theta_max is None)
    found = value_alone(known)
    assert (found >= 0).all()
    owners = ad.run(scenario).owners.query("replicate == 1")
    assert found == pytest.approx(owners["psi_alone"].to_numpy(), rel=1e-9, abs=1e-12)
    inside = np.inf if theta_max is None else theta_max * (1 + 1e-9)
    assert all(np.abs(objective.of_owner(i).optimum).max() <= inside for i in range(3))


def test_a_model_outside_of_the_box_would_be_better_than_the_best_inside():
    """Why it once was negative: f is smaller where no model may be."""
    raw = banks()
    raw["model"]["theta_max"] = 0.05
    objective = population(parse(Scenario, raw), private=False).objective
    free = np.stack([objective.of_owner(i).free_optimum for i in range(3)])
    assert (objective.relative_fitness(free) < 0).all()
