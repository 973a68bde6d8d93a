"""Pictures as they are saved, and the words of the analyses."""

import csv
import io
import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.core.words import number, numbers
from asyncdp_sim.figures import Result, convergence, traces
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.draw import draw_named
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side, draw
from asyncdp_sim.figures.picture import UNDATED, Paper, Picture, as_csv, inline, save
from asyncdp_sim.figures.style import VERMILION, colours, laid_out, spread, style
from asyncdp_sim.runs.directory import write
from asyncdp_sim.sentences.label import Label

# A picture is saved as matplotlib would save it, with half of the work.


@pytest.fixture
def drawings(monkeypatch):
    """Give the figures that are drawn, in turn."""
    drawn: list[Figure] = []
    draw = Figure.draw

    def noted(self: Figure, renderer: object) -> None:
        drawn.append(self)
        draw(self, renderer)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "draw", noted)
    return drawn


def by_matplotlib(picture: Picture) -> bytes:
    drawn = io.BytesIO()
    metadata = UNDATED["png"]["metadata"] | {"Title": picture.said.title}
    with style():
        picture.figure.savefig(drawn, format="png", **(UNDATED["png"] | {"metadata": metadata}))
    return drawn.getvalue()


PICTURES: dict[str, Callable[[Result], Picture]] = {
    "with a legend": lambda result: convergence.by_update([CurveLine(result)]),
    "with a title": traces.SHARES.of,
}


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.long
def test_it_is_drawn_once_and_has_the_bytes_of_a_figure_that_lays_itself_out(
    name, drawn_result, tmp_path, drawings
):
    result = Result.read(drawn_result)
    expected = by_matplotlib(PICTURES[name](result))
    assert len(drawings) == 2
    drawings.clear()
    picture = PICTURES[name](result)
    dpi, layout = picture.figure.dpi, picture.figure.get_layout_engine()
    assert save(picture, tmp_path).read_bytes() == expected
    assert drawings == [picture.figure]
    assert (picture.figure.dpi, picture.figure.get_layout_engine()) == (dpi, layout)
    assert save(picture, tmp_path).read_bytes() == expected  # and once more


@pytest.mark.long
def test_in_a_page_too(drawn_result, drawings):
    picture = traces.SHARES.of(Result.read(drawn_result))
    inline(picture, "p", 10**9)
    assert drawings == [picture.figure]


LEAST, COLUMN = 7.0, 3.4


@pytest.mark.long
def test_for_print_letters_are_large_enough_and_nothing_overlaps(outcome, tmp_path):
    write(outcome, tmp_path / "cell-0000")
    result = Result.read(tmp_path / "cell-0000")
    marks = [Layer("level", y=1.0, name="equal shares")]
    panel = Panel(marks, Side("owner"), Side("share of the updates"), "a network of a long name")
    panels = replace(traces.SHARES.of(result), said=Declaration([panel, panel], (7.2, 3.0)))
    for picture in (
        convergence.by_update([CurveLine(result, f"line {n}") for n in range(2)]),
        panels,
        traces.BY_TIME.of(result),
    ):
        figure = replace(picture, width=COLUMN).figure
        figure.draw_without_rendering()  # where the fixture looks at it
        sizes = [
            text.get_fontsize()
            for text in figure.findobj(Text)
            if text.get_visible() and text.get_text() != ""
        ]
        assert min(sizes) >= LEAST
        assert figure.get_figwidth() == COLUMN
    first, second = panels.figure.axes
    assert first.get_position().y0 == second.get_position().y0
    stacked = replace(panels, width=COLUMN)
    stacked.figure.draw_without_rendering()
    first, second = stacked.figure.axes
    assert first.get_position().y0 > second.get_position().y1
    assert first.get_ylabel() == second.get_ylabel() == "share of the updates"


def test_names_at_line_ends_and_tick_labels_do_not_touch_in_a_column():
    lines = [
        Layer("line", [0, 12], [0.5, 0.5], end=name, look={"color": shade})
        for name, shade in zip(("one", "two", "three", "four"), colours(4), strict=True)
    ]
    across = Side(limits=(0, 12), ticks=range(12), labels=["6,400"] * 12)
    figure = draw(Declaration([Panel(lines, across, Side())], (6.5, 2.5)), COLUMN)
    [axes] = figure.axes
    with style(), laid_out(figure, 100):
        texts = [*axes.get_xticklabels(), *axes.texts]
        shown = [text for text in texts if text.get_visible()]
        boxes = [text.get_window_extent().padded(-0.01) for text in shown]  # edges may touch
    assert {text.get_text() for text in shown} == {"6,400", "one", "two", "three", "four"}
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


