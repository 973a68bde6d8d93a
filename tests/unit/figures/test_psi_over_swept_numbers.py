"""Mean ψ against one swept number and over two; panels; an algorithm against another."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.papers import grid, ratios, slopes
from analysis.studies import fairness
from analysis.studies.psi_lines import Reference, beside, markers, series_of, slope, surface
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures import sweep_figure, traces
from asyncdp_sim.figures.changes import AGAINST as FIGURE
from asyncdp_sim.figures.changes import select
from asyncdp_sim.figures.sweep_figure import psi_at_end, time_to_end
from asyncdp_sim.results import Cell, Result, Sweep
from tests import tables
from tests.together import together
from tests.unit.figures.made import curve, finished, made, scenario, sweep_of

# Mean ψ against one swept number and over two, where it follows a law exactly.

RECORDS, BUDGET = "owners.records", "privacy.epsilon"
VALUES: Mapping[str, Sequence[float]] = {RECORDS: (10, 100, 1000), BUDGET: (0.1, 1.0, 10.0)}


def power(records: float, budget: float) -> float:
    """Return 400/(ε n_i²)."""
    return 400.0 / (budget * records**2)


def written(
    directory: Path,
    psi: Callable[[float, float], float] = power,
    values: Mapping[str, Sequence[float]] = VALUES,
    held: Sequence[int] = (),
) -> Sweep:
    """Write cells of two replicates with ψ of 0.5 and 1.5 times the law; Θ holds some of them."""
    cells = []
    for number, (records, budget) in enumerate(product(*values.values())):
        middle = psi(records, budget)
        summary = {"updates": 1000, "psi_final": {"mean": middle}}
        cells.append({
            "values": dict(zip(values, (records, budget), strict=True)),
            "said": {"owners": {"records": records}, "privacy": {"epsilon": budget}},
            "psi": [0.5 * middle, 1.5 * middle],
            "summary": summary | {"clip_count": 900 if number in held else 0},
            "owners": {"records": [10, 10, 10]},
        })  # fmt: skip
    return sweep_of(directory, cells)


def reference(name: str, factor: float) -> Reference:
    """Return a multiple of the law, to be drawn beside what follows it."""
    return Reference(
        name, "law", lambda cell: factor * power(cell.values[RECORDS], cell.values[BUDGET])
    )


LAW, TWICE = reference("the law", 1.0), reference("a law", 2.0)
FLAT = Reference("one level", "flat", lambda _: 3.0)
OTHER = Reference("another model", "other", lambda _: 3.0)


def test_each_series_has_its_exponent_without_cells_in_which_the_box_acts(tmp_path):
    def bent(records: float, budget: float) -> float:
        return 1e-9 if records == 1000 else power(records, budget)

    values = {RECORDS: (10, 30, 100, 1000), BUDGET: (0.1, 1.0)}
    found = series_of(written(tmp_path / "s", bent, values, held=[6, 7]), RECORDS, BUDGET)
    assert [each.name for each in found] == ["ε = 0.1", "ε = 1"]
    assert [each.slope for each in found] == pytest.approx([-2.0, -2.0])
    np.testing.assert_array_equal(found[0].inside, [True, True, True, False])


def test_a_slope_needs_three_positive_points():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    assert slope(x, 3 * x**-2) == pytest.approx(-2.0)
    assert np.isnan(slope(x, np.array([1.0, 2.0, 0.0, np.inf])))


def test_numbers_lines_and_words(tmp_path, reads):
    """Of the law 400/(ε n_i²), and a level that stands for all series."""
    picture = markers(written(tmp_path / "s"), BUDGET, RECORDS, references=(LAW, FLAT))
    reads(picture)
    lines = [line for line in picture.figure.axes[0].lines if line.get_linestyle() in ("-", "--")]
    assert len({line.get_color() for line in lines}) == len(lines) == 4
    np.testing.assert_allclose(picture.table["law"], picture.table["psi_final_mean"])


def test_chosen_series_alone_are_drawn_and_of_many_the_ends_and_the_middle(tmp_path):
    sweep = written(tmp_path / "s")
    assert [each.name for each in series_of(sweep, RECORDS, BUDGET, [1.0])] == ["ε = 1"]
    with pytest.raises(ResultError, match="no cell with the chosen values"):
        series_of(sweep, RECORDS, BUDGET, [7.0])
    values = {RECORDS: (10, 100), BUDGET: tuple(map(float, range(1, 10)))}
    found = series_of(written(tmp_path / "many", values=values), RECORDS, BUDGET)
    assert [each.name for each in found] == ["ε = 1", "ε = 5", "ε = 9"]


def test_means_slopes_and_ratios_are_the_laws(tmp_path):
    found = grid(written(tmp_path / "s"), RECORDS, BUDGET)
    assert found.psi.shape == (3, 3, 3)
    np.testing.assert_allclose(found.psi[1, 2, 0], power(100, 10.0))
    assert slopes(found) == pytest.approx((-2.0, -1.0))
    np.testing.assert_allclose(ratios(found, TWICE), 0.5)


def test_cells_in_which_the_box_acts_are_left_out_of_fits(tmp_path):
    def bent(records: float, budget: float) -> float:
        return 7.0 if (records, budget) == (10, 0.1) else power(records, budget)

    held = grid(written(tmp_path / "held", bent, held=[0]), RECORDS, BUDGET)
    assert slopes(held) == pytest.approx((-2.0, -1.0))
    assert np.count_nonzero(held.inside) == len(ratios(held, TWICE)) == 8
    assert slopes(grid(written(tmp_path / "free", bent), RECORDS, BUDGET))[0] > -1.9


def test_over_two_numbers_table_caption_and_legend_say_what_is_drawn(tmp_path, reads):
    reads(surface(written(tmp_path / "s", held=[0]), RECORDS, BUDGET, (TWICE, OTHER)))


def test_what_has_diverged_is_left_out(tmp_path):
    def lost(records: float, budget: float) -> float:
        return np.inf if records == 10 else power(records, budget)

    picture = surface(written(tmp_path / "s", lost), RECORDS, BUDGET, ())
    assert "3 cells without a finite mean" in picture.caption
    assert slopes(grid(written(tmp_path / "t", lost), RECORDS, BUDGET)) == pytest.approx((-2, -1))
    with pytest.raises(ResultError, match="no cell with a finite mean"):
        surface(written(tmp_path / "u", lambda *_: np.inf), RECORDS, BUDGET, ())


@pytest.mark.parametrize(
    ("drawn", "x", "by", "values", "said"),
    [
        (series_of, "run.updates", None, VALUES, "does not vary run.updates"),
        (series_of, BUDGET, "run.seed", VALUES, "does not vary run.seed"),
        (series_of, BUDGET, None, VALUES, "several cells of one series"),
        (grid, "run.updates", BUDGET, VALUES, "does not vary run.updates"),
        (grid, RECORDS, BUDGET, {RECORDS: (10,), BUDGET: (1.0, 2.0)}, "without 2 values"),
        (grid, RECORDS, BUDGET, {RECORDS: (10, 10), BUDGET: (1.0, 2.0)}, "without 2 values"),
    ],
)
def test_series_and_grids_of_other_sweeps_are_refused(drawn, x, by, values, said, tmp_path):
    with pytest.raises(ResultError, match=said):
        drawn(written(tmp_path / "s", values=values), x, by)


def test_a_surface_over_records_and_budget_has_the_fitted_law(tmp_path):
    swept = written(tmp_path / "s", lambda records, budget: 50.0 / (records * budget) ** 2)
    [law] = beside(series_of(swept, BUDGET, RECORDS), RECORDS, BUDGET)
    assert law.name == "fitted law 50/(ε n_i)²"
    np.testing.assert_allclose(ratios(grid(swept, RECORDS, BUDGET), law), 1.0)


# Gaps, and spreads over replicates and seeds that pictures draw, worked out by hand.

T_975_3 = 3.182446
"""97.5 % point of Student's t with three degrees of freedom."""


