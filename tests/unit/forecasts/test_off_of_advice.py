"""The ± of advice and sweeps, where a stand-in has the place of private rows."""

import json

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.forecasts import grid
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.forecasts.uncertainty import may_be_off
from asyncdp_sim.scenario import load
from tests.scenes import text

FILE = text(
    run={"seed": 2, "updates": 12, "replicates": 4},
    owners={"records": None},
    data={
        "kind": "table", "path": "t.csv", "target": "y", "features": 2, "public_records": 60,
        "preprocessing": "pca", "owner_column": "who",
    },
    model={"regularisation": 1e-3},
    algorithm={"rho": 0.05},
    privacy={
        "epsilon": 20.0, "sensitivity": {"kind": "declared", "bound": 20.0},
        "budget": {"kind": "per-owner-cap", "answers": 12},
    },
)  # fmt: skip
SWEEP = """
[sweep]
"privacy.epsilon" = [10.0, 20.0]
"run.seed" = [1, 2]
"""


FILES = {"s.toml": FILE, "swept.toml": FILE + SWEEP}


@pytest.fixture
def command(command, here):
    g = np.random.default_rng(1)
    x = g.normal(size=(460, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(y=x @ [1.0, -1.0] + g.normal(size=460))
    frame["who"] = np.repeat(["n", "e", "s", "s"], 115)
    frame.sample(frac=1, random_state=0).to_csv(here / "t.csv", index=False)
    return command


def off_of(printed):
    return [line for line in printed.splitlines() if line.startswith(("may be off", "beyond"))]


ADVICE = {
    "tune": ("--tune",),
    "invite": ("--invite", "--set", "privacy.epsilon=2000"),
    "market": ("--market", "1,1,2", "--target", "0.5"),
}
LONG = pytest.mark.long


@pytest.mark.parametrize(
    "name", [pytest.param("tune", marks=LONG), pytest.param("invite", marks=LONG), "market"]
)
@pytest.mark.long
def test_that_of_advice_is_that_of_the_scenario_it_ends_with(command, name):
    asked = ADVICE[name]
    told = off_of(command.done("forecast", "s.toml", *asked, "--save", "best.toml").out)
    again = off_of(command.done("forecast", "best.toml", "--details").out)
    assert len(told) == len(again) > 1
    first, same = told[0].removeprefix("may be off by  for the recommended scenario, "), again[0]
    assert same == f"may be off by       {first}"
    assert [line.split("  ", 1)[1].strip() for line in told[1:]] == [
        line.split("  ", 1)[1].strip() for line in again[1:]
    ]
    if name == "market":
        assert off_of(command.done("forecast", "s.toml", *asked, "--private").out) == []


@pytest.mark.long
def test_that_of_each_cell_of_a_sweep_is_that_of_its_own_forecast(command, tmp_path):
    swept, _ = load(tmp_path / "swept.toml")
    points = grid(swept)
    assert len(points) == 4
    for values, point in zip(swept.grid(), points, strict=True):
        alone = may_be_off(population(swept.cell(values), None, private=False), None)
        assert point.may_be_off == pytest.approx(alone.psi_half_width, rel=1e-9)
        assert point.left_out == alone.left_out
        assert point.values == values
    assert len({point.may_be_off for point in points}) == 4
    printed = command.done("forecast", "swept.toml", "--sweep").out.splitlines()
    assert printed[0].split("  ")[3:] == ["off by ±", "without noise", "ψ alone above"]
    assert [line.split()[3] for line in printed[1:5]] == [f"{p.may_be_off:.3g}" for p in points]
    assert max(map(len, printed[:5])) <= 80  # one table, not two beneath one another
    assert "ψ may be off by ±: 8 random halves of the public rows" in printed
    assert sum(line.startswith("beyond that: ") for line in printed) == len(points[0].left_out)
    cells = json.loads(command.done("forecast", "swept.toml", "--sweep", "--json").out)
    assert [cell["may_be_off"] for cell in cells] == [point.may_be_off for point in points]
    private = command.done("forecast", "swept.toml", "--sweep", "--private").out
    assert "may be off" not in private
