"""Boxes at every iteration: their ends are quartiles, their lines black."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection

from analysis.papers.boxes import by_iteration
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.results import Result
from tests.unit.figures.made import made, texts, write_table

VALUES = np.array([4.0, 1.0, 3.0, 5.0, 2.0])


def line(directory: Path, factor: float, name: str) -> CurveLine:
    """Write five replicates with ψ 1 to 5 times a factor, halved at each of three iterations."""
    made(directory, [()] * 5, private=True)
    ks = np.arange(4)
    psi = factor * VALUES[:, None] * 0.5**ks
    curve: dict[str, Any] = {"replicate": np.repeat(np.arange(1, 6), 4), "k": np.tile(ks, 5)}
    curve |= {"time": np.tile(ks, 5).astype(float), "relative_fitness": psi.ravel()}
    write_table(directory, "curve", curve)
    return CurveLine(Result.read(directory), name)


def test_boxes_end_at_the_quartiles_and_medians_are_black(tmp_path):
    lines = [line(tmp_path / "a", 1.0, "ε = 1"), line(tmp_path / "b", 100.0, "ε = 0.1")]
    picture = by_iteration(lines)
    [axes] = picture.figure.axes
    boxes = [each for each in axes.collections if isinstance(each, LineCollection)]
    assert [len(each.get_segments()) for each in boxes] == [4, 4]
    for place, segment in enumerate(boxes[1].get_segments()):
        low, high = 200 * 0.5**place, 400 * 0.5**place
        np.testing.assert_allclose(segment, [[place, low], [place, high]])
    assert [each.get_color() for each in axes.lines] == ["#000000"] * 2
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_ydata()), [3, 1.5, 0.75, 0.375])
    said = texts(picture)
    assert {"ε = 1", "ε = 0.1", "median", "25–75 %"} <= set(said)


def test_its_table_and_caption_say_the_same(tmp_path):
    picture = by_iteration([line(tmp_path / "a", 1.0, "ε = 1")], name="figure-2")
    assert picture.name == "figure-2"
    table = picture.labelled()
    np.testing.assert_array_equal(table["k"], np.arange(4))
    np.testing.assert_allclose(table["relative_fitness_q25"], 2 * 0.5 ** np.arange(4))
    np.testing.assert_allclose(table["relative_fitness_q75"], 4 * 0.5 ** np.arange(4))
    assert list(table["line"]) == ["ε = 1"] * 4
    assert picture.caption.endswith("Median after the last iteration: 0.375 at ε = 1.")


def test_a_run_that_overflowed_is_drawn_without_that_point(tmp_path):
    made_line = line(tmp_path / "a", 1.0, "ε = 1")
    frame = made_line.result.frame("curve")
    frame.loc[frame["k"] == 3, "relative_fitness"] = np.nan
    write_table(tmp_path / "a", "curve", frame)
    picture = by_iteration([made_line])
    assert np.isinf(picture.table["relative_fitness_median"][3])
    picture.figure.canvas.draw()
