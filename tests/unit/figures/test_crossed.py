"""Sweeps of settings side by side, and labels of figures that show several cells."""

import csv
import subprocess
import sys

import numpy as np
import pytest

from analysis.studies import every, studies
from asyncdp_sim.figures import changes, draw_all
from asyncdp_sim.figures.draw import IN_CLONE, of_entry
from asyncdp_sim.figures.drawer import Declaration
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.results import read_table
from asyncdp_sim.runs.run import manifest, run
from asyncdp_sim.scenario.catalogue import catalogue
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sweeps.sweep import sweep
from scenarios import entry
from scenarios.papers.lending import ENDS
from tests.reproducibility.runs import scenario
from tests.unit.figures.made import sweep_of

# Sweeps of settings that are no numbers, and the pictures of single entries.


def test_settings_stand_beside_one_another_and_what_is_alike_is_told(tmp_path, reads):
    cells = [
        {
            "values": {"protocol": f'{{"kind": "{kind}"}}'},
            "psi": [psi, psi],
            "summary": {"updates": 5, "throughput": fast, "fairness": fairness},
        }
        for kind, psi, fast, fairness in (("request", 0.1, 2.0, 0.99), ("push", 8.0, 3.0, 1.0))
    ]
    reads(changes.SETTINGS.picture(sweep_of(tmp_path, cells)))


@pytest.mark.parametrize(
    ("psi", "begins"),
    [
        ((0.1, 0.1), "No quantity differs by 5 % between 2 settings: median ψ"),
        ((0.1, np.inf), "Quantities that differ between 2 settings"),
    ],
    ids=["in nothing: psi is shown", "the models of one diverge"],
)
def test_in_what_settings_differ_is_said(psi, begins, tmp_path):
    cells = [
        {"values": {"variant": name}, "psi": [last, last], "summary": {"throughput": 2.0}}
        for name, last in zip("ab", psi, strict=True)
    ]
    picture = changes.SETTINGS.picture(sweep_of(tmp_path, cells))
    [axes] = picture.figure.axes
    assert axes.get_xlabel() == "$\\psi$ at the end\n(lower is better)"
    assert picture.caption.startswith(begins)
    assert "psi" not in picture.caption


def test_a_constant_quantity_that_is_unknown_in_one_cell_is_not_drawn():
    def line(*values):
        return {"fairness": np.array(values), changes.PSI: np.array(values)}

    assert not changes.worth_drawing("fairness", [line(0.5, 0.5, np.nan)])
    assert not changes.worth_drawing("fairness", [line(0.5, 0.5, np.inf), line(np.nan, 0.7, 0.7)])
    assert changes.worth_drawing("fairness", [line(0.5, 0.6, np.nan)])
    assert changes.worth_drawing(changes.PSI, [line(0.5, np.nan, np.nan)])


def test_published_points_are_not_on_their_papers_law():
    records = entry("lending-convergence").scenario().owners.records
    over = [psi * (epsilon * records) ** 2 / 2.15e9 for epsilon, psi in ENDS.items()]
    assert max(over) > 20
    assert min(over) < 0.2


@pytest.fixture
def one_cell(tmp_path):
    return sweep_of(tmp_path, [{"values": {"privacy.epsilon": 1.0}, "psi": [1.0]}])


def test_a_study_that_a_sweep_does_not_allow_is_told(one_cell):
    for name in ("collab-06", "whom-to-ask"):
        notes: list[str] = []
        assert of_entry(one_cell, name, notes, studies(name)) == []
        assert notes[0].startswith(f"the study of {name}: ")


def test_a_study_that_is_not_installed_is_named_with_the_command_that_draws_it(one_cell):
    assert list(every()) == list(IN_CLONE), "python -m tests.regenerate writes them"
    for name in IN_CLONE:
        notes: list[str] = []
        assert of_entry(one_cell, name, notes, {}) == []
        said = f"the study of {name}: in a clone `python -m scenarios {name}` draws it"
        assert notes == [said]
        assert list(studies(name)) == [name]
    assert set(IN_CLONE) <= {found.name for found in catalogue()}


@pytest.mark.long
def test_a_command_without_a_study_imports_none_of_them():
    code = (
        "import sys, scenarios.command, asyncdp_sim.figures.draw; "
        "print(*(name for name in sys.modules if name.startswith('analysis')))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert said.stdout.strip() == ""


# Numbers of figures that show several cells: every row has the label of its own cell.

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
    assert len(drawn) >= 3
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
