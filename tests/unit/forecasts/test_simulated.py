"""Simulated forecasts of runs of unequal length, by hand."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.quick_runs import final_psi
from asyncdp_sim.forecasts.simulated import REPLICATES, _mean
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec import parse

CURVE = np.array(
    [(1, 8.0), (1, 4.0), (1, 2.0), (2, 6.0), (2, 3.0)],
    dtype=[("replicate", "i4"), ("relative_fitness", "f8")],
)
"""Of two replicates, the second of which ends an update earlier."""


def test_a_run_that_has_ended_stays_where_it_ended() -> None:
    assert _mean(CURVE, "relative_fitness").tolist() == [7.0, 3.5, 2.5]
    assert final_psi(CURVE).tolist() == [2.0, 3.0]


TRUSTED = {
    "clipped": {"kind": "clip", "bound": 0.5},
    "in a domain": {"kind": "domain", "row_norm": 1.0, "target_max": 1.0},
}


@pytest.mark.parametrize("bound", TRUSTED)
@pytest.mark.parametrize("learning", ["replay", "live"])
@pytest.mark.long
def test_without_noise_answers_are_bounded_as_with_it(bound: str, learning: str) -> None:
    """An infinite budget clips and scales as any other; mechanism none does neither."""
    fields: dict[str, Any] = {
        "id": "silent",
        "run": {"updates": 12, "replicates": REPLICATES, "learning": learning},
        "owners": {"count": 2, "records": 20},
        "data": {"kind": "gaussian", "features": 2},
        "model": {"kind": "ridge", "regularisation": 0.1, "theta_max": 5.0},
        "algorithm": {"kind": "async-gossip", "rho": 60.0},
        "protocol": {"kind": "push"},
        "compute": {"kind": "exponential", "mean": 0.5},
    }
    privacy: dict[str, Any] = {"epsilon": 20.0, "sensitivity": TRUSTED[bound]}
    found = forecast(parse(Scenario, fields | {"privacy": privacy}))
    assert "simulated runs" in found.method
    endless = run(parse(Scenario, fields | {"privacy": privacy | {"epsilon": float("inf")}}))
    assert found.noise_free == pytest.approx(endless.summary["psi_final"]["mean"], rel=1e-9)
    bare = run(parse(Scenario, fields | {"privacy": {"mechanism": "none"}}))
    assert abs(bare.summary["psi_final"]["mean"] - found.noise_free) > 0.02 * found.noise_free