TABLE = tables.table(__file__, "psi_over_swept_numbers.toml")
UPDATES = TABLE["updates"]
"""Of two replicates; update 2 of the first has two answers."""


class Updates:
    """A result of which these are the updates."""

    def columns(self, table: str, *names: str) -> list[np.ndarray[Any, Any]]:
        assert table == "updates"
        return [np.array(UPDATES[name]) for name in names]


def test_the_first_gap_of_every_replicate_is_from_time_0():
    updates: Any = Updates()
    assert traces.gaps(updates).tolist() == [2.0, 3.0, 3.0, 1.0]
    assert traces.gaps(updates, 1).tolist() == [2.0, 3.0]


def test_a_share_of_staleness_has_students_interval_over_replicates():
    """Of ten updates 2, 4, 4 and 6 are stale: residuals ∓0.2, sd √(0.08/3) over R − 1.

    The logit of a share s has the half width h/(s(1 − s)), and odds are e to the logit.
    """
    stale = np.concatenate([np.arange(10) < count for count in (2, 4, 4, 6)]).astype(int)
    low, high = traces.between_replicates(np.repeat([1, 2, 3, 4], 10), stale, 1)
    half = T_975_3 * np.sqrt(0.08 / 3) / 2
    odds = 2 / 3 * np.exp(np.array([-1, 1]) * half / 0.24)
    assert (low[1], high[1]) == pytest.approx(tuple(odds / (1 + odds)), rel=1e-6)


