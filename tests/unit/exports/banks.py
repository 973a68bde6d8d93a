"""Three banks with a table each, for exported apps."""

import json
from pathlib import Path
from random import Random

import pandas as pd
import pytest

from asyncdp_sim.exports import plan_of
from asyncdp_sim.exports.private_learning import ledger
from asyncdp_sim.scenario import Scenario, load
from tests.scenes import text
from tests.tables import table

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
    loans = pd.DataFrame(rows, columns=HEAD)
    private = dict(iter(loans[:-100].groupby("bank")))
    for name, frame in {"loans": loans, **private}.items():
        frame.to_csv(folder / f"{name}.csv", index=False, lineterminator="\r\n")
    asked = table(__file__, "banks.toml")
    asked["data"]["path"], asked["owners"] = str(folder / "loans.csv"), {"records": None}
    (folder / "banks.toml").write_text(text(**asked), encoding="utf-8")
    return load_banks(folder)


def load_banks(folder: Path) -> Scenario:
    """Return the scenario over tables that are written already."""
    return load(folder / "banks.toml")[0]


def north(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the settings of a client of the bank north, whose ledger is new."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps(plan_of(banks(folder), 1.0)), encoding="utf-8")
    monkeypatch.setattr(ledger, "PLAN", plan)
    path = str(folder / "north.ledger")
    ledger.create(path, "north")
    return {"owner": "north", "table": str(folder / "north.csv"), "ledger": path}
