"""A forecast whose steps are too long says so in words."""

import pytest

from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.words import lines
from asyncdp_sim.scenario import Scenario
from tests.unit.forecasts.banks import banks


@pytest.mark.parametrize(("rho", "diverges"), [(40.0, False), (40_000.0, True)])
def test_steps_that_are_too_long_are_named(rho, diverges):
    told = lines(forecast(Scenario.model_validate(banks(updates=200, rho=rho)), moments="own"))
    said = [line for line in told if line.startswith("diverges")]
    assert len(said) == diverges
    assert all("take shorter steps" in line for line in said)
