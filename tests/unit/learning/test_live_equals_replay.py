"""Live is the definition; replay gives the same, bit for bit, in whole runs of every sort."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.runs import RunResult, run
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in

CASES = tomllib.loads(Path(__file__).with_name("live_is_replay.toml").read_text(encoding="utf-8"))
BASE = CASES.pop("base")


def learned(case: str, learning: str = "replay", **parts: Any) -> RunResult:
    raw = {**BASE, **CASES[case], **parts}
    del raw["stale"]
    return run(parse(Scenario, raw | {"run": raw["run"] | {"learning": learning}}), events=True)


@one_in(3, "case", CASES)
def test_live_equals_replay(case: str) -> None:
    replayed, lived = (learned(case, how) for how in ("replay", "live"))
    assert lived.fingerprints == replayed.fingerprints
    for one, two in zip(lived.traces, replayed.traces, strict=True):
        assert one.events.tolist() == two.events.tolist()
    for name in ("curve", "starts", "models", "clipped"):
        assert np.array_equal(getattr(lived.learned, name), getattr(replayed.learned, name)), name
    assert np.isfinite(lived.learned.models).all()
    assert max(trace.n_updates for trace in lived.traces) >= 2
    stale = max(int(trace.updates["staleness"].max()) for trace in lived.traces)
    assert (stale > 0) is CASES[case]["stale"]


@pytest.mark.long
def test_some_models_were_projected_and_some_runs_cut_short() -> None:
    outcomes = [learned(case) for case in CASES]
    assert sum(int(outcome.learned.clipped.sum()) for outcome in outcomes) > 0
    short = [t.n_updates < o.scenario.run.updates for o in outcomes for t in o.traces]
    assert {*short} == {True, False}


def test_where_the_step_is_taken_from_matters() -> None:
    read = {"algorithm": BASE["algorithm"] | {"apply_at": "as-read"}}
    here, there = learned("push").fingerprints, learned("push", **read).fingerprints
    assert here["order"] == there["order"]
    assert here["models"] != there["models"]
