"""Lines of figures: what is left out, which intervals are drawn, and where ticks stand."""

import itertools

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer

from asyncdp_sim.figures.axes import draw_line, reaches_zero, scale
from asyncdp_sim.figures.convergence import draw_quartiles, line_marks, medians
from asyncdp_sim.figures.style import canvas, colours, contrast, legible


def test_what_is_not_finite_is_left_out_and_unknown_ends_have_no_stroke():
    _, axes = canvas()
    value, low, high = [1.0, np.inf, 3.0, 4.0], [0.5, 1.0, np.nan, 2.0], [2.0, np.inf, 5.0, np.inf]
    draw_line(axes, np.arange(4), np.array([value, low, high]))
    [drawn] = axes.containers
    assert isinstance(drawn, ErrorbarContainer)
    points, _, (strokes,) = drawn.lines
    np.testing.assert_array_equal(points.get_ydata(), [1, np.nan, 3, 4])
    ends = [path.vertices[:, 1] for path in strokes.get_paths()]
    np.testing.assert_array_equal(ends[0], [0.5, 2.0])
    np.testing.assert_array_equal(ends[2], [3.0, 5.0])
    np.testing.assert_array_equal(ends[3], [2.0, 4.0])


def test_an_interval_that_reaches_zero_ends_at_the_frame_of_a_logarithmic_axis():
    figure, axes = canvas()
    draw_line(axes, [1, 2], np.array([[1.0, 4.0], [-0.5, 3.0], [2.5, 5.0]]))
    assert not reaches_zero(figure)
    scale(axes)
    assert reaches_zero(figure)
    [arrow] = [line for line in axes.lines if line.get_gid() is not None]
    assert arrow.get_xdata() == [1]
    assert arrow.get_ydata() == [axes.get_ylim()[0]]
    assert axes.get_ylim()[0] > 0.1
    other, whole = canvas()
    draw_line(whole, [1], np.array([[1.0], [0.5], [2.5]]))
    scale(whole)
    assert not reaches_zero(other)


def test_text_of_any_line_can_be_read_and_lines_have_markers():
    shades = [*colours(7), *colours(12)]
    assert min(map(contrast, shades)) < 2.5
    assert min(contrast(legible(shade)) for shade in shades) >= 4.5
    assert legible("#000000") == "#000000"
    assert line_marks(1) == [None]
    assert len(set(line_marks(3))) == 3
    ten = line_marks(10)
    assert len(set(zip(ten, colours(10), strict=True))) == 10
    assert all(first != second for first, second in itertools.pairwise(ten))


@pytest.mark.parametrize(
    ("lines", "apart", "drawn"), [(4, 0.0, True), (5, 1.0, True), (5, 0.0, False), (8, 1.0, False)]
)
def test_bands_are_drawn_and_named_unless_they_hide_one_another(lines, apart, drawn):
    _, axes = canvas()
    curves = [
        (np.arange(3), np.tile([[1.0], [1.2], [1.4]], 3) + apart * line) for line in range(lines)
    ]
    draw_quartiles(axes, curves, colours(lines))
    assert len(axes.collections) == lines * drawn
    assert ("band" in medians(curves)) == drawn
