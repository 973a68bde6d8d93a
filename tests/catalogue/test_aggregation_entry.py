"""The sentences of the entry on secure aggregation."""

from functools import cache
from pathlib import Path

import pytest

from asyncdp_sim.runs import RunResult, run
from scenarios import entry

NAME = "value-of-aggregation"


@cache
def cell(place: int) -> RunResult:
    """A cell of the entry, as it stands."""
    scenario = entry(NAME).scenario()
    return run(scenario.cell(list(scenario.grid())[place]))


def noise(place: int) -> float:
    return float(cell(place).summary["psi_split"]["noise"])


def time(place: int) -> float:
    return float(cell(place).summary["simulated_time"])


@pytest.mark.long
def test_the_entry_says_what_its_cells_give():
    said = " ".join(entry(NAME).scenario().description.split())
    four, sixteen, many = ((place, 4 + place, 8 + place) for place in (0, 2, 3))
    falls = [noise(heard) / noise(summed) for heard, summed, _ in (four, sixteen, many)]
    told = "noise adds {:.2g} times less to mean ψ with four owners, {:.2g} times less with sixteen"
    assert told.format(*falls) in said
    assert f"and {falls[2]:.2g} times with 32, about N-fold" in said
    assert f"with four it is {noise(four[0]):.1g} in one case and {noise(four[1]):.2g} in" in said
    costs = [noise(place[1]) / noise(place[2]) for place in (four, sixteen)]
    assert 0.4 < costs[0] < 0.6  # "half of that"
    assert costs[1] > 0.85  # "hardly anything"
    longer = [time(summed) / time(heard) - 1 for heard, summed, _ in (four, many)]
    assert (
        "an update takes {:.0%} longer, and {:.0%} with 32".format(*longer).replace("%", " %")
        in said
    )
    assert "18 times less with sixteen" in Path("docs/catalogue.md").read_text(encoding="utf-8")
    assert round(falls[1]) == 18
