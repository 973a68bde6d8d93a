"""ψ against the number of owners that lie: what is drawn, and when nothing is."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import curve, finished, made, scenario
from matplotlib.lines import Line2D

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.sweeps.adversaries import FIGURE, select
from asyncdp_sim.results import Cell, Result, Sweep

LISTS = ["[]", "[1]", "[1, 2]"]


def swept(directory: Path) -> Sweep:
    """Three counts of liars, two factors and two acceptances; ψ = 1 + cell."""
    rows = [(a, o, f) for a in ("all", "clip") for o in LISTS for f in (1.0, 5.0)]
    for number, (_, owners, factor) in enumerate(rows):
        said = scenario(adversary={"kind": "flip", "owners": json.loads(owners), "factor": factor})
        cell = made(directory / f"cell-{number:04d}", (), said)
        curve(cell, [1.0 + number])
    names = ("variant", "adversary.owners", "adversary.factor")
    return finished(directory, dict(zip(names, zip(*rows, strict=True), strict=True)))


def test_a_panel_for_each_factor_and_a_line_for_each_acceptance(tmp_path: Path) -> None:
    picture = FIGURE.picture(swept(tmp_path / "sweep"))
    left, right = picture.figure.axes
    assert left.get_xlabel() == "owners that send −1 × the answer"
    assert right.get_xlabel() == "owners that send −5 × the answer"
    assert left.get_ylim() == right.get_ylim()
    for axes, turn in ((left, 1.5), (right, 0.5)):
        assert len(axes.containers) == 2
        [rule] = [line for line in axes.lines if line.get_linestyle() == "--"]
        assert isinstance(rule, Line2D)
        assert list(rule.get_xdata()) == [turn, turn]
    table = picture.table
    assert list(table["series"]) == (["all"] * 3 + ["clip"] * 3) * 2
    assert list(table["liars"]) == [0, 1, 2] * 4
    np.testing.assert_array_equal(
        table["psi_final_median"], [1, 3, 5, 7, 9, 11, 2, 4, 6, 8, 10, 12]
    )


def test_a_line_that_is_not_finished_leaves_the_others_their_colour(tmp_path: Path) -> None:
    whole = swept(tmp_path / "sweep")
    kept = tuple(c for c in whole.cells if c.values["variant"] == "clip" or c.number % 2 == 0)
    picture = FIGURE.picture(replace(whole, cells=kept))
    left, right = picture.figure.axes
    assert [len(axes.containers) for axes in (left, right)] == [2, 1]
    colours = [axes.containers[-1].lines[0].get_color() for axes in (left, right)]
    assert colours[0] == colours[1]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"adversary.owners": LISTS}, 1),
        (
            {"adversary.owners": LISTS, "privacy.epsilon": [1, 2, 3]},
            3,
        ),
        (
            {"adversary.owners": LISTS, "adversary.factor": [3.0, 1.0, 1.0]},
            2,
        ),
        ({"privacy.epsilon": [1, 2, 3]}, "adversary.owners is not swept over two numbers of"),
        ({"adversary.owners": ["[1]", "[2]"]}, "adversary.owners is not swept over two numbers of"),
        ({"adversary.owners": LISTS, "a": [1, 2, 3], "b": [1, 2, 3]}, "too much is swept besides"),
    ],
)
def test_what_is_drawn_against_what(columns: dict[str, list[Any]], expected: int | str) -> None:
    rows = zip(*columns.values(), strict=True)
    result = Result(Path("made"), {})
    cells = [Cell(n, dict(zip(columns, row, strict=True)), result) for n, row in enumerate(rows)]
    sweep = Sweep(Path("made"), tuple(columns), tuple(cells), ())
    found = select(sweep)
    if isinstance(expected, int):
        assert len(found) == expected
        return
    assert isinstance(found, str)
    assert found.startswith(expected)
    with pytest.raises(ResultError):
        FIGURE.picture(sweep)
