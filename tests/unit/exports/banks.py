"""Three banks with a table each, for exported apps."""

import csv
import json
from pathlib import Path
from random import Random

import pytest

from asyncdp_sim.exports.flower import plan_of
from asyncdp_sim.exports.flower.private_learning import ledger
from asyncdp_sim.scenario import Scenario, load
from tests.scenes import text

HEAD = ["bank", "income", "purpose", "debt", "rate"]
BANKS = {"north": 80, "south": 60, "west": 100}


def banks(folder: Path) -> Scenario:
    """Write the banks' tables and one with public rows; return a scenario over them."""
    draw, rows = Random(7), []
    for bank in [name for name, n in BANKS.items() for _ in range(n)] + ["public"] * 100:
        income, debt = draw.gauss(50, 12), draw.uniform(0, 30)
        purpose = draw.choice(["car", "house", "study"])
        rate = 3 + debt / 20 - income / 50 + (purpose == "car") + draw.gauss(0, 0.5)
        known = f"{debt:.1f}" if draw.random() > 0.05 else draw.choice(["NA", "", "none"])
        target = f"{rate:.3f}" if draw.random() > 0.03 or bank == "public" else ""
        owner = draw.choice(sorted(BANKS)) if bank == "public" else bank
        if bank == "public":
            known = f"{debt:.1f}"
        rows.append([owner, f"{income:.2f}", purpose, known, target])
    _write(folder / "loans.csv", rows)
    for name in BANKS:
        _write(folder / f"{name}.csv", [row for row in rows[:-100] if row[0] == name])
    file = folder / "banks.toml"
    file.write_text(_scenario(str(folder / "loans.csv")), encoding="utf-8")
    return load_banks(folder)


def load_banks(folder: Path) -> Scenario:
    """Return the scenario over tables that are written already."""
    return load(folder / "banks.toml")[0]


def _scenario(path: str) -> str:
    data = {"kind": "table", "path": path, "target": "rate", "owner_column": "bank", "features": 4}
    return text(
        id="banks",
        data=data | {"public_records": 100, "preprocessing": "pca"},
        owners={"records": None},
        model={"regularisation": 0.01, "theta_max": 5.0, "intercept": True},
        algorithm={"kind": "async-gossip", "step": 0.3},
        protocol={"kind": "request"},
        privacy={
            "epsilon": 5.0, "sensitivity": {"kind": "clip", "bound": 4.0},
            "budget": {"kind": "per-owner-cap", "answers": 15},
        },
        run={"updates": 30, "replicates": 2, "seed": 1},
    )  # fmt: skip


def north(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the settings of a client of the bank north, whose ledger is new."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps(plan_of(banks(folder), 1.0)), encoding="utf-8")
    monkeypatch.setattr(ledger, "PLAN", plan)
    path = str(folder / "north.ledger")
    ledger.create(path, "north")
    return {"owner": "north", "table": str(folder / "north.csv"), "ledger": path}


def _write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEAD, *rows])
