"""The drawer: what a declaration says is seen, once, and where a reader looks for it."""

import csv
import io
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text

from analysis.papers import by_iteration
from asyncdp_sim.figures import changes, style
from asyncdp_sim.figures import picture as pictures
from asyncdp_sim.figures.convergence import (
    CurveLine,
    by_update,
    line_looks,
    medians,
    quartile_marks,
)
from asyncdp_sim.figures.drawer import (
    LONGEST_AT_END,
    Declaration,
    Layer,
    Panel,
    Side,
    draw,
    legend_columns,
    measured,
    reaches_zero,
)
from asyncdp_sim.figures.picture import as_csv, save
from asyncdp_sim.results import Result
from asyncdp_sim.results.columns import summary, tables
from tests.unit.figures.looks import faults
from tests.unit.figures.made import made, sweep_of, texts, write_table

X = np.array([1.0, 2.0, 3.0])


def keys(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def of(*panels: list[Layer], **more: object) -> Figure:
    several = [Panel(marks, Side("x"), Side("y")) for marks in panels]
    return draw(Declaration(several, **more))  # type: ignore[arg-type]


def test_a_note_stands_above_the_label_and_neither_covers_the_other():
    said = Declaration([Panel([Layer("line", X, X)], Side("x"), Side("y"))], note="A term. " * 20)
    figure = draw(said, 3.4, "Private as claimed.", "#ff0000")
    figure.draw_without_rendering()
    [label] = [each for each in figure.artists if isinstance(each, Text)]
    drawn = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    below, axis = (each.get_window_extent(drawn) for each in (label, figure.axes[0].xaxis.label))
    assert figure.get_supxlabel().startswith("A term. A term.")
    assert figure.get_supxlabel().endswith("\n")  # a line for the label, below the note
    assert label.get_text() == "Private as claimed."
    assert 0 < below.y0 < below.y1 < axis.y0
    assert label.get_color() == "#ff0000"


def test_a_name_has_one_key_for_each_look():
    law = [Layer("line", X, X, name="law", look={"color": tone}) for tone in ("red", "blue", "red")]
    band = Layer("band", X, None, X, X + 1, "band", look={"color": "red"})
    assert keys(of([*law, band], [*law, band])) == ["law", "law", "band"]


@pytest.mark.parametrize("letters", [LONGEST_AT_END, LONGEST_AT_END + 1])
def test_long_names_stand_in_the_legend_and_short_ones_at_the_ends_of_lines(letters):
    """And in the legend, once, if panels are several."""
    line = Layer("line", X, X, end="n" * letters, look={"color": "red"})
    short = letters <= LONGEST_AT_END
    figure = of([line])
    assert [text.get_text() for text in figure.axes[0].texts] == [line.end] * short
    assert keys(figure) == [line.end] * (not short)
    assert keys(of([line], [line])) == [line.end]


def test_panels_share_a_scale_unless_one_would_be_small():
    small, large = (Layer("line", X, times * X) for times in (1.0, 100.0))
    near = of([small], [Layer("line", X, 2 * X)], shared="y")
    assert len({axes.get_ylim() for axes in near.axes}) == 1
    assert len({axes.get_ylim() for axes in of([small], [large], shared="y").axes}) == 2


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


# The check that every picture is held to sees cut-off text and overlaps.


def test_faults_are_seen():
    """Planted: text beyond the frame, a label on the axes, axes on one another."""
    figure = style.sheet(6.5, 4.0)
    axes, other = figure.subplots(2, sharex=True)
    axes.text(1.3, 0.5, "beyond", transform=axes.transAxes)
    figure.text(0.5, 0.5, "on them")
    said = faults(figure)
    assert any("cut off" in each for each in said)
    assert any("Text" in each and " and " in each for each in said)
    other.set_position(axes.get_position())
    assert len(faults(figure)) > len(said)


def test_labels_hidden_for_want_of_room_come_back_and_names_of_rows_never_go():
    figure = style.sheet(6.5, 1.4)
    axes = figure.add_subplot()
    axes.set_yticks(range(30), ["a name", *map(str, range(1, 30))])
    figure.draw_without_rendering()
    names, *numbers = (tick.label1 for tick in axes.yaxis.get_major_ticks())
    assert names.get_visible()
    assert not all(text.get_visible() for text in numbers)
    figure.set_size_inches(6.5, 8.0)
    figure.draw_without_rendering()
    assert all(text.get_visible() for text in numbers)


def test_printed_names_are_broken_by_the_letters_that_are_seen():
    assert style.broken(r"$\psi(\theta_{L,k})$ of these, below", 1.7) == (
        r"$\psi(\theta_{L,k})$ of these, below"
    )
    assert style.broken("first half of it, where n = 5", 1.2) == "first half of it,\nwhere n = 5"
    assert style.broken("one half of this, and quite a lot more, n = 5", 1.4) == (
        "one half of this, and\nquite a lot more, n = 5"
    )


# Lines of figures: what is left out, which intervals are drawn, and where ticks stand.


def declared(*marks: Layer, log: bool = False) -> Declaration:
    return Declaration([Panel(marks, Side(), Side(log=log))])


def test_what_is_not_finite_is_left_out_and_unknown_ends_have_no_stroke():
    value, low, high = [1.0, np.inf, 3.0, 4.0], [0.5, 1.0, np.nan, 2.0], [2.0, np.inf, 5.0, np.inf]
    [axes] = draw(declared(measured(np.arange(4), np.array([value, low, high])))).axes
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
    assert not reaches_zero(declared(line))
    assert reaches_zero(declared(line, log=True))
    [axes] = draw(declared(line, log=True)).axes
    [arrow] = [line for line in axes.lines if line.get_gid() is not None]
    assert arrow.get_xdata() == [1]
    assert arrow.get_ydata() == [axes.get_ylim()[0]]
    assert axes.get_ylim()[0] > 0.1
    assert not reaches_zero(declared(measured([1], np.array([[1.0], [0.5], [2.5]])), log=True))


def test_text_of_any_line_can_be_read_and_lines_have_markers():
    shades = [*style.colours(7), *style.colours(12)]
    assert min(map(style.contrast, shades)) < 2.5
    assert min(style.contrast(style.legible(shade)) for shade in shades) >= 4.5
    assert style.legible("#000000") == "#000000"
    assert "marker" not in line_looks(1)[0]
    assert len({look["marker"] for look in line_looks(3)}) == 3
    ten = [look["marker"] for look in line_looks(10)]
    assert len(set(zip(ten, style.colours(10), strict=True))) == 10
    assert all(first != second for first, second in itertools.pairwise(ten))


@pytest.mark.parametrize(
    ("lines", "apart", "shown"), [(4, 0.0, True), (5, 1.0, True), (5, 0.0, False), (8, 1.0, False)]
)
def test_bands_are_drawn_and_named_unless_they_hide_one_another(lines, apart, shown):
    curves = [
        (np.arange(3), np.tile([[1.0], [1.2], [1.4]], 3) + apart * line) for line in range(lines)
    ]
    [axes] = draw(declared(*quartile_marks(curves, [""] * lines, line_looks(lines)))).axes
    assert len(axes.collections) == lines * shown
    assert ("band" in medians(curves)) == shown


# Boxes at every iteration: their ends are quartiles, their lines black.

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
    assert {"ε = 1", "ε = 0.1", "median", "25–75 %"} <= set(texts(picture))


def test_its_table_and_caption_say_the_same(tmp_path, reads):
    """Of 1 to 5: quartiles 2 and 4, median 3, halved at each iteration."""
    reads(by_iteration([line(tmp_path / "a", 1.0, "ε = 1")], name="figure-2"))


def test_a_run_that_overflowed_is_drawn_without_that_point(tmp_path):
    made_line = line(tmp_path / "a", 1.0, "ε = 1")
    frame = made_line.result.frame("curve")
    frame.loc[frame["k"] == 3, "relative_fitness"] = np.nan
    write_table(tmp_path / "a", "curve", frame)
    picture = by_iteration([made_line])
    assert np.isinf(picture.table["relative_fitness_median"][3])
    picture.figure.canvas.draw()


# Logarithmic axes of runs that diverged: they end, and a reader is told what lies beyond.

ROOT = Path(__file__).resolve().parents[3]
LARGEST = 1.6e308  # a linear axis, as all are at first, has its margin above


@pytest.mark.parametrize("top", [1e99, 6.76e287, 1e307, LARGEST, np.inf])
@pytest.mark.parametrize("side", ["x", "y", "xy"])
@pytest.mark.long
def test_an_axis_is_drawn_whatever_has_diverged(top, side):
    values = np.array([0.05, 1.0, top])
    x, y = (values if each in side else np.arange(3.0) for each in "xy")
    mark = Layer("line", x, y)
    said = Declaration([Panel([mark], Side(log="x" in side), Side(log="y" in side))])
    for before in (True, False):
        if before:
            figure = style.sheet(6.5, 3.6)
            axes = figure.add_subplot()
            style.log_axis(axes, side)
            axes.plot(x, y)
        else:
            figure = draw(said)
            [axes] = figure.axes
        with style.laid_out(figure, 50):
            figure.draw_without_rendering()
        for each in side:
            low, high = getattr(axes, f"get_{each}lim")()
            assert 0 < low <= 0.05
            assert high == (style.LOG_MOST if np.isfinite(top) else high) <= style.LOG_MOST
        assert style.leaves_frame(figure) is bool(np.isfinite(top))


def test_an_axis_of_what_did_not_diverge_is_as_matplotlib_has_it():
    limits = []
    for make in (style.log_axis, lambda axes: axes.set_yscale("log")):
        figure = style.sheet(6.5, 3.6)
        axes = figure.add_subplot()
        axes.plot([1, 2, 3], [1e-3, 2.0, 5e6])
        make(axes)
        figure.draw_without_rendering()
        limits.append((*axes.get_ylim(), *axes.get_yticks(), *axes.yaxis.get_minorticklocs()))
        assert not style.leaves_frame(figure)
    assert limits[0] == pytest.approx(limits[1], rel=1e-12)


def test_a_sweep_whose_runs_diverged_is_drawn_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "run_settings", lambda _: "")  # of the runs, made by hand here
    ends = dict(zip("abcde", (6.76e287, 2.5e176, 0.05, np.inf, LARGEST), strict=True))
    cells = [{"values": {"variant": name}, "psi": [psi] * 3} for name, psi in ends.items()]
    sweep = sweep_of(tmp_path, cells)
    results = [cell.result for cell in sweep.cells]
    for picture in (
        changes.SETTINGS.picture(sweep),
        by_update([CurveLine(cell.result, cell.values["variant"]) for cell in sweep.cells]),
    ):
        save(picture, tmp_path)
        assert pictures.BEYOND in pictures.captions_page([(picture, results)], [])
    [axes] = changes.SETTINGS.picture(sweep).figure.axes
    [arrows] = [line for line in axes.lines if line.get_gid() == style.AT_END]
    labels = dict(zip(axes.get_yticks(), axes.get_yticklabels(), strict=True))
    assert [labels[at].get_text() for at in arrows.get_ydata()] == ["a", "b", "d", "e"]
    assert f"beyond {style.LOG_MOST:.0e}" == "beyond 1e+30"
    assert "exceed 10³⁰" in pictures.BEYOND


