"""A forecast whose steps are too long says so in words."""

import pytest

from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.words import lines
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import parse

RAW = {
    "schema": 1, "id": "steps", "title": "t", "description": "d", "source": "synthetic",
    "run": {"seed": 1, "replicates": 2, "updates": 200},
    "owners": {"count": 3, "records": 50},
    "data": {"kind": "gaussian", "features": 2},
    "model": {"kind": "ridge", "regularisation": 0.1},
    "clock": {"kind": "poisson", "rate": 1.0},
    "privacy": {"epsilon": 5.0, "sensitivity": {"kind": "declared", "bound": 5.0}},
}  # fmt: skip


@pytest.mark.parametrize(("rho", "diverges"), [(40.0, False), (40_000.0, True)])
def test_steps_that_are_too_long_are_named(rho, diverges):
    raw = RAW | {"algorithm": {"kind": "async-gossip", "rho": rho}}
    told = lines(forecast(parse(Scenario, raw), moments="own"))
    said = [line for line in told if line.startswith("diverges")]
    assert len(said) == diverges
    assert all("take shorter steps" in line for line in said)
