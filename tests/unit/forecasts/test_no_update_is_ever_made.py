"""Runs in which no update is ever made: of every algorithm they are forecast as they end."""

from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.core.specification import members, parse
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.learning.algorithms import AnyAlgorithm, FedBuff
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.fields import examples_of
from asyncdp_sim.sweeps.sweep import sweep
from tests.conformance.members import examples
from tests.unit.forecasts.banks import banks

ALGORITHMS = [examples_of(member)[0] for member in members(AnyAlgorithm)]
EACH = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=[each.kind for each in ALGORITHMS])
CAPPED = {"kind": "per-owner-cap", "answers": 1}
DOMAIN = {"kind": "domain", "row_norm": 1.0, "target_max": 1.0}
PRIVACY: dict[str, dict[str, Any]] = {
    "averaging": {"budget": CAPPED},
    "noisy-statistics": {"budget": CAPPED, "sensitivity": DOMAIN},
    "polar": {"mechanism": "none"},
}
"""What an algorithm needs beside a bound."""
BOUNDS = pytest.mark.parametrize("bound", ["clip", "declared"])


def _scenario(algorithm: AnyAlgorithm, bound: str, **privacy: Any) -> Scenario:
    protocol = next(each for each in examples(Protocol) if algorithm.runs_on(each))
    raw = banks(records=(20, 20, 20), updates=6) | {"algorithm": algorithm, "protocol": protocol}
    raw["run"] |= {"replicates": 3}
    raw["model"] |= {"theta_max": 5.0}
    raw["compute"] = {"kind": "constant", "value": 1.0}
    raw["privacy"] |= {"sensitivity": {"kind": bound, "bound": 5.0}} | privacy
    raw["sweep"] = {"model.regularisation": [0.1, 0.2]}
    return parse(Scenario, raw)


@pytest.mark.long
@BOUNDS
@EACH
def test_none_before_until(algorithm, bound, tmp_path):
    scenario = _scenario(algorithm, bound, **PRIVACY.get(algorithm.kind, {}))
    _ends_as_it_starts(scenario.replace(run={"until": 0.5}), tmp_path)


@BOUNDS
def test_none_where_a_buffer_never_fills(bound, tmp_path):
    fedbuff = FedBuff(step=0.5, server_step=1.0, buffer=7)
    scenario = _scenario(fedbuff, bound, budget={"kind": "per-owner-cap", "answers": 2})
    _ends_as_it_starts(scenario, tmp_path)


def _ends_as_it_starts(scenario: Scenario, folder: Path) -> None:
    summary = run(scenario.base()).summary
    start = summary["psi_final"]["mean"]
    assert summary["updates"] == 0
    found = forecast(scenario.base())
    assert found.psi == pytest.approx(start)
    assert found.noise_free == pytest.approx(start)
    assert found.time == 0.0
    assert sweep(scenario, folder / "sweep").done == 2
