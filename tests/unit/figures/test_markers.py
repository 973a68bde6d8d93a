"""Mean ψ against one swept number: series, exponents, lines, and what is refused."""

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.sweeps.psi_lines import markers, series_of, slope
from asyncdp_sim.figures.sweeps.references import Reference
from asyncdp_sim.results import Cell
from tests.unit.figures.made import keys
from tests.unit.figures.swept_law import BUDGET, RECORDS, VALUES, power, written


def same(cell: Cell) -> float:
    return power(cell.values[RECORDS], cell.values[BUDGET])


LAW = Reference("the law", "law", same)
FLAT = Reference("one level", "flat", lambda _: 3.0)


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
def test_other_sweeps_are_refused(x, by, said, tmp_path):
    with pytest.raises(ResultError, match=said):
        series_of(written(tmp_path / "s", values=VALUES), x, by)
