"""Whole runs in rounds: from a TOML file to tables, ledger, predictions, and back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.describe import describe
from asyncdp_sim.results import read_manifest, read_table
from asyncdp_sim.runs import reproduce, run, write
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.spec.base import parse
from asyncdp_sim.theory.formulas.rounds import mean_round

TEXT = """
schema = 1
id = "rounds"
[run]
replicates = 3
updates = 20
record_every = 3
[owners]
count = 3
records = [30, 20, 25]
[data]
kind = "gaussian"
features = 3
[model]
kind = "ridge"
regularisation = 0.1
theta_max = 2.0
[compute]
kind = "exponential"
mean = 0.5
[protocol]
kind = "rounds"
[algorithm]
kind = "collab-1"
rho = 100.0
[privacy]
epsilon = 50.0
sensitivity = { kind = "clip", bound = 5.0 }
"""
ALGORITHMS = {
    "collab-1": {"kind": "collab-1", "rho": 100.0, "trim": 1},
    "collab-2": {"kind": "collab-2", "step": 0.3},
    "parameter-server": {"kind": "parameter-server", "step": 0.2, "batch": 5},
}


def scenario(tmp_path: Path, **changes: Any) -> Scenario:
    file = tmp_path / "rounds.toml"
    file.write_text(TEXT, encoding="utf-8")
    raw = load(file)[0].plain()
    found: Scenario = parse(Scenario, {**raw, **changes})
    return found


@pytest.mark.parametrize("kind", ALGORITHMS)
@pytest.mark.parametrize("deadline", [None, 0.6])
def test_a_whole_run(tmp_path: Path, kind: str, deadline: float | None) -> None:
    """Rows of ``updates`` share a k; the ledger charges what was released; replay agrees."""
    noise = {"mechanism": "none"} if kind == "parameter-server" else {}
    privacy = scenario(tmp_path).plain()["privacy"] | noise
    protocol = {"kind": "rounds"} | ({} if deadline is None else {"deadline": deadline})
    asked = scenario(tmp_path, algorithm=ALGORITHMS[kind], privacy=privacy, protocol=protocol)
    outcome = run(asked)
    write(outcome, tmp_path / "result")
    updates, owners, curve = (
        read_table(tmp_path / "result", name) for name in ("updates", "owners", "curve")
    )
    for number, trace in enumerate(outcome.traces, start=1):
        rows = updates[updates["replicate"] == number].groupby("k")
        assert rows.ngroups == trace.n_updates
        assert rows["tick"].nunique().eq(1).all()
        assert rows["owner"].nunique().eq(rows.size()).all()
        ledger = owners[owners["replicate"] == number]
        assert ledger["answers_released"].tolist() == trace.released.tolist()
        assert ledger["updates"].sum() == rows.size().sum()
        shown = curve[curve["replicate"] == number]
        ticks = np.concatenate([[0], trace.update_ticks])
        assert shown["tick"].tolist() == ticks[shown["k"]].tolist()
        if kind != "parameter-server":
            spent = 50 * trace.released / 20
            assert ledger["epsilon_spent"].tolist() == pytest.approx(spent.tolist())
    if deadline is None:
        assert updates.groupby(["replicate", "k"]).size().eq(3).all()
        assert owners["answers_released"].eq(20).all()
    assert updates["staleness"].eq(0).all()
    assert reproduce(tmp_path / "result").fingerprints == outcome.fingerprints
    raw = asked.plain()
    lived: Scenario = parse(Scenario, {**raw, "run": {**raw["run"], "learning": "live"}})
    assert run(lived).fingerprints == outcome.fingerprints


def test_check_and_manifest_say_what_theory_says(tmp_path: Path) -> None:
    rate = 1 / mean_round(3, 2.0)
    asked = scenario(tmp_path)
    told = describe(asked)
    assert any(line.startswith(f"predicted throughput: {rate:.4g} (") for line in told)
    assert f"predicted: T updates take {20 / rate:.4g} units" in told
    assert "protocol: rounds, channel ideal" in told
    write(run(asked), tmp_path / "result")
    manifest = read_manifest(tmp_path / "result", "summary")
    predicted = {each["quantity"]: each["value"] for each in manifest["predictions"]}
    assert predicted["throughput"] == pytest.approx(rate, rel=1e-14)
    assert manifest["summary"]["max_spent_ratio"] == 1.0
    assert manifest["summary"]["p_repeat"] is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"algorithm": {"kind": "async-gossip", "rho": 1.0}},
            "algorithm async-gossip runs on request or push or broadcast",
        ),
        ({"protocol": {"kind": "request"}}, "algorithm collab-1 runs on rounds"),
        ({"clock": {"kind": "poisson", "population": "superposed"}}, "superposed clocks need"),
        (
            {
                "protocol": {"kind": "rounds", "deadline": 0.1},
                "compute": {"kind": "constant", "value": 0.2},
            },
            "an answer takes at least 0.2, so no update can ever happen",
        ),
        (
            {"algorithm": {"kind": "parameter-server", "step": 0.1, "batch": 2}},
            "no ε is known of records drawn with replacement",
        ),
    ],
)
def test_scenarios_that_make_no_sense_are_refused_in_one_line(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(SpecError) as refused:
        scenario(tmp_path, **changes)
    assert len(refused.value.faults) == 1
    assert said in str(refused.value)
