"""Mean ψ against one swept number and over two, where it follows a law exactly."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from analysis.papers.grids import grid, ratios, slopes
from analysis.studies.psi import markers
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.psi_lines import Reference, beside, series_of, slope, surface
from asyncdp_sim.results import Sweep
from asyncdp_sim.sentences.label import COLUMNS
from tests.unit.figures.made import curve, finished, keys, made, scenario, write_table

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
    rows = list(product(*values.values()))
    for number, (records, budget) in enumerate(rows):
        said = scenario(owners={"records": records}, privacy={"epsilon": budget})
        held_here = 900 if number in held else 0
        cell = made(directory / f"cell-{number:04d}", [(), ()], said, updates=1000,
                    clip_count=held_here, psi_final={"mean": psi(records, budget)})  # fmt: skip
        middle = psi(records, budget)
        curve(cell, [0.5 * middle, 1.5 * middle])
        write_table(cell, "owners", {"records": [10, 10, 10]})
    return finished(directory, dict(zip(values, zip(*rows, strict=True), strict=True)))


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


def test_numbers_lines_and_words(tmp_path):
    picture = markers(written(tmp_path / "s"), BUDGET, RECORDS, references=(LAW, FLAT))
    np.testing.assert_allclose(picture.table["law"], picture.table["psi_final_mean"])
    assert list(picture.table["series"][::3]) == ["n_i = 10", "n_i = 100", "n_i = 1,000"]
    assert "Fitted exponents of ε: n_i = 10 -1.00, n_i = 100 -1.00" in picture.caption
    assert "line: the law, measured over it 1 (1 to 1)" in picture.caption
    [axes] = picture.figure.axes
    lines = [line for line in axes.lines if line.get_linestyle() in ("-", "--")]
    assert [line.get_linestyle() for line in lines] == ["-", "-", "-", "--"]  # a level for all
    assert len({line.get_color() for line in lines}) == 4
    assert keys(picture) == ["mean and 95 % interval", "the law", FLAT.name]
    at_ends = [text.get_text() for text in axes.texts]
    assert [name.rpartition("= ")[2] for name in at_ends] == ["10", "100", "1,000"]


def test_chosen_series_alone_are_drawn(tmp_path):
    sweep = written(tmp_path / "s")
    [only] = series_of(sweep, RECORDS, BUDGET, [1.0])
    assert only.name == "ε = 1"
    with pytest.raises(ResultError, match="no cell with the chosen values"):
        series_of(sweep, RECORDS, BUDGET, [7.0])


def test_of_many_series_the_ends_and_the_middle_are_drawn(tmp_path):
    values = {RECORDS: (10, 100), BUDGET: tuple(float(each) for each in range(1, 10))}
    found = series_of(written(tmp_path / "s", values=values), RECORDS, BUDGET)
    assert [each.name for each in found] == ["ε = 1", "ε = 5", "ε = 9"]


@pytest.mark.parametrize(
    ("x", "by", "said"),
    [
        ("run.updates", None, "does not vary run.updates"),
        (BUDGET, "run.seed", "does not vary run.seed"),
        (BUDGET, None, "several cells of one series"),
    ],
)
def test_series_of_other_sweeps_are_refused(x, by, said, tmp_path):
    with pytest.raises(ResultError, match=said):
        series_of(written(tmp_path / "s", values=VALUES), x, by)


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
    free = grid(written(tmp_path / "free", bent), RECORDS, BUDGET)
    assert slopes(free)[0] > -1.9


def test_over_two_numbers_table_caption_and_legend_say_what_is_drawn(tmp_path):
    picture = surface(written(tmp_path / "s", held=[0]), RECORDS, BUDGET, (TWICE, OTHER))
    assert picture.name == "surface"
    assert [name for name in picture.table if name not in COLUMNS] == [
        RECORDS, BUDGET, "psi_final_mean", "psi_final_mean_low", "psi_final_mean_high",
        "projected", "law", "other",
    ]  # fmt: skip
    np.testing.assert_array_equal(picture.table[RECORDS], np.repeat(VALUES[RECORDS], 3))
    np.testing.assert_allclose(picture.table["law"], 2 * picture.table["psi_final_mean"])
    np.testing.assert_array_equal(picture.table["projected"], [0.9] + [0.0] * 8)
    assert "line: a law, measured over it 0.5 (0.5 to 0.5); line: another model" in picture.caption
    assert "n_i = 100 -1.00, n_i = 1,000 -1.00" in picture.caption
    assert "open: 1 of 9 cells" in picture.caption
    assert "model at the bounds of $\\Theta$" in keys(picture)
    [axes] = picture.figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.1", "1", "10"]
    assert {text.get_text() for text in axes.texts} == {"nᵢ = 10", "nᵢ = 100", "nᵢ = 1,000"}


def test_what_has_diverged_is_left_out(tmp_path):
    def lost(records: float, budget: float) -> float:
        return np.inf if records == 10 else power(records, budget)

    picture = surface(written(tmp_path / "s", lost), RECORDS, BUDGET, ())
    assert "3 cells without a finite mean" in picture.caption
    assert slopes(grid(written(tmp_path / "t", lost), RECORDS, BUDGET)) == pytest.approx((-2, -1))
    with pytest.raises(ResultError, match="no cell with a finite mean"):
        surface(written(tmp_path / "u", lambda *_: np.inf), RECORDS, BUDGET, ())


@pytest.mark.parametrize(
    ("x", "values", "said"),
    [
        ("run.updates", VALUES, "does not vary run.updates"),
        (RECORDS, {RECORDS: (10,), BUDGET: (1.0, 2.0)}, "without 2 values"),
        (RECORDS, {RECORDS: (10, 10), BUDGET: (1.0, 2.0)}, "without 2 values"),
    ],
)
def test_grids_of_other_sweeps_are_refused(x, values, said, tmp_path):
    with pytest.raises(ResultError, match=said):
        grid(written(tmp_path / "s", values=values), x, BUDGET)


def test_a_surface_over_records_and_budget_has_the_fitted_law(tmp_path):
    swept = written(tmp_path / "s", lambda records, budget: 50.0 / (records * budget) ** 2)
    [law] = beside(series_of(swept, BUDGET, RECORDS), RECORDS, BUDGET)
    assert law.name == "fitted law 50/(ε n_i)²"
    np.testing.assert_allclose(ratios(grid(swept, RECORDS, BUDGET), law), 1.0)
