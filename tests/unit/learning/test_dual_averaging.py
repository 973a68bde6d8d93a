"""Dual averaging in a scenario: live is replay, words, faults, and the forecast by runs."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.describe import describe
from asyncdp_sim.errors import SpecError
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec import parse

CHANNELS: dict[str, dict[str, Any]] = {
    "ideal": {"kind": "ideal", "loss": 0.2},
    "aloha": {"kind": "aloha", "airtime": 0.1},
    "csma": {"kind": "csma", "airtime": 0.1, "propagation_delay": 0.02},
    "tdma": {"kind": "tdma", "airtime": 0.1, "slot": 0.1},
}


def scenario(**parts: Any) -> Scenario:
    """Return three owners that push, with answers that take time."""
    fields = {
        "schema": 1,
        "id": "dual-averaging",
        "run": {"updates": 25, "replicates": 3},
        "owners": {"count": 3, "records": [40, 10, 20]},
        "data": {"kind": "gaussian", "features": 3},
        "model": {"kind": "ridge", "regularisation": 0.1},
        "compute": {"kind": "exponential", "mean": 0.4},
        "protocol": {"kind": "push"},
        "algorithm": {"kind": "dual-averaging", "step": 0.2},
        "privacy": {
            "epsilon": 5.0,
            "mechanism": "laplace",
            "sensitivity": {"kind": "clip", "bound": 3.0},
        },
    }
    found: Scenario = parse(Scenario, fields | parts)
    return found


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)
def test_live_equals_replay(channel: dict[str, Any]) -> None:
    ways = ({"learning": "live"}, {"learning": "replay"})
    length = {"updates": 25, "replicates": 3}
    live, replayed = (run(scenario(channel=channel, run=length | way)) for way in ways)
    assert max(trace.updates["staleness"].max() for trace in live.traces) > 0
    assert np.array_equal(live.learned.models, replayed.learned.models)
    assert live.fingerprints == replayed.fingerprints


def test_check_describes_its_network_and_privacy() -> None:
    told = " ".join(describe(scenario()))
    assert "offered load" in told
    assert "ε" in told


def test_a_broadcast_of_copies_is_refused() -> None:
    copies = {"kind": "broadcast", "interval": 1.0, "payload": "all-copies"}
    with pytest.raises(SpecError) as caught:
        scenario(protocol=copies)
    assert str(caught.value) == (
        "protocol.payload: given 'all-copies'; algorithm dual-averaging has one model: allowed is "
        'payload = "central"'
    )


def test_a_forecast_is_by_runs_and_says_why() -> None:
    found = forecast(scenario())
    assert "algorithm dual-averaging has no exact moments here" in " ".join(found.doubts)
    assert np.isfinite(found.psi).all()


def test_updates_are_not_alike() -> None:
    parts = run(scenario(run={"updates": 25, "replicates": 3, "split": True})).summary["psi_split"]
    assert parts["reason"] == (
        "the updates of dual-averaging are not alike: repeating them has no limit"
    )
