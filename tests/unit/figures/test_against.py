from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures import Result, Sweep, sweep_figure
from asyncdp_sim.figures.changes import AGAINST as FIGURE
from asyncdp_sim.figures.changes import select
from asyncdp_sim.figures.sweep_figure import psi_at_end, time_to_end
from asyncdp_sim.results import Cell
from tests.together import together
from tests.unit.figures.made import curve as made_curve
from tests.unit.figures.made import finished, keys, made, scenario

INF = float("inf")


def curve(directory: Path, psi: Sequence[float], *, reached: int = 1000) -> None:
    """Write a curve whose replicates end at times 10, 20, …"""
    made_curve(directory, psi, k=reached, times=[10.0 * (r + 1) for r in range(len(psi))])


def swept(directory: Path, columns: dict[str, list[Any]], **summary: Any) -> Sweep:
    count = len(next(iter(columns.values())))
    for number in range(count):
        known = {"throughput": 1.0 + number, "fairness": 0.5, "refusal_rate": 0.0} | summary
        known["intervals"] = {"throughput": [0.5 + number, 2.0 + number]}
        cell = made(directory / f"cell-{number:04d}", (), scenario(), **known)
        curve(cell, [1.0, 2.0, 3.0], reached=999 if number == 0 else 1000)
    return finished(directory, columns)


def test_panels_show_what_is_known_in_order_of_the_number(tmp_path):
    picture = FIGURE.picture(swept(tmp_path / "sweep", {"owners.count": [100, 3, 10]}))
    table = picture.table
    assert list(table["owners.count"]) == [3, 10, 100]
    assert list(table["throughput"]) == [2, 3, 1]
    assert list(table["throughput_low"]) == [1.5, 2.5, 0.5]
    np.testing.assert_allclose(table["time_to_end"], [20, 20, np.nan])
    names = [axes.get_ylabel() for axes in picture.figure.axes]
    assert names == ["$\\psi$ at the end\n(lower is better)", "time to update $T$\n(units)",
                     "updates per unit"]  # fmt: skip
    for axes in picture.figure.axes[1:]:  # room above the highest point
        [points] = axes.containers
        assert axes.get_ylim()[1] > 1.05 * np.nanmax(points[0].get_ydata())
    assert {axes.get_xscale() for axes in picture.figure.axes} == {"log"}
    assert "in 1 of 3 cells not all replicates reached T" in picture.caption
    left = "updates made, fairness, refusal rate, collision rate, loss rate, mean staleness"
    left += ", answers paid"
    assert f"not drawn, because 0, unknown or constant along every line: {left}." in picture.caption
    assert keys(picture) == []


@pytest.mark.long
def test_a_second_path_sets_lines_apart_and_one_line_stands_for_those_that_coincide(tmp_path):
    columns: dict[str, list[Any]] = {"privacy.epsilon": [1.0, 1.0, 2.0, 2.0, INF, INF]}
    columns["protocol.busy"] = ["refuse", "queue"] * 3
    picture = FIGURE.picture(swept(tmp_path / "sweep", columns))
    assert keys(picture) == ["refused when busy", "queued when busy"]
    for axes in picture.figure.axes:
        assert len(axes.containers) == (1 if axes.get_ylabel() in ALIKE else 2)
        picture.figure.canvas.draw()
        ticks = [tick.get_text() for tick in axes.get_xticklabels()]
        assert ticks == ["1", "2", "∞"]
        assert axes.get_xscale() == "linear"


ALIKE = ("fairness (Jain)", "$\\psi$ at the end\n(lower is better)")


@together
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"run.updates": [1, 2, 3]}, ("run.updates", 1)),
        ({"run.updates": [1, 2, 3], "run.seed": [1, 1, 1]}, ("run.updates", 1)),
        ({"a": [1, 1, 1, 2], "b": [1, 2, 3, 1]}, ("b", 2)),
        ({"run.seed": [1, 2, 3]}, "no number is swept over 3 values or more"),
        ({"a": [1, 2, 1]}, "no number is swept over 3 values or more"),
        ({"a": ["x", "y", "z"]}, "no number is swept over 3 values or more"),
        ({"a": [True, False, True]}, "no number is swept over 3 values or more"),
        ({"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 2, 3]},
         "3 paths are swept, and one or two can be shown"),
        ({"a": list(range(9)), "b": [str(n) for n in range(9)]},
         "b has 9 values, more than 8 lines"),
    ],
)  # fmt: skip
def test_what_is_drawn_against_what(columns, expected):
    rows = zip(*columns.values(), strict=True)
    result = Result(Path("made"), {})
    cells = [Cell(n, dict(zip(columns, row, strict=True)), result) for n, row in enumerate(rows)]
    sweep = Sweep(Path("made"), tuple(columns), tuple(cells), ())
    found = select(sweep)
    if isinstance(found, str):
        assert found == expected
        with pytest.raises(ResultError, match=expected):
            FIGURE.picture(sweep)
    else:
        assert (found[0].path, len(found)) == expected


def test_the_interval_of_the_median_is_exact(tmp_path):
    directory = made(tmp_path / "made")
    for psi, expected in [
        ([4.0], (4.0, np.nan, np.nan)),
        ([2.0, 1.0, 4.0, 3.0], (2.5, 1.0, 4.0)),
        ([*map(float, range(1, 10)), INF], (5.5, 2.0, 9.0)),  # 98 % of 10: the second and ninth
        ([1.0, INF, INF], (INF, 1.0, INF)),
    ]:
        curve(directory, psi)
        np.testing.assert_equal(tuple(psi_at_end(Result.read(directory))), expected)


def test_the_time_to_the_end_is_known_where_all_runs_reach_it(tmp_path):
    directory = made(tmp_path / "made")
    curve(directory, [1.0, 1.0])
    found = time_to_end(Result.read(directory))
    np.testing.assert_allclose(found, (15, 15 - 12.7062 * 5, 15 + 12.7062 * 5), rtol=1e-5)
    curve(directory, [1.0, 1.0], reached=900)
    assert np.isnan(time_to_end(Result.read(directory))).all()


def test_the_interval_of_models_that_diverge_is_all_numbers():
    found = sweep_figure.mean_of(np.array([1e200, 3e200]))
    assert (found.value, found.low, found.high) == (2e200, -np.inf, np.inf)
