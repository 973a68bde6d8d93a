"""Pictures as they are saved, alone and in the directories of results and sweeps."""

import io
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from pyarrow.csv import read_csv

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.core.units import to_units
from asyncdp_sim.core.words import number, numbers
from asyncdp_sim.figures import Result, Sweep, convergence, draw_all, traces
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.draw import draw_forecast, draw_named
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side, draw
from asyncdp_sim.figures.gains import pictures
from asyncdp_sim.figures.picture import UNDATED, Paper, Picture, as_csv, inline, save
from asyncdp_sim.figures.style import VERMILION, colours, laid_out, spread, style
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.reports import page
from asyncdp_sim.results import read_table
from asyncdp_sim.runs.run import write
from asyncdp_sim.sentences import forecast as words
from asyncdp_sim.sentences.label import Label
from asyncdp_sim.theory.predict.update_order import GapLaw
from asyncdp_sim.trace import ExchangeOutcome
from tests.manifests import changed
from tests.unit.figures.made import curve, made, scenario, texts, write_table
from tests.verification import test_exact_moments as small

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


def test_its_numbers_carry_the_label_too(reads):
    picture = Picture("some", Declaration([]), {"x": np.array([1, 2])}, "", SAID)
    reads(as_csv(picture.labelled()))
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
    assert [numbers([3, 1, 1]), numbers(range(1, 9))] == ["1, 3", "1 to 8"]


# Figures of results and sweeps, drawn into their directories.


def captions(directory: Path) -> str:
    """Return the page of a result's figures, which are all beside it, each with its numbers."""
    folder = directory / "figures"
    page = (folder / "captions.md").read_text(encoding="utf-8")
    names = re.findall(r"^## (.*)\.png$", page, re.M)
    for name in names:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.csv").stat().st_size > 50
    assert len(list(folder.iterdir())) == 2 * len(names) + 1
    return page


def table_of(folder: Path, name: str) -> pd.DataFrame:
    """Return the numbers of a picture, with all their digits."""
    return read_csv(folder / f"{name}.csv").to_pandas()


@pytest.mark.long
def test_everything_is_drawn_with_numbers_and_captions(drawn_result, swept, reads):
    drawing = draw_all(swept)
    page = captions(swept)
    assert all(f"## {path.name}\n" in page for path in drawing.pictures)
    assert all(f"- {note}\n" in page for note in drawing.notes)
    reads(captions(drawn_result), page)


def test_quartiles_are_those_of_the_curve(drawn_result):
    drawn = table_of(drawn_result / "figures", "convergence-by-update")
    by_k = read_table(drawn_result, "curve").groupby("k")["relative_fitness"]
    final = Result.read(drawn_result).summary["psi_final"]
    assert list(drawn["k"]) == list(range(61))
    for part, share in (("q25", 0.25), ("median", 0.5), ("q75", 0.75)):
        column = drawn[f"relative_fitness_{part}"]
        np.testing.assert_allclose(column, by_k.quantile(share), rtol=1e-12)
        assert column.iloc[-1] == pytest.approx(final[part], rel=1e-12)


def test_over_time_every_replicate_is_a_step_function(drawn_result):
    drawn = table_of(drawn_result / "figures", "convergence-by-time")
    curve = read_table(drawn_result, "curve")
    for row in (0, 57, 200, 399):
        now = curve[curve["time"] <= drawn["time"][row]]
        last = now.groupby("replicate")["relative_fitness"].last()
        assert len(last) == 7
        assert drawn["relative_fitness_median"][row] == pytest.approx(last.median(), rel=1e-12)
    assert drawn["time"].iloc[-1] == curve["time"].max()


def test_timing_shows_the_updates(drawn_result):
    updates = read_table(drawn_result, "updates").query("replicate == 1")
    for name in ("timing-by-update", "timing-by-time"):
        for column in ("k", "time", "owner"):
            assert list(table_of(drawn_result / "figures", name)[column]) == list(updates[column])
    assert list(traces.window(Result.read(drawn_result), 3, 11, 20)["k"]) == list(range(11, 21))
    with pytest.raises(ResultError, match="no updates k = 100 to 199 of replicate 3"):
        traces.window(Result.read(drawn_result), 3, 100, 199)


