"""Sweeps of settings that are no numbers, and the pictures of single entries."""

import subprocess
import sys

import pytest

from analysis.studies import studies
from asyncdp_sim.figures import changes
from asyncdp_sim.figures.draw import IN_CLONE, of_entry
from asyncdp_sim.figures.psi_lines import ELSEWHERE, FINAL_PSI
from asyncdp_sim.scenario.catalogue import catalogue, entry
from tests.unit.figures.made import curve, finished, made


def test_settings_stand_beside_one_another_and_what_is_alike_is_told(tmp_path):
    protocols = ['{"kind": "request"}', '{"kind": "push"}']
    for number, (fast, psi) in enumerate(((2.0, 0.1), (3.0, 8.0))):
        directory = made(
            tmp_path / f"cell-{number:04d}", updates=5, throughput=fast, fairness=0.99 + number / 99
        )
        curve(directory, [psi, psi])
    found = finished(tmp_path, {"protocol": protocols})
    picture = changes.SETTINGS.picture(found)
    first, *others = picture.figure.axes
    assert [text.get_text() for text in first.get_yticklabels()] == ["request", "push"]
    assert [axes.get_xlabel() for axes in (first, *others)] == [
        "$\\psi$ at the end\n(lower is better)", "updates per unit",
    ]  # fmt: skip
    assert first.get_xscale() == "log"
    assert "less than 5 % apart: updates made, time to end, fairness" in picture.caption


def test_published_points_are_not_on_their_papers_law():
    published = FINAL_PSI["lending-convergence"]
    records = entry("lending-convergence").scenario().owners.records
    law = {epsilon: 2.15e9 / (epsilon * records) ** 2 for epsilon in published}
    assert (
        ", ".join(f"{psi:.2g}" for psi in law.values()).replace(", 0.00034", " and 0.00034")
        in (ELSEWHERE["lending-convergence"])
    )
    assert max(published[epsilon] / law[epsilon] for epsilon in law) > 20
    assert min(published[epsilon] / law[epsilon] for epsilon in law) < 0.2


def test_a_study_that_a_sweep_does_not_allow_is_told(tmp_path):
    curve(made(tmp_path / "cell-0000"), [1.0])
    swept = finished(tmp_path, {"privacy.epsilon": [1.0]})
    for name in ("collab-06", "whom-to-ask"):
        notes: list[str] = []
        assert of_entry(swept, name, notes, studies(name)) == []
        assert notes[0].startswith(f"the study of {name}: ")


def test_a_study_that_is_not_installed_is_named_with_the_command_that_draws_it(tmp_path):
    curve(made(tmp_path / "cell-0000"), [1.0])
    swept = finished(tmp_path, {"privacy.epsilon": [1.0]})
    for name in IN_CLONE:
        notes: list[str] = []
        assert of_entry(swept, name, notes, {}) == []
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
