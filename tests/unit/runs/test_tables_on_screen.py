"""Figures and sentences of a summary, and tables on the screen, by hand."""

from math import inf, nan

import numpy as np
import pytest

from asyncdp_sim.comparisons import comparison
from asyncdp_sim.core import words
from asyncdp_sim.core.words import SCREEN, aligned, figure, number, screen_width
from asyncdp_sim.reports.answer import shown
from asyncdp_sim.runs.outcome import spread
from asyncdp_sim.runs.run import run
from asyncdp_sim.sentences import result as on_screen
from asyncdp_sim.sentences.result import joining
from tests.reproducibility.runs import scenario
from tests.tables import table


def test_a_narrow_table_is_one():
    assert aligned([["cell", "x"], ["0000", "12"]]) == ["cell   x", "0000  12"]


@pytest.mark.parametrize("width", [80, 140, 200])
def test_a_table_fits_the_terminal_and_never_cuts_a_row(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    names = [f"a long.name of column {n}" for n in range(6)]
    numbers = [f"{n}.2345e+9" for n in range(6)]
    lines = aligned([["cell", *names], ["0000", *numbers], ["0001", *"789abc"]])
    assert max(map(len, lines)) == min(width, 154)
    assert lines[-2].split() == ["0000", *numbers]  # settings and result in one row
    assert lines[-1].split() == ["0001", *"789abc"]
    assert (len(lines) == 3) is (width == 200)  # headers are folded before numbers


def test_a_pipe_has_80_columns(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert screen_width() == SCREEN


@pytest.mark.parametrize(
    "long", [", ".join(f"{n}.5" for n in range(40)), "of St. Mary's and St. Ann's " * 4 + "hill"]
)
def test_a_long_cell_is_folded(long):
    lines = aligned([["cell", "owners"], ["0000", long], ["0001", "1"]])
    assert max(map(len, lines)) <= SCREEN
    assert " ".join(" ".join(lines).split()) == f"cell owners 0000 {long} 0001 1"


def test_a_name_of_parts_is_cut_between_them():
    lines = aligned([["Hospital.Service.Area", *["eight"] * 10], ["1", *"2222222222"]])
    assert [line.split()[0] for line in lines] == ["Hospital.", "Service.", "Area", "1"]


def test_what_is_infinite_is_said_alike_in_tables_reports_and_pictures():
    for value, said in ((inf, "∞"), (-inf, "−∞")):
        assert figure(value) == figure(str(value)) == shown(value) == number(value) == said
    assert figure(None) == figure(nan) == shown(None) == "–"
    assert on_screen.figure is comparison.figure is figure  # one rule


TABLE = table(__file__, "tables_on_screen.toml")


@pytest.mark.parametrize(("form", "given", "said"), TABLE["forms"])
def test_a_number_has_the_digits_that_mean_something(form, given, said):
    """Three, or is whole, or has those that its half width allows."""
    assert getattr(words, form)(*given) == said


@pytest.mark.parametrize(("verdict", "said"), TABLE["verdicts"])
def test_a_verdict_is_one_sentence_wherever_it_stands(verdict, said):
    gain = {"verdict": verdict, "gain": 0.5, "low": 0.4, "high": 0.6, "own": 2.0}
    text = joining(gain, "h", [2.0, np.inf], "C1", "at least ")
    assert text.startswith(said)
    assert text.endswith("(95 % interval 0.40 to 0.60), 25 % of its own error")
    unknown = joining(gain | {"gain": "nan"}, None, [np.inf])
    diverged = verdict == "does worse"
    reason = "the joint model diverged" if diverged else "no rows to be judged on"
    assert unknown.endswith(f" without privacy: {reason}")


@pytest.mark.parametrize(("more", "held_out", "why"), TABLE["not_judged"])
def test_a_run_says_why_no_gain_was_judged(more, held_out, why):
    said = more | {"scenario": {"data": {"held_out": held_out}}}
    assert on_screen.not_judged(said).startswith(f"not judged: {why}")


def test_a_broken_promise_is_never_a_detail():
    assert on_screen._is_detail("timing", "accounted", 100)
    assert not on_screen._is_detail("timing", "NOT accounted", 100)
    names = ("private", "because", "scope")
    assert not any(on_screen._is_detail(name, "NO", 100) for name in names)


def test_the_spread_of_psi_by_hand():
    found = spread(np.array([8.0, 0.0, 4.0, 2.0, 6.0]))
    assert found == {"mean": 4.0, "median": 4.0, "q25": 2.0, "q75": 6.0}


def test_what_overflowed_is_infinite_in_the_spread():
    found = spread(np.array([1.0, 2.0, 3.0, np.nan]))
    assert (found["q25"], found["mean"]) == (2.0, np.inf)


@pytest.mark.parametrize(("until", "told"), [(None, 0), (2.0, 1)])
def test_an_early_end_is_said_where_there_was_one(until, told):
    """A run of exactly T updates has not ended early."""
    asked = scenario(run__updates=12, run__replicates=2, run__until=until)
    assert sum(" of T = " in said for said in run(asked).warnings) == told
