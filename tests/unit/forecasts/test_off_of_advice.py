"""The ± of advice, where a stand-in has the place of private rows."""

import numpy as np
import pandas as pd
import pytest

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
FILES = {"s.toml": FILE}


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
