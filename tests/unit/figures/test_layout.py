"""Room around axes: as much as is written there, in whatever grid."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from asyncdp_sim.figures.kit.axes import key, legend
from asyncdp_sim.figures.kit.style import laid_out, panels, sheet
from tests.unit.figures.looks import faults

DPI = 100


def execute(figure: Figure) -> None:
    with laid_out(figure, DPI):
        pass


def test_panels_share_what_legend_and_label_leave() -> None:
    figure, (upper, lower) = panels((1.0, 2.0))
    upper.set(ylabel="above\nin two lines")
    lower.set(xlabel="below", ylabel="y")
    legend(figure, [key("a line"), key("another")], 2)
    figure.supxlabel("The label of the whole", x=0.01, ha="left", fontsize=7)
    execute(figure)
    heights = [axes.get_position().height for axes in (upper, lower)]
    assert heights[1] == pytest.approx(2 * heights[0], rel=1e-3)
    assert faults(figure) == []


def test_cells_of_a_grid_are_alike_and_one_may_span_several() -> None:
    figure = sheet(7.2, 4.6)
    grid = figure.add_gridspec(2, 3, height_ratios=(1.0, 2.0))
    small = [figure.add_subplot(grid[0, place]) for place in range(3)]
    wide = figure.add_subplot(grid[1, :])
    small[1].set(ylabel="written between")
    execute(figure)
    widths = [axes.get_position().width for axes in small]
    assert np.ptp(widths) == pytest.approx(0, abs=1e-6)
    first, last = small[0].get_position(), small[2].get_position()
    ends = (wide.get_position().x0, wide.get_position().x1)
    assert ends == pytest.approx((first.x0, last.x1), abs=1e-6)
    assert faults(figure) == []


def test_a_name_beside_a_point_has_room_whatever_that_does_to_the_point() -> None:
    figure, (axes,) = panels((1.0,))
    axes.plot([0, 1, 2], [0, 1, 2])
    axes.annotate("one that is rather long", (1.2, 1), (9, 0), textcoords="offset points")
    axes.annotate("so long that axes end before it does", (1.2, 1.5), (9, 0),
                  textcoords="offset points")  # fmt: skip
    axes.annotate("a long name at the end, too", (1.9, 1.9), (9, 0), textcoords="offset points")
    execute(figure)
    assert faults(figure) == []


def test_faults_are_seen() -> None:
    """Planted: text beyond the frame, a label on the axes, axes on one another."""
    figure, (axes, other) = panels((1.0, 1.0))
    axes.text(1.3, 0.5, "beyond", transform=axes.transAxes)
    figure.text(0.5, 0.5, "on them")
    said = faults(figure)
    assert any("cut off" in each for each in said)
    assert any("Text" in each and " and " in each for each in said)
    other.set_position(axes.get_position())
    assert len(faults(figure)) > len(said)
