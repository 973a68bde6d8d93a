"""The sentences of `steps-against-staleness`, and its picture."""

import numpy as np
import pytest

from analysis.studies.where_it_ends import (
    DIVIDED,
    FIGURE,
    mean_weights,
    minimiser,
    often,
)
from asyncdp_sim.results import Sweep
from asyncdp_sim.sweeps import sweep
from scenarios import entry
from scenarios.beyond.problem import objective

ENTRY = "steps-against-staleness"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("stale") / "result"
    sweep(entry(ENTRY).scenario(("run.replicates=40",)), folder, workers=1)
    return Sweep.read(folder)


def scores(found: Sweep) -> np.ndarray:
    table = FIGURE.picture(found).table
    return 2 * (table["mean"] - table["predicted"]) / table["two_standard_errors"]


@pytest.mark.long
def test_learning_ends_where_the_weighted_sum_is_least(drawn, monkeypatch):
    assert (abs(scores(drawn)) <= 4).all()
    table = FIGURE.picture(drawn).table
    f = objective(drawn)
    best = minimiser(f, f.records.astype(float))
    assert table["predicted"][2] == pytest.approx(best, rel=1e-9)
    apart = abs(table["mean"] - best)
    assert apart[0] > 2 * apart[1] > 2 * apart[2]
    assert 0.5 * table["two_standard_errors"].max() < 0.05 * apart[0]
    monkeypatch.setitem(DIVIDED, "inverse-weight", (1, 0))  # planted: weights are forgotten
    assert abs(scores(drawn))[2] > 8


def test_fast_owners_answer_more_often_and_fresher():
    said = entry(ENTRY).scenario().base()
    shares_of_all, weights = often(said), mean_weights(said)
    assert (np.diff(shares_of_all) < 0).all()
    assert (np.diff(weights) < 0).all()
    law = shares_of_all * np.log(1 / shares_of_all) / (1 - shares_of_all)
    assert weights == pytest.approx(law, rel=1e-9)
