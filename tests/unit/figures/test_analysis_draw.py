import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.core.units import to_units
from asyncdp_sim.figures import Result, Sweep, convergence, draw_all, traces
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.picture import Picture, save
from asyncdp_sim.figures.style import style
from asyncdp_sim.results import read_table
from asyncdp_sim.theory.predict.update_order import GapLaw
from asyncdp_sim.trace import ExchangeOutcome
from tests.manifests import changed
from tests.unit.figures.made import curve, made, scenario, texts, write_table

CURVES = ["convergence-by-update", "convergence-by-time"]
LABEL = (
    "private", "epsilon_true", "delta", "timing_accounted", "release", "epsilon_at_least",
    "models_private",
)  # fmt: skip
NEVER_STALE = "staleness: no answer was stale"


def able(result: Result) -> list[str]:
    """Return the names of all network pictures that a result has."""
    return [figure.name for figure in traces.ALL if figure.why_not(result) is None]


def lacking(result: Result) -> tuple[str, ...]:
    """Return the notes on those that it has not: those with one reason have one note."""
    names: dict[str, list[str]] = {}
    for figure in traces.ALL:
        if (why := figure.why_not(result)) is not None:
            names.setdefault(why, []).append(figure.name.replace("-", " "))
    return tuple(f"{', '.join(some)}: {why}" for why, some in names.items())


def numbers(directory: Path, name: str) -> dict[str, np.ndarray]:
    with (directory / "figures" / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        key: np.array([float(row[key]) if row[key] else np.nan for row in rows])
        for key in rows[0]
        if key not in ("line", *LABEL)
    }


def all_pictures(result: Result) -> list[Picture]:
    lines = [CurveLine(result)]
    curves = [convergence.by_update(lines), convergence.by_time(lines)]
    able = [each for each in traces.ALL if each.why_not(result) is None]
    return [*curves, *(figure.of(result) for figure in able)]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["drawn_result", "swept"])
def test_everything_is_drawn_with_numbers_and_captions(kind, request):
    directory = request.getfixturevalue(kind)
    if kind == "swept":
        drawing, one = draw_all(directory), Sweep.read(directory).cells[0].result
        names = [*CURVES, "against", *able(one)]
        assert [path.stem for path in drawing.pictures] == names
        assert drawing.notes == lacking(one)
    else:
        names = [*CURVES, *able(Result.read(directory))]
    assert {"timing-by-update", "timing-by-time", "gaps", "shares"} <= set(names)
    paths = [directory / "figures" / f"{name}.png" for name in names]
    folder = directory / "figures"
    said = (folder / "captions.md").read_text()
    for number, path in enumerate(paths, start=1):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert f"## {path.name}\n\nFigure {number}. " in said
        assert (folder / f"{path.stem}.csv").stat().st_size > 50
    assert "N = 3 owners, n_i = 40 records, T = 60 updates, R = 7 replicates" in said
    assert not list(folder.glob("*.tmp"))
    assert len(list(folder.iterdir())) == 2 * len(names) + 1
    assert f"- {NEVER_STALE}" in said


def test_quartiles_are_those_of_the_curve(drawn_result):
    drawn = numbers(drawn_result, "convergence-by-update")
    by_k = read_table(drawn_result, "curve").groupby("k")["relative_fitness"]
    assert list(drawn["k"]) == list(range(61))
    for column, share in (
        ("relative_fitness_q25", 0.25),
        ("relative_fitness_median", 0.5),
        ("relative_fitness_q75", 0.75),
    ):
        np.testing.assert_allclose(drawn[column], by_k.quantile(share), rtol=1e-12)
    final = json.loads((drawn_result / "manifest.json").read_text())["summary"]["psi_final"]
    assert drawn["relative_fitness_median"][-1] == pytest.approx(final["median"], rel=1e-12)
    assert drawn["relative_fitness_q75"][-1] == pytest.approx(final["q75"], rel=1e-12)


def test_over_time_every_replicate_is_a_step_function(drawn_result):
    drawn = numbers(drawn_result, "convergence-by-time")
    curve = read_table(drawn_result, "curve")
    for row in (0, 57, 200, 399):
        now = curve[curve["time"] <= drawn["time"][row]]
        last = now.groupby("replicate")["relative_fitness"].last()
        assert len(last) == 7
        assert drawn["relative_fitness_median"][row] == pytest.approx(last.median(), rel=1e-12)
    assert drawn["time"][-1] == curve["time"].max()


def test_timing_shows_the_updates(drawn_result):
    updates = read_table(drawn_result, "updates").query("replicate == 1")
    for name in ("timing-by-update", "timing-by-time"):
        drawn = numbers(drawn_result, name)
        for column in ("k", "time", "owner"):
            assert list(drawn[column]) == list(updates[column])
    window = traces.window(Result.read(drawn_result), 3, 11, 20)
    assert list(window["k"]) == list(range(11, 21))
    with pytest.raises(ResultError, match="no updates k = 100 to 199 of replicate 3"):
        traces.window(Result.read(drawn_result), 3, 100, 199)


