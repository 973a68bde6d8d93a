"""Each picture's title is its answer: a sentence that its own table bears out."""

from math import inf
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analysis.studies.whom_to_ask import FIGURE
from asyncdp_sim.figures import traces
from asyncdp_sim.figures.convergence import CurveLine, by_time, by_update, psi_ratio
from asyncdp_sim.figures.drawer import lettered
from asyncdp_sim.results import Result
from tests.tables import table
from tests.together import together
from tests.unit.figures.made import curve, made, write_table

TITLES = table(__file__, "titles.toml")["titles"]


def given(value: Any) -> Any:
    """Return an argument: a table's columns are arrays, as are lists of numbers or of words."""
    if isinstance(value, dict):
        return {name: np.array(column) for name, column in value.items()}
    if isinstance(value, list):
        return list(map(given, value)) if isinstance(value[0], dict) else np.array(value)
    return value


@together
@pytest.mark.parametrize("case", TITLES, ids=lambda case: f"{case['of']}: {case['said'][:40]}")
def test_a_title_is_what_its_table_bears_out(case):
    said, expected = resolve_name(case["of"])(*map(given, case["given"])), case["said"]
    assert said.startswith(expected[:-1]) if expected.endswith("…") else said == expected


def test_each_title_of_traces_is_tested():
    told = {case["of"].partition(":")[2] for case in TITLES} | {"title_by_update"}
    assert told >= {name for name in vars(traces) if name.startswith("title_")}


def test_curves_and_ratios_are_told(tmp_path):
    lines = []
    for name, last in (("a", 4.0), ("b", 2.0)):
        curve(made(tmp_path / name), [last, last])
        lines.append(CurveLine(Result.read(tmp_path / name), name))
    assert by_update(lines).said.title.startswith("The median ψ ends lowest for b, at 2, and")
    ratio = psi_ratio(lines)
    assert ratio is not None
    assert ratio.said.title == "After 9 updates the ratio to ψ of a is 0.5"


def test_of_one_update_and_of_none_titles_and_axes_are_right(tmp_path):
    lines = []
    start = {"replicate": [1], "k": [0], "time": [0.0], "relative_fitness": [20.0]}
    for name in ("a", "b"):
        write_table(made(tmp_path / name), "curve", start)
        lines.append(CurveLine(Result.read(tmp_path / name), name))
    for picture in (by_update(lines), by_time(lines)):
        assert picture.figure.axes[0].get_xlim() == (0, 1)
    assert psi_ratio(lines) is None  # where all begin is no comparison
    curve(made(tmp_path / "c"), [2.0], k=1)
    assert by_update([CurveLine(Result.read(tmp_path / "c"))]).said.title == "After 1 update ψ is 2"


def test_the_owner_with_most_updates_is_named(tmp_path):
    three = Result.read(made(tmp_path / "three"))
    window = {"k": np.array([1, 2, 3]), "owner": np.array([1, 3, 3])}
    said = "2 of 3 owners made the first 3 updates; owner 3 made most, 2"
    assert traces.title_by_update(window, three) == said
    window |= {"k": np.array([1, 2, 3, 4]), "owner": np.array([1, 3, 3, 1])}
    said = "2 of 3 owners made the first 4 updates, none more than 2"
    assert traces.title_by_update(window, three) == said


def test_negative_numbers_have_a_minus_sign_and_other_hyphens_stay():
    said = "θ* = -1.94 (-1.93), δ = 1e-06, 2026-11-29, ε-DP, n_i"
    assert lettered(said) == "θ* = −1.94 (−1.93), δ = 1e-06, 2026-11-29, ε-DP, nᵢ"


def test_policies_that_never_reach_the_target_stand_at_the_top():
    tasks, time = np.array([1.0, 10.0, 20.0]), np.array([8.0, 6.0, inf])
    table = {"p": np.repeat("all alike", 3), "tasks": tasks, "time": time}
    table |= {"time_low": time - 1, "time_high": np.array([9.0, inf, inf])}
    line = SimpleNamespace(results=[SimpleNamespace(n_owners=10)])
    [panel] = FIGURE.declared([line], [table]).panels
    reached, never = (mark for mark in panel.marks if mark.kind == "line")
    assert never.x.tolist() == [20]
    assert never.y[0] > 18  # twice the largest end, where the bar without one ends
    assert reached.high.tolist() == [9, 18]
    assert panel.y.labels is not None
    assert panel.y.labels[-1] == "never"
