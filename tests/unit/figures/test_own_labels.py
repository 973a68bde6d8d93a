"""Numbers of figures that show several cells: every row has the label of its own cell."""

import csv

import numpy as np
import pytest

from asyncdp_sim.figures import draw_all
from asyncdp_sim.figures.kit.drawer import Declaration
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.results import read_table
from asyncdp_sim.runs import run
from asyncdp_sim.runs.writing import manifest
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sweeps import sweep
from tests.reproducibility.runs import scenario

CLIP = {"kind": "clip", "bound": 1.0}
HELD_OUT = {"kind": "gaussian", "features": 3, "condition": 10.0, "held_out": 0.25}
GRIDS = {
    "budgets": {"privacy.epsilon": [1.0, 4.0], "privacy.overlap": [1, 2]},
    "steps": {"privacy.epsilon": [1.0, 4.0], "algorithm.rho": [1.0, 4.0]},
    "channels": {"privacy.epsilon": [1.0, 4.0], "clock.rate": [0.5, 2.0]},
}
CHANNELS = {"channel": {"kind": "aloha", "airtime": 0.1}, "protocol": {"kind": "push"}}


@pytest.mark.long
@pytest.mark.parametrize("swept", GRIDS)
def test_every_row_has_the_true_epsilon_of_its_own_cell(swept, tmp_path):
    more = CHANNELS if swept == "channels" else {"run__alone": True, "run__split": True}
    asked = scenario(data=HELD_OUT, privacy__sensitivity=CLIP, sweep=GRIDS[swept], **more)
    sweep(asked, tmp_path / "s")
    draw_all(tmp_path / "s")
    true = set(read_table(tmp_path / "s", "cells")["epsilon_true"])
    assert true == set(GRIDS[swept]["privacy.epsilon"])
    drawn = sorted((tmp_path / "s" / "figures").glob("*.csv"))
    assert len(drawn) >= 4
    for path in drawn:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["epsilon_true"]]
        found = {float(row["epsilon_true"]) for row in rows}
        of_network = "models_private" not in rows[0]  # cells may share one, and its updates
        assert found <= true if of_network else found == true, path.name
        for row in rows:
            stated = row.get("epsilon") or row.get("privacy.epsilon") or row["epsilon_true"]
            assert float(stated) == float(row["epsilon_true"]), path.name
            assert row["private"] == str(of_network), path.name


def test_rows_that_do_not_say_whose_they_are_have_no_value_that_differs():
    both = [
        manifest(run(scenario(privacy__sensitivity=CLIP, privacy__epsilon=epsilon)))
        for epsilon in (1.0, 2.0)
    ]
    picture = Picture("some", Declaration([]), {"x": np.array([1, 2])}, "", label(both))
    assert label(both).mixed == ("epsilon_true",)
    assert list(picture.labelled()["epsilon_true"]) == [None, None]
    assert list(picture.labelled()["models_private"]) == [True, True]
    assert label(both[:1] * 2).mixed == ()


def test_rows_of_private_and_other_models_say_neither_of_any():
    published = {"mechanism": "laplace", "noise": "scalar-as-published"}
    some = scenario(privacy__sensitivity=CLIP, privacy__epsilon=1.0)
    found = label([manifest(run(each)) for each in (some, some.replace(privacy=published))])
    assert "private" in found.mixed
    picture = Picture("some", Declaration([]), {"x": np.array([1, 2])}, "", found)
    assert list(picture.labelled()["models_private"]) == [None, None]