def test_gaps_and_shares_agree_with_the_measures(drawn_result, outcome):
    expected = np.concatenate(
        [to_units(np.diff(trace.update_ticks, prepend=0)) for trace in outcome.traces]
    )
    np.testing.assert_array_equal(traces.gaps(Result.read(drawn_result)), expected)
    drawn = table_of(drawn_result / "figures", "gaps")
    survival = [(expected > t).mean() for t in drawn["t"]]
    np.testing.assert_allclose(drawn["survival"], survival, atol=1e-12)
    np.testing.assert_allclose(drawn["law"], np.exp(-3 * drawn["t"]), rtol=1e-12)
    applied = [trace.ended(ExchangeOutcome.applied) for trace in outcome.traces]
    share = np.mean([count / count.sum() for count in applied], axis=0)
    np.testing.assert_allclose(
        table_of(drawn_result / "figures", "shares")["share"], share, rtol=1e-12
    )


def test_the_distance_between_distributions_is_kolmogorovs():
    from scipy.stats import kstest

    observed = np.random.default_rng(1).exponential(0.25, 50)
    found = traces.distance(observed, GapLaw(rate=4.0, n_gaps=50))
    assert found == pytest.approx(kstest(observed, "expon", args=(0, 0.25)).statistic, rel=1e-12)


@pytest.mark.long
def test_nothing_is_drawn_of_a_run_that_is_not_private_without_saying_so(result):
    with changed(result) as manifest:
        manifest["summary"] |= {"private": False, "epsilon_true": "inf"}
        manifest["warnings"] = ["not private: a planted fault: in words"]
    opened = Result.read(result)
    lines = [CurveLine(opened)]
    pictures = [convergence.by_update(lines), convergence.by_time(lines)]
    pictures += [each.of(opened) for each in traces.ALL if each.why_not(opened) is None]
    for picture in pictures:
        said = [text.replace("\n", " ") for text in texts(picture)]
        assert any("NOT PRIVATE" in each and "a planted fault" in each for each in said)
    drawn = draw_all(result).pictures
    captions = (result / "figures" / "captions.md").read_text()
    assert captions.count("NOT PRIVATE as claimed") == len(drawn) == len(pictures)
    for path in drawn:
        rows = table_of(result / "figures", path.stem)
        assert set(zip(rows["private"], rows["epsilon_true"], strict=True)) == {(False, np.inf)}


def test_lines_of_a_sweep_are_named_where_they_end(swept, reads):
    sweep = Sweep.read(swept)
    lines = [CurveLine(cell.result, cell.label(sweep.paths), 0.1) for cell in sweep.cells]
    reads(convergence.by_update(lines))


def test_polars_axis_has_its_own_name(tmp_path, reads):
    curve(made(tmp_path / "cell", said={**scenario(), "source": "POLAR, figure 3"}), [0.5, 0.6])
    picture = convergence.by_update([CurveLine(Result.read(tmp_path / "cell"), "Δ = 10")])
    reads(picture)
    [corner] = [text for text in texts(picture.of("made")) if "Private" in text]
    assert corner.startswith("made. Private as claimed")


@pytest.mark.long
def test_long_names_have_room(swept):
    words = "availability = outages, groups [[1], [2], [3], [4], [5], [6]], gap exponential, mean "
    name = f"{words}200, length exponential, mean 100, of all owners, {words}"
    for figure in (convergence.by_update, convergence.by_time):
        cells = Sweep.read(swept).cells[:2]
        picture = figure(
            [CurveLine(cells[0].result, f"{words}10"), CurveLine(cells[1].result, name)]
        )
        assert set(picture.table["line"]) == {f"{words}10", name}
        with style():
            picture.figure.canvas.draw()
            [legend] = picture.figure.legends
            assert legend.get_window_extent().x1 <= picture.figure.bbox.width
        said = [text.get_text() for text in legend.get_texts()]
        assert said[1].endswith(" …")
        assert "…" not in said[0]


@pytest.mark.parametrize(("stretch", "scale"), [(10, "linear"), (100, "log")])
def test_time_is_logarithmic_where_lines_end_far_apart(stretch, scale, swept):
    near, far, _ = Sweep.read(swept).cells
    curve = read_table(far.result.directory, "curve")
    curve["time"] *= stretch
    write_table(far.result.directory, "curve", curve)
    picture = convergence.by_time([CurveLine(near.result, "near"), CurveLine(far.result, "far")])
    [axes] = picture.figure.axes
    assert axes.get_xscale() == scale
    assert picture.table["time"][picture.table["line"] == "far"][-1] == curve["time"].max()
    assert ("logarithmic axis from t = " in picture.caption) == (scale == "log")


@pytest.mark.long
def test_without_updates_the_rest_is_drawn(result, reads):
    (result / "updates.parquet").unlink()
    draw_all(result)
    reads(captions(result))


