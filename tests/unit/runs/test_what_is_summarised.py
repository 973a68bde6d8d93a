"""Figures and sentences of a summary, on cases small enough to say by hand."""

import numpy as np
import pytest

from asyncdp_sim.runs import run
from asyncdp_sim.runs.account import spread
from asyncdp_sim.scenario import Scenario
from tests.reproducibility.runs import scenario


def test_the_spread_of_psi_by_hand() -> None:
    found = spread(np.array([8.0, 0.0, 4.0, 2.0, 6.0]))
    assert found == {"mean": 4.0, "median": 4.0, "q25": 2.0, "q75": 6.0}


def test_what_overflowed_is_infinite_in_the_spread() -> None:
    found = spread(np.array([1.0, 2.0, 3.0, np.nan]))
    assert (found["q25"], found["mean"]) == (2.0, np.inf)


def ended_early(asked: Scenario) -> list[str]:
    return [said for said in run(asked).warnings if "ended before T" in said]


@pytest.mark.parametrize(("until", "told"), [(None, 0), (2.0, 1)])
def test_an_early_end_is_said_where_there_was_one(until: float | None, told: int) -> None:
    """A run of exactly T updates has not ended early."""
    asked = scenario(run__updates=12, run__replicates=2, run__until=until)
    assert len(ended_early(asked)) == told