@pytest.mark.long
def test_a_style_sheet_changes_what_is_drawn_and_is_forgotten(result, tmp_path):
    plain, file = draw_named(result, "svg"), tmp_path / "serif.mplstyle"
    before = [path.read_text() for path in plain.pictures]
    file.write_text("font.family: serif\n")
    styled = draw_named(result, "svg", sheet=file)
    assert all(path.read_text() != old for path, old in zip(styled.pictures, before, strict=True))
    assert [path.read_text() for path in draw_named(result, "svg").pictures] == before
    file.write_text("font.size: large and thin\n")
    for unread in (file, tmp_path / "absent"):
        with pytest.raises(ResultError, match="style sheet"):
            draw_named(result, sheet=unread)


@pytest.mark.long
@pytest.mark.parametrize(
    ("file_format", "starts"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")]
)
def test_files_have_their_format_and_are_alike(file_format, starts, drawn_result, tmp_path):
    paper = Paper(file_format, COLUMN)
    first, second = (
        save(traces.SHARES.of(Result.read(drawn_result)), tmp_path / place, paper) for place in "ab"
    )
    assert first.suffix == f".{file_format}"
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(starts)
    if file_format == "pdf":
        assert b"/CIDFontType2" in first.read_bytes()
        assert b"/Type3" not in first.read_bytes()


SAID = Label("NOT PRIVATE as claimed: a reason.", False, np.inf, None, True, False)


def test_no_picture_is_without_its_label():
    said = Declaration([Panel([], Side(ticks=()), Side(ticks=()))])
    picture = Picture("some", said, {"x": np.array([1, 2])}, "What is shown.", SAID)
    [text] = [found for found in picture.figure.findobj(Text) if found.get_text()]
    assert text.get_text() == SAID.text
    assert text.get_color() == VERMILION
    with pytest.raises(TypeError, match="label"):
        Picture("some", Declaration([]), {}, "What is shown.")  # type: ignore[call-arg]


def test_its_numbers_carry_the_label_too():
    picture = Picture("some", Declaration([]), {"x": np.array([1, 2])}, "", SAID)
    rows = list(csv.DictReader(io.StringIO(as_csv(picture.labelled()))))
    same = {"private": "False", "epsilon_true": "inf", "delta": "", "timing_accounted": "True"}
    same |= {"release": "False", "epsilon_at_least": "False", "models_private": "False"}
    assert rows == [{"x": x} | same for x in ("1", "2")]
    own = {"private": np.array([True, False])}
    labelled = Picture("some", Declaration([]), own, "", SAID).labelled()
    assert list(labelled["models_private"]) == [True, False]  # row by row where the table says so
    assert list(labelled["private"]) == [False, False]  # no ε covers exact values
    assert list(labelled["epsilon_true"]) == [np.inf, np.inf]
    times = Picture("some", Declaration([]), own, "", SAID, exact=False).labelled()
    assert list(times["private"]) == [True, False]
    assert "models_private" not in times


@pytest.mark.parametrize(
    ("heights", "gap", "placed"),
    [
        ([0.9, 0.1], 0.05, [0.9, 0.1]),
        ([0.5, 0.5, 0.5, 0.9], 0.1, [0.4, 0.5, 0.6, 0.9]),
        ([0.4, -0.1, 0.0, 0.5], 0.1, [0.4, 0.0, 0.1, 0.5]),  # none is below the axes
        ([-0.15, -0.05, 0.05], 0.1, [0.0, 0.1, 0.2]),
    ],
)
def test_names_are_spread_and_keep_their_order(heights, gap, placed):
    np.testing.assert_allclose(spread(heights, gap), placed, atol=1e-15)


def test_spread_names_have_room():
    drawn = spread(list(np.random.default_rng(3).random(12)), 0.06)
    assert np.diff(sorted(drawn)).min() >= 0.06 - 1e-12


def test_numbers_are_short():
    shown = [number(x) for x in (250000, 0.1, 1132.6, float("inf"), 1e-5)]
    assert shown == ["250,000", "0.1", "1,133", "∞", "1e-05"]
    assert numbers([3, 1, 1]) == "1, 3"
    assert numbers(range(1, 9)) == "1 to 8"
