"""Whole runs over channels that lose and repeat answers: live and replay agree bit for bit."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.trace import EventKind

LOSSY: dict[str, Any] = {"kind": "ideal", "loss": 0.3, "loss_acknowledgement": 0.3}
CASES: dict[str, dict[str, Any]] = {
    "request, fresh": {
        "protocol": {"kind": "request", "busy": "queue"},
        "channel": {**LOSSY, "retransmissions": 3, "resend": "fresh"},
    },
    "request, timeout": {
        "protocol": {"kind": "request", "timeout": 0.6},
        "channel": {**LOSSY, "retransmissions": 1},
    },
    "push, fresh": {
        "protocol": {"kind": "push", "own_tick": "overlap"},
        "channel": {**LOSSY, "retransmissions": 2, "resend": "fresh"},
    },
    "push, aloha": {
        "protocol": {"kind": "push"},
        "channel": {"kind": "aloha", "airtime": 0.1, "retransmissions": 2},
    },
    "broadcast, central": {
        "protocol": {"kind": "broadcast", "interval": 0.5},
        "channel": {"kind": "aloha", "airtime": 0.1},
    },
    "broadcast, all copies": {
        "protocol": {"kind": "broadcast", "interval": 0.5, "payload": "all-copies"},
        "channel": {**LOSSY, "retransmissions": 2, "resend": "fresh"},
    },
    "broadcast, newest only": {
        "protocol": {
            "kind": "broadcast",
            "interval": 0.3,
            "answer_at": "after-delay",
            "delay": {"kind": "exponential", "mean": 0.1},
            "own_tick": "overlap",
            "superseded": "discard",
        },
        "channel": {**LOSSY, "retransmissions": 1},
    },
}
PLACES = ("current", "as-read")


def scenario(case: str, learning: str, apply_at: str = "current", **protocol: Any) -> Scenario:
    raw = {
        "id": "lossy",
        "run": {"updates": 60, "replicates": 3, "record_every": 7, "learning": learning},
        "owners": {"count": 4, "records": 40},
        "data": {"kind": "gaussian", "features": 3, "heterogeneity": 0.5},
        "model": {"kind": "ridge", "regularisation": 0.1, "theta_max": 2.0},
        "compute": {"kind": "exponential", "mean": 0.1},
        "latency": {
            "answer": {"kind": "exponential", "mean": 0.1},
            "acknowledgement": {"kind": "exponential", "mean": 0.1},
        },
        "algorithm": {"kind": "async-gossip", "rho": 50.0, "apply_at": apply_at},
        "privacy": {
            "epsilon": 5.0,
            "sensitivity": {"kind": "clip", "bound": 3.0},
            "budget": {"kind": "per-owner-cap", "answers": 20},
        },
    } | CASES[case]
    raw["protocol"] = raw["protocol"] | protocol
    found: Scenario = parse(Scenario, raw)
    return found


@pytest.mark.parametrize("apply_at", PLACES)
@pytest.mark.parametrize("case", CASES)
def test_live_equals_replay(case: str, apply_at: str) -> None:
    replayed = run(scenario(case, "replay", apply_at))
    lived = run(scenario(case, "live", apply_at))
    assert replayed.fingerprints == lived.fingerprints
    assert np.array_equal(replayed.learned.models, lived.learned.models)
    assert len(replayed.traces[0].updates) > 15
    assert replayed.summary["max_spent_ratio"] <= 1


@pytest.mark.parametrize("case", CASES)
def test_what_was_lost_was_charged(case: str) -> None:
    """ε of an owner = its share per answer × answers released, delivered or not."""
    outcome = run(scenario(case, "replay"), events=True)
    released = np.concatenate([trace.released for trace in outcome.traces])
    used = np.concatenate(
        [np.bincount(trace.updates["owner"], minlength=5)[1:] for trace in outcome.traces]
    )
    assert np.all(released >= used)
    assert released.sum() > used.sum()
    assert outcome.summary["max_spent_ratio"] == pytest.approx(released.max() / 20)
    seen = [int(np.sum(t.events["kind"] == EventKind.answer_released)) for t in outcome.traces]
    assert seen == [int(t.released.sum()) for t in outcome.traces]
