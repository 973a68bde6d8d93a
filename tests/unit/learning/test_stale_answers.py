"""Answers used some updates after the model was read: live and replay agree bit for bit."""

import numpy as np
import pytest

from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario, parse

CASES = range(12)


def scenario(case: int, learning: str) -> Scenario:
    draw = np.random.default_rng(case)
    raw = {
        "id": "stale",
        "run": {
            "updates": int(draw.integers(20, 150)),
            "replicates": int(draw.integers(1, 6)),
            "record_every": int(draw.integers(1, 7)),
            "seed": case,
            "learning": learning,
        },
        "owners": {"count": int(draw.integers(2, 8)), "records": 50},
        "data": {"kind": "gaussian", "features": 3, "heterogeneity": 0.5},
        "model": {"kind": "ridge", "regularisation": 0.1, "theta_max": 2.0},
        "clock": {"kind": "saturated"} if case % 4 == 3 else {"kind": "poisson"},
        "compute": {"kind": "exponential", "mean": float(draw.uniform(0.5, 2))},
        "latency": {"answer": {"kind": "lognormal", "mean": 0.2, "cv": 1.0}},
        "protocol": {"kind": "push", "own_tick": ["drop", "overlap"][case % 2]},
        "algorithm": {
            "kind": "async-gossip",
            "rho": 50.0,
            "apply_at": ["current", "as-read"][case // 2 % 2],
        },
        "privacy": {
            "epsilon": 5.0,
            "sensitivity": {"kind": "clip", "bound": 3.0},
            "budget": {"kind": "per-owner-cap", "answers": 15},
        },
    }
    found: Scenario = parse(Scenario, raw)
    return found


@pytest.mark.parametrize("case", CASES)
def test_live_equals_replay(case: int) -> None:
    replayed, lived = run(scenario(case, "replay")), run(scenario(case, "live"))
    assert replayed.summary["mean_staleness"] > 0.3
    assert replayed.summary["max_spent_ratio"] <= 1
    assert replayed.fingerprints == lived.fingerprints


def test_where_the_step_is_taken_from_matters() -> None:
    base = scenario(0, "replay")
    read = base.model_copy(
        update={"algorithm": base.algorithm.model_copy(update={"apply_at": "as-read"})}
    )
    assert run(base).fingerprints["order"] == run(read).fingerprints["order"]
    assert run(base).fingerprints["models"] != run(read).fingerprints["models"]


def test_a_saturated_clock_needs_push_and_jobs_that_take_time() -> None:
    from asyncdp_sim.core.errors import SpecError

    raw = scenario(3, "replay").plain()
    raw["protocol"] = {"kind": "request"}
    raw["compute"] = raw["latency"]["answer"] = {"kind": "none"}
    raw["availability"] = {"kind": "bernoulli", "probability": 0.5}
    with pytest.raises(SpecError) as caught:
        parse(Scenario, raw)
    keys = [fault.key for fault in caught.value.faults]
    assert keys == ["protocol.kind", "availability.kind", "compute"]
