"""The market and the game beside it, as drawn."""

from pathlib import Path

import numpy as np
import pytest
from made import made

from analysis.market import bargains
from asyncdp_sim.forecasts.advice.market import Demand, cheapest
from asyncdp_sim.results import Result
from scenarios.data_market import PRICES, TARGETS, bargained

WANTED = Demand(0.002, np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.05]))


def test_the_game_stands_beside_the_market_that_it_is_the_limit_of(tmp_path: Path) -> None:
    found = bargained(WANTED)
    assert found.psi[[0, -1], 2] == pytest.approx(TARGETS)
    bought = cheapest(WANTED, PRICES, TARGETS[0])
    assert found.paid[0, 2] == pytest.approx(bought.total, rel=1e-6)
    assert found.asked[0] == pytest.approx(bought.epsilon, rel=1e-4)
    assert found.worth[0] == pytest.approx(bought.price_of_target, rel=1e-4)
    assert np.all(found.surplus > 0)
    # Of the same model, one price for all costs more than a price for each.
    each, one = (np.interp(0.03, found.psi[:, way], found.paid[:, way]) for way in range(2))
    assert each < one
    picture = bargains(found, [Result.read(made(tmp_path / "made"))])
    assert picture.table["paid_each"].tolist() == found.paid[:, 0].tolist()
    assert "utilities are ours" in picture.caption
    picture.figure.canvas.draw()
