"""Live is the definition; replay gives the same, bit for bit, on scenarios of every kind."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import parse

LAWS: list[dict[str, Any]] = [
    {"kind": "none"},
    {"kind": "constant", "value": 0.0},
    {"kind": "constant", "value": 0.05},
    {"kind": "exponential", "mean": 0.05},
    {"kind": "lognormal", "mean": 0.05, "cv": 1.0},
    {"kind": "gamma", "mean": 0.05, "cv": 0.5},
    {"kind": "uniform", "low": 0.0, "high": 0.1},
    {"kind": "empirical", "values": [0.0, 0.01, 0.2]},
]


def random_scenario(number: int) -> dict[str, Any]:
    rng = np.random.default_rng(number)
    n = int(rng.integers(1, 7))
    updates = int(rng.integers(1, 80))

    def law() -> dict[str, Any]:
        return LAWS[rng.integers(len(LAWS))]

    def rate() -> Any:
        return 2.0 if rng.random() < 0.5 else rng.uniform(0.5, 3, n).tolist()

    clocks = [
        {"kind": "poisson", "rate": rate()},
        {"kind": "gamma", "rate": rate(), "cv": 0.7},
        {"kind": "deterministic", "rate": rate(), "phase": 0.1},
        {"kind": "scripted", "times": [np.cumsum(rng.uniform(0, 1, 9)).tolist() for _ in range(n)]},
    ]
    theta_max = [None, 0.3, 2.0][number % 3]
    norm = ["l1", "l2-as-published"][number % 2]
    sensitivities = [
        {"kind": "declared", "bound": 2.0, "norm": norm},
        {"kind": "clip", "bound": 1.0, "norm": norm},
        {"kind": "domain", "row_norm": 1.0, "target_max": 2.0, "norm": norm},
    ]
    sensitivity = sensitivities[number % 2 if theta_max is None else rng.integers(3)]
    epsilon = [1.0, float("inf"), rng.uniform(0.1, 10, n).tolist()][rng.integers(3)]
    budgets: list[dict[str, Any]] = [
        {"kind": "horizon"},
        {"kind": "per-owner-cap", "answers": rng.integers(1, 20, n).tolist()},
    ]
    model = {"kind": "ridge", "regularisation": 0.1}
    model |= {} if theta_max is None else {"theta_max": theta_max}
    return {
        "id": f"random-{number}",
        "run": {
            "seed": number,
            "replicates": 3,
            "updates": updates,
            "record_every": int(rng.integers(1, 9)),
            "ties": ["declared", "shuffled"][number // 2 % 2],
        }
        | ({"until": 8.0} if number % 4 == 0 else {}),
        "owners": {"count": n, "records": rng.integers(2, 40, n).tolist()},
        "data": {"kind": "gaussian", "features": int(rng.integers(1, 9))},
        "model": model,
        "clock": clocks[rng.integers(4)],
        "latency": {"request": law(), "query": law(), "answer": law()},
        "compute": law(),
        "algorithm": {
            "kind": "async-gossip",
            "rho": float(updates * rng.uniform(0.1, 2)),
            "central_step": ["proof", "text"][number % 2],
            "initial": ["zeros", "ones", "uniform"][rng.integers(3)],
        },
        "privacy": {
            "epsilon": epsilon,
            "mechanism": "none" if number % 7 == 6 else "laplace",
            "noise": ["vector", "scalar-as-published"][int(rng.random() < 0.3)],
            "sensitivity": sensitivity,
            "budget": budgets[rng.integers(2)],
        },
    }


@pytest.mark.parametrize("number", range(24))
def test_live_equals_replay(number: int) -> None:
    raw = random_scenario(number)
    replayed = run(parse(Scenario, raw), events=True)
    raw["run"]["learning"] = "live"
    live = run(parse(Scenario, raw), events=True)
    for one, two in zip(live.traces, replayed.traces, strict=True):
        assert one.events.tolist() == two.events.tolist()
    assert live.learned.curve.tolist() == replayed.learned.curve.tolist()
    for name in ("starts", "models", "clipped"):
        a, b = getattr(live.learned, name), getattr(replayed.learned, name)
        assert np.array_equal(a, b), name
    assert np.isfinite(live.learned.models).all()


def test_the_scenarios_reach_what_they_should() -> None:
    """A guard on the generator: every branch that live and replay could differ in is drawn."""
    drawn = [random_scenario(number) for number in range(24)]
    for section, key, values in [
        ("clock", "kind", {"poisson", "gamma", "deterministic", "scripted"}),
        ("privacy", "noise", {"vector", "scalar-as-published"}),
        ("privacy", "mechanism", {"laplace", "none"}),
        ("algorithm", "central_step", {"proof", "text"}),
        ("algorithm", "initial", {"zeros", "ones", "uniform"}),
    ]:
        assert {raw[section][key] for raw in drawn} == values
    kinds = {raw["privacy"]["sensitivity"]["kind"] for raw in drawn}
    assert kinds == {"declared", "clip", "domain"}
    assert {raw["privacy"]["budget"]["kind"] for raw in drawn} == {"horizon", "per-owner-cap"}
    assert {"theta_max" in raw["model"] for raw in drawn} == {True, False}
    outcomes = [run(parse(Scenario, raw)) for raw in drawn[:8]]
    assert sum(int(o.learned.clipped.sum()) for o in outcomes) > 0
    lengths = {len(t.updates) - o.scenario.run.updates for o in outcomes for t in o.traces}
    assert 0 in lengths
    assert min(lengths) < 0
