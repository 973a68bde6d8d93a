"""Lines of figures: what is left out, which intervals are drawn, and where ticks stand."""

import itertools

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from asyncdp_sim.figures.convergence import line_looks, medians, quartile_marks
from asyncdp_sim.figures.drawer import (
    Declaration,
    Layer,
    Panel,
    Side,
    draw,
    measured,
    reaches_zero,
)
from asyncdp_sim.figures.style import colours, contrast, legible


def of(*marks: Layer, log: bool = False) -> Declaration:
    return Declaration([Panel(marks, Side(), Side(log=log))])


def drawn(*marks: Layer, log: bool = False) -> Figure:
    return draw(of(*marks, log=log))


def test_what_is_not_finite_is_left_out_and_unknown_ends_have_no_stroke():
    value, low, high = [1.0, np.inf, 3.0, 4.0], [0.5, 1.0, np.nan, 2.0], [2.0, np.inf, 5.0, np.inf]
    [axes] = drawn(measured(np.arange(4), np.array([value, low, high]))).axes
    [bars] = axes.containers
    assert isinstance(bars, ErrorbarContainer)
    points, _, (strokes,) = bars.lines
    np.testing.assert_array_equal(points.get_ydata(), [1, np.nan, 3, 4])
    ends = [path.vertices[:, 1] for path in strokes.get_paths()]
    np.testing.assert_array_equal(ends[0], [0.5, 2.0])
    np.testing.assert_array_equal(ends[2], [3.0, 5.0])
    np.testing.assert_array_equal(ends[3], [2.0, 4.0])


def test_an_interval_that_reaches_zero_ends_at_the_frame_of_a_logarithmic_axis():
    line = measured([1, 2], np.array([[1.0, 4.0], [-0.5, 3.0], [2.5, 5.0]]))
    assert not reaches_zero(of(line))
    figure = drawn(line, log=True)
    assert reaches_zero(of(line, log=True))
    [axes] = figure.axes
    [arrow] = [line for line in axes.lines if line.get_gid() is not None]
    assert arrow.get_xdata() == [1]
    assert arrow.get_ydata() == [axes.get_ylim()[0]]
    assert axes.get_ylim()[0] > 0.1
    assert not reaches_zero(of(measured([1], np.array([[1.0], [0.5], [2.5]])), log=True))


def test_text_of_any_line_can_be_read_and_lines_have_markers():
    shades = [*colours(7), *colours(12)]
    assert min(map(contrast, shades)) < 2.5
    assert min(contrast(legible(shade)) for shade in shades) >= 4.5
    assert legible("#000000") == "#000000"
    assert "marker" not in line_looks(1)[0]
    assert len({look["marker"] for look in line_looks(3)}) == 3
    ten = [look["marker"] for look in line_looks(10)]
    assert len(set(zip(ten, colours(10), strict=True))) == 10
    assert all(first != second for first, second in itertools.pairwise(ten))


@pytest.mark.parametrize(
    ("lines", "apart", "shown"), [(4, 0.0, True), (5, 1.0, True), (5, 0.0, False), (8, 1.0, False)]
)
def test_bands_are_drawn_and_named_unless_they_hide_one_another(lines, apart, shown):
    curves = [
        (np.arange(3), np.tile([[1.0], [1.2], [1.4]], 3) + apart * line) for line in range(lines)
    ]
    [axes] = drawn(*quartile_marks(curves, [""] * lines, line_looks(lines))).axes
    assert len(axes.collections) == lines * shown
    assert ("band" in medians(curves)) == shown
