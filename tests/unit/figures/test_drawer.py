"""The drawer: what a declaration says is seen, once, and where a reader looks for it."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from asyncdp_sim.figures.drawer import (
    LONGEST_AT_END,
    Declaration,
    Layer,
    Panel,
    Side,
    draw,
    legend_columns,
    measured,
)

X = np.array([1.0, 2.0, 3.0])


def keys(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def of(*panels: list[Layer], **more: object) -> Figure:
    several = [Panel(marks, Side("x"), Side("y")) for marks in panels]
    return draw(Declaration(several, **more))  # type: ignore[arg-type]


def test_a_name_has_one_key_for_each_look():
    law = [Layer("line", X, X, name="law", look={"color": tone}) for tone in ("red", "blue", "red")]
    band = Layer("band", X, None, X, X + 1, "band", look={"color": "red"})
    assert keys(of([*law, band], [*law, band])) == ["law", "law", "band"]


@pytest.mark.parametrize("letters", [LONGEST_AT_END, LONGEST_AT_END + 1])
def test_long_names_stand_in_the_legend_and_short_ones_at_the_ends_of_lines(letters):
    name = "n" * letters
    figure = of([Layer("line", X, X, end=name, look={"color": "red"})])
    [axes] = figure.axes
    short = letters <= LONGEST_AT_END
    assert [text.get_text() for text in axes.texts] == [name] * short
    assert keys(figure) == [name] * (not short)


def test_names_of_lines_in_several_panels_stand_in_the_legend_once():
    line = Layer("line", X, X, end="both", look={"color": "red"})
    assert keys(of([line], [line])) == ["both"]


def test_panels_share_a_scale_unless_one_would_be_small():
    small, large = (Layer("line", X, times * X) for times in (1.0, 100.0))
    near = of([small], [Layer("line", X, 2 * X)], shared="y")
    far = of([small], [large], shared="y")
    assert len({axes.get_ylim() for axes in near.axes}) == 1
    assert len({axes.get_ylim() for axes in far.axes}) == 2


def test_names_of_axes_stand_at_the_left_and_below_alone():
    figure = of(*[[Layer("line", X, X)] for _ in range(3)])
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "x", "x"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["y", "", "y"]


def test_a_mark_without_numbers_is_in_the_legend_alone():
    figure = of(
        [Layer("line", name="a key", look={"color": "red"}), measured(X, np.tile(X, (3, 1)))]
    )
    assert keys(figure) == ["a key"]
    assert len(figure.axes[0].lines) == len(figure.axes[0].containers[0].lines[1]) + 1


def test_legends_have_as_many_columns_as_have_room():
    assert legend_columns(["a", "b"], 6.5) == 2
    assert legend_columns(["m" * 60, "n" * 60], 6.5) == 1
    assert legend_columns([r"$\lambda_i / \Sigma\lambda$"] * 3, 6.5) == 3