def test_the_error_of_owners_is_over_seeds():
    """Two seeds (rows), three owners: half their distance is the standard error of the mean."""
    found = fairness._error(np.array([[1.0, 2.0, 5.0], [3.0, 6.0, 5.0]]))
    assert found == pytest.approx([1.0, 2.0, 0.0])
    assert fairness._error(np.ones((1, 3))).tolist() == [0.0, 0.0, 0.0]


INF = float("inf")


def curve_of(
    directory: Path, psi: Sequence[float], *, reached: int = 1000, later: float = 0.0
) -> None:
    """Write a curve whose replicates end at times 10, 20, …, or so much later."""
    curve(directory, psi, k=reached, times=[10.0 * (r + 1) + later for r in range(len(psi))])


def swept(directory: Path, columns: dict[str, list[Any]], **summary: Any) -> Sweep:
    count = len(next(iter(columns.values())))
    for number in range(count):
        known = {"throughput": 1.0 + number, "fairness": 0.5, "refusal_rate": 0.0} | summary
        known["intervals"] = {"throughput": [0.5 + number, 2.0 + number]}
        cell = made(directory / f"cell-{number:04d}", (), scenario(), **known)
        curve_of(cell, [1.0, 2.0, 3.0], reached=999 if number == 0 else 1000, later=number)
    return finished(directory, columns)


def test_panels_show_what_is_known_in_order_of_the_number(tmp_path, reads):
    picture = FIGURE.picture(swept(tmp_path / "sweep", {"owners.count": [100, 3, 10]}))
    reads(picture)
    for axes in picture.figure.axes[1:]:  # room above the highest point
        [points] = axes.containers
        assert axes.get_ylim()[1] > 1.05 * np.nanmax(points[0].get_ydata())


@pytest.mark.long
def test_a_second_path_sets_lines_apart_and_one_line_stands_for_those_that_coincide(
    tmp_path, reads
):
    columns: dict[str, list[Any]] = {"privacy.epsilon": [1.0, 1.0, 2.0, 2.0, INF, INF]}
    columns["protocol.busy"] = ["refuse", "queue"] * 3
    picture = FIGURE.picture(swept(tmp_path / "sweep", columns))
    reads(picture)
    for axes in picture.figure.axes:
        assert len(axes.containers) == (1 if axes.get_ylabel() in ALIKE else 2)


ALIKE = ("fairness (Jain)", "$\\psi$ at the end\n(lower is better)")


@together
@pytest.mark.parametrize(("columns", "expected"), TABLE["drawn"])
def test_what_is_drawn_against_what(columns, expected):
    rows = zip(*columns.values(), strict=True)
    result = Result(Path("made"), {})
    cells = [Cell(n, dict(zip(columns, row, strict=True)), result) for n, row in enumerate(rows)]
    sweep = Sweep(Path("made"), tuple(columns), tuple(cells), ())
    found = select(sweep)
    if isinstance(found, str):
        assert found == expected
        with pytest.raises(ResultError, match=expected):
            FIGURE.picture(sweep)
    else:
        assert [found[0].path, len(found)] == expected


def test_the_interval_of_the_median_is_exact(tmp_path):
    directory = made(tmp_path / "made")
    for psi, expected in [
        ([4.0], (4.0, np.nan, np.nan)),
        ([2.0, 1.0, 4.0, 3.0], (2.5, 1.0, 4.0)),
        ([*map(float, range(1, 10)), INF], (5.5, 2.0, 9.0)),  # 98 % of 10: the second and ninth
        ([1.0, INF, INF], (INF, 1.0, INF)),
    ]:
        curve_of(directory, psi)
        np.testing.assert_equal(tuple(psi_at_end(Result.read(directory))), expected)


def test_the_time_to_the_end_is_known_where_all_runs_reach_it(tmp_path):
    directory = made(tmp_path / "made")
    curve_of(directory, [1.0, 1.0])
    found = time_to_end(Result.read(directory))
    np.testing.assert_allclose(found, (15, 15 - 12.7062 * 5, 15 + 12.7062 * 5), rtol=1e-5)
    curve_of(directory, [1.0, 1.0], reached=900)
    assert np.isnan(time_to_end(Result.read(directory))).all()


def test_the_interval_of_models_that_diverge_is_all_numbers():
    found = sweep_figure.mean_of(np.array([1e200, 3e200]))
    assert (found.value, found.low, found.high) == (2e200, -np.inf, np.inf)


def test_where_every_model_diverges_and_nothing_else_changes_its_psi_is_drawn(tmp_path, reads):
    for number in range(3):
        cell = made(tmp_path / f"cell-{number:04d}", (), scenario(), throughput=1.0)
        curve_of(cell, [np.inf] * 3, reached=999)
    reads(FIGURE.picture(finished(tmp_path, {"owners.count": [3, 10, 30]})))
