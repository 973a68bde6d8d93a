"""``asyncdp plot``, and ``--plot`` of what has been run."""

from pathlib import Path

import pytest

from tests.cli.scenes import SMALL

OF_A_RUN = ["convergence-by-update", "convergence-by-time"]


FILES = {"small.toml": SMALL}


def names(said):
    return [line for line in said.out.splitlines() if line.endswith(".png")]


@pytest.mark.long
def test_figures_of_runs_and_forecasts_are_drawn_and_named(command, here):
    ran = command.done("run", "small.toml", "--out", "r", "--plot")
    assert [f"r/figures/{name}.png" for name in OF_A_RUN] == names(ran)[:2]
    assert ran.out.splitlines()[-1] == "to compute it again: asyncdp replay r"
    assert all((here / name).exists() for name in names(ran))
    assert "note: r: not drawn: staleness: no answer was stale" in ran.lines
    told = command.done("forecast", "small.toml", "--json").out
    (here / "f.json").write_text(told, encoding="utf-8")
    drawn = command.done("plot", "f.json")
    assert drawn.out.splitlines() == names(drawn)
    assert names(drawn)[0] == "f/forecast-over-time.png"


@pytest.mark.long
def test_figures_for_print_have_their_format_and_one_line_refuses_others(command, here):
    command.done("run", "small.toml", "--out", "r")
    drawn = command.done("plot", "r", "--format", "pdf", "--width", "3.4").out.splitlines()
    assert {Path(line).suffix for line in drawn} == {".pdf"}
    assert "## convergence-by-update.pdf" in (here / "r/figures/captions.md").read_text("utf-8")
    for option, given in (("--width", "1"), ("--width", "wide"), ("--format", "ps")):
        assert repr(given) in command.refused("plot", "r", option, given)


@pytest.mark.usefixtures("here")
def test_what_is_no_result_is_refused(command):
    assert command.refused("plot", "small.toml").startswith("small.toml: ")
    assert command("plot").code == 2