def test_a_run_that_diverges_is_drawn(result):
    curve = read_table(result, "curve")
    curve.loc[(curve["replicate"] <= 2) & (curve["k"] > 30), "relative_fitness"] = np.inf
    curve.loc[(curve["replicate"] == 3) & (curve["k"] > 40), "relative_fitness"] = np.nan
    write_table(result, "curve", curve)
    picture = convergence.by_update([CurveLine(Result.read(result))])
    save(picture, result)
    assert np.isinf(picture.table["relative_fitness_q75"][-1])
    assert np.isfinite(picture.table["relative_fitness_q25"]).all()


@pytest.mark.long
def test_another_process_draws_the_same_bytes_and_touches_nothing_global(result, drawn_result):
    code = (
        "import sys; from matplotlib import rcParams\n"
        "def now(): return {k: rcParams[k] for k in rcParams if k != 'backend'}\n"
        "sys.argv[1:1] = ['plot']\n"
        "before = now(); from asyncdp_sim.cli import app; app(standalone_mode=False)\n"
        "assert 'matplotlib.pyplot' not in sys.modules; assert now() == before"
    )  # asking for the backend would itself import pyplot
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-W", "error", "-c", code, str(result)]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    first, second = (
        {path.name: path.read_bytes() for path in (directory / "figures").iterdir()}
        for directory in (drawn_result, result)
    )
    assert first == second
    assert {Path(line).name for line in done.stdout.splitlines()} == {
        name for name in first if name.endswith(".png")
    }


def test_what_takes_no_time_is_not_drawn_over_it(result, reads):
    """As rounds without latencies: all updates are at 0 then."""
    with changed(result) as manifest:
        manifest["summary"]["simulated_time"] = 0.0
    draw_all(result)
    reads(captions(result))


# A forecast's pictures: its numbers, its label, and files that are none.


def test_a_forecast_is_drawn_with_its_numbers_and_its_label(tmp_path):
    found = forecast(small.scenario(), target=0.05)
    (tmp_path / "f.json").write_text(words.as_json(found), encoding="utf-8")
    names = ["forecast-over-time", "forecast-owners", "forecast-by-epsilon"]
    assert [path.stem for path in draw_forecast(tmp_path / "f.json")] == names
    curve = table_of(tmp_path, "f/forecast-over-time")
    assert curve["expected_psi"].iloc[-1] == found.curve[-1] == pytest.approx(found.psi)
    assert curve["time"].iloc[-1] == pytest.approx(found.time)
    owners = table_of(tmp_path, "f/forecast-owners")
    gains = sorted((owner.gain.gain.value for owner in found.gains.owners), reverse=True)
    assert owners["gain"].tolist() == gains
    assert owners["release"].all()


def older(raw):
    """Return a forecast of private rows as versions before wrote it, without ``release``."""
    return {key: value for key, value in raw.items() if key != "release"} | {
        "not_for_release": True
    }


@pytest.mark.parametrize("written", [lambda raw: raw | {"release": False}, older])
def test_a_forecast_from_private_data_says_so(tmp_path, written):
    raw = json.loads(words.as_json(forecast(small.scenario())))
    assert raw["release"] is True
    (tmp_path / "f.json").write_text(json.dumps(written(raw)), encoding="utf-8")
    draw_forecast(tmp_path / "f.json")
    assert not table_of(tmp_path, "f/forecast-owners")["release"].any()
    assert '<meta name="release" content="false">' in page([tmp_path / "f.json"])


def test_owners_have_colour_and_shape_by_verdict():
    raw = json.loads(words.as_json(forecast(small.scenario())))
    verdicts = ["gains", "does worse", "undecided"][: len(raw["owners"])]
    for owner, verdict in zip(raw["owners"], verdicts, strict=True):
        owner["verdict"] = verdict
    [_, picture, _] = pictures(raw)
    assert sorted(picture.table["verdict"].tolist()) == sorted(verdicts)
    said = "of 3 owners: 1 gain, 1 do worse, 0 no material difference, 1 undecided"
    assert picture.said.title.endswith(said)


@pytest.mark.parametrize("text", ["", "[]", "{}", "no JSON"])
def test_what_is_no_forecast_is_refused_in_one_line(tmp_path, text):
    (tmp_path / "f.json").write_text(text, encoding="utf-8")
    with pytest.raises(ResultError, match=r"to write one: asyncdp forecast SCENARIO --json > "):
        draw_forecast(tmp_path / "f.json")