def test_gaps_and_shares_agree_with_the_measures(drawn_result, outcome):
    expected = np.concatenate(
        [to_units(np.diff(trace.update_ticks, prepend=0)) for trace in outcome.traces]
    )
    np.testing.assert_array_equal(traces.gaps(Result.read(drawn_result)), expected)
    drawn = numbers(drawn_result, "gaps")
    survival = [(expected > t).mean() for t in drawn["t"]]
    np.testing.assert_allclose(drawn["survival"], survival, atol=1e-12)
    np.testing.assert_allclose(drawn["law"], np.exp(-3 * drawn["t"]), rtol=1e-12)
    applied = [trace.ended(ExchangeOutcome.applied) for trace in outcome.traces]
    share = np.mean([count / count.sum() for count in applied], axis=0)
    np.testing.assert_allclose(numbers(drawn_result, "shares")["share"], share, rtol=1e-12)


def test_the_distance_between_distributions_is_kolmogorovs():
    from scipy.stats import kstest

    observed = np.random.default_rng(1).exponential(0.25, 50)
    found = traces.distance(observed, GapLaw(rate=4.0, n_gaps=50))
    expected = kstest(observed, "expon", args=(0, 0.25)).statistic
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.long
def test_nothing_is_drawn_of_a_run_that_is_not_private_without_saying_so(result):
    with changed(result) as manifest:
        manifest["summary"] |= {"private": False, "epsilon_true": "inf"}
        manifest["warnings"] = ["not private: a planted fault: in words"]
    for picture in all_pictures(Result.read(result)):
        said = [text.replace("\n", " ") for text in texts(picture)]
        assert any("NOT PRIVATE" in each and "a planted fault" in each for each in said)
    drawing = draw_all(result)
    captions = (result / "figures" / "captions.md").read_text()
    assert (
        captions.count("NOT PRIVATE as claimed")
        == len(drawing.pictures)
        == len(all_pictures(Result.read(result)))
    )
    for path in drawing.pictures:
        with path.with_suffix(".csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) > 0
        assert {(row["private"], row["epsilon_true"]) for row in rows} == {("False", "inf")}


def test_lines_of_a_sweep_are_named_where_they_end(swept):
    sweep = Sweep.read(swept)
    lines = [CurveLine(cell.result, cell.label(sweep.paths), 0.1) for cell in sweep.cells]
    picture = convergence.by_update(lines)
    said = texts(picture)
    assert {"ε = 0.5", "ε = 1", "ε = ∞", "published, last update"} <= set(said)
    assert any("No privacy is claimed" in text and "in 1 of 3 cells" in text for text in said)
    assert "diamonds: published end points" in picture.caption


def test_polars_axis_has_its_own_name(tmp_path):
    curve(made(tmp_path / "cell", said={**scenario(), "source": "POLAR, figure 3"}), [0.5, 0.6])
    result = Result.read(tmp_path / "cell")
    picture = convergence.by_update([CurveLine(result, "Δ = 10")])
    [axes] = picture.figure.axes
    assert axes.get_ylabel().startswith("relative sub-optimality")
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
            box = legend.get_window_extent()
        assert box.x1 <= picture.figure.bbox.width
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
def test_without_updates_the_rest_is_drawn(result):
    (result / "updates.parquet").unlink()
    drawing = draw_all(result)
    assert [path.stem for path in drawing.pictures] == [*CURVES, *able(Result.read(result))]
    assert drawing.notes == lacking(Result.read(result))
    [note] = [note for note in drawing.notes if note.endswith(": no updates.parquet was kept")]
    assert {"timing by update", "gaps"} <= set(note.partition(":")[0].split(", "))
    assert note in (result / "figures" / "captions.md").read_text()


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
    assert [Path(line).stem for line in done.stdout.splitlines()] == [
        *CURVES,
        *able(Result.read(result)),
    ]
    first, second = (
        {path.name: path.read_bytes() for path in (directory / "figures").iterdir()}
        for directory in (drawn_result, result)
    )
    assert first == second


def test_what_takes_no_time_is_not_drawn_over_it(result):
    """As rounds without latencies: all updates are at 0 then."""
    with changed(result) as manifest:
        manifest["summary"]["simulated_time"] = 0.0
    drawing = draw_all(result)
    names = {path.stem for path in drawing.pictures}
    assert {"convergence-by-update", "timing-by-update", "shares"} <= names
    assert names.isdisjoint({"convergence-by-time", "timing-by-time", "gaps"})
    assert "convergence over time: nothing takes any" in drawing.notes
    assert lacking(Result.read(result))[0] in drawing.notes
    [note] = [note for note in drawing.notes if note.endswith(": nothing takes time")]
    assert {"timing by time", "gaps"} <= set(note.partition(":")[0].split(", "))