def test_figures_make_their_axes_logarithmic_in_one_place():
    """An axis that is made so elsewhere would not end before floating point does."""
    made_so = re.compile(r"set_[xyz]scale\(|[xyz]?scale=\"log\"|semilog|loglog")
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in ("asyncdp_sim", "analysis", "scenarios")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if made_so.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


# No cell of a figure's table is a formula to a spreadsheet.

NAMES = ["=1+1", "+2", "-3 beds", "@here", "\tx", "plain", "a=b", ""]


@pytest.mark.parametrize("kind", [object, np.str_])
def test_names_that_begin_like_one_stand_behind_an_apostrophe(kind):
    text = as_csv({"owner": np.array(NAMES, dtype=kind), "-x": np.arange(-4.0, 4.0)})
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["owner", "'-x"]
    assert not any(row[0].startswith(("=", "+", "-", "@", "\t")) for row in rows)
    assert [row[0].removeprefix("'") for row in rows] == NAMES
    assert [float(row[1]) for row in rows] == list(range(-4, 4))


# Names of ψ are one dictionary, which every column of a picture is named from.

NAME = r"(?:psi|relative_fitness)(?:_\w+)?"
NAMED = re.compile(rf"\"({NAME})\"|\b({NAME})=(?!=)")  # a text, or the name of an argument
PSI = {
    name.partition(".")[0]
    for name in (*summary(), *(column.name for t in tables().values() for column in t.columns))
    if re.fullmatch(rf"{NAME}(\.\w+)?|profits_psi", name)
}
OF_PARTS = r"(_(mean|median|q25|q75|expected))?(_(low|high))?"


def test_columns_of_pictures_are_named_from_the_dictionary():
    folders = (ROOT / "asyncdp_sim" / "figures", ROOT / "analysis")
    text = "\n".join(p.read_text() for folder in folders for p in folder.rglob("*.py"))
    known = re.compile(rf"({'|'.join(PSI)}){OF_PARTS}")
    found = {quoted or given for quoted, given in NAMED.findall(text)} - FORECAST
    assert {"psi_alone", "psi_final_mean", "psi_final_median", "relative_fitness"} <= found
    assert [name for name in sorted(found) if known.fullmatch(name) is None] == []


FORECAST = {"psi"}
"""Keys of ``asyncdp forecast --json``, which are of what is expected."""
