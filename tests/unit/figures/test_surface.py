"""Mean ψ over two swept numbers: the grid, its law, and what stands in picture and table."""

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.sweeps.psi_surface import (
    Reference,
    grid,
    ratios,
    references,
    slopes,
    surface,
)
from asyncdp_sim.privacy.label import COLUMNS
from asyncdp_sim.results import Cell
from tests.unit.figures.made import keys
from tests.unit.figures.swept_law import BUDGET, RECORDS, VALUES, power, written


def twice(cell: Cell) -> float:
    return 2 * power(cell.values[RECORDS], cell.values[BUDGET])


LAW = Reference("a law", "law", twice)
SOLID = Reference("another model", "other", lambda _: 3.0, solid=True)


def test_means_slopes_and_ratios_are_the_laws(tmp_path):
    found = grid(written(tmp_path / "s"), RECORDS, BUDGET)
    assert found.psi.shape == (3, 3, 3)
    np.testing.assert_allclose(found.psi[1, 2, 0], power(100, 10.0))
    assert slopes(found) == pytest.approx((-2.0, -1.0))
    np.testing.assert_allclose(ratios(found, LAW), 0.5)


def test_cells_in_which_the_box_acts_are_left_out_of_fits(tmp_path):
    def bent(records: float, budget: float) -> float:
        return 7.0 if (records, budget) == (10, 0.1) else power(records, budget)

    held = grid(written(tmp_path / "held", bent, held=[0]), RECORDS, BUDGET)
    assert slopes(held) == pytest.approx((-2.0, -1.0))
    assert np.count_nonzero(held.inside) == len(ratios(held, LAW)) == 8
    free = grid(written(tmp_path / "free", bent), RECORDS, BUDGET)
    assert slopes(free)[0] > -1.9


def test_table_caption_and_legend_say_what_is_drawn(tmp_path):
    picture = surface(written(tmp_path / "s", held=[0]), RECORDS, BUDGET, references=(LAW, SOLID))
    assert [name for name in picture.table if name not in COLUMNS] == [
        RECORDS, BUDGET, "psi_final_mean", "psi_final_mean_low", "psi_final_mean_high",
        "projected", "law", "other",
    ]  # fmt: skip
    np.testing.assert_allclose(picture.table["law"], 2 * picture.table["psi_final_mean"])
    np.testing.assert_array_equal(picture.table["projected"], [0.9] + [0.0] * 8)
    assert "mesh: a law, measured over it 0.5 (0.5 to 0.5)" in picture.caption
    assert "surface in gray: another model" in picture.caption
    assert "ψ ∝ n_i^-2.00 · ε^-1.00" in picture.caption
    assert "open: 1 of 9 cells" in picture.caption
    assert len(keys(picture)) == 4
    assert keys(picture)[-1] == "model at the bounds of $\\Theta$"
    [axes] = picture.figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["10", "100", "1,000"]


def test_what_has_diverged_is_left_out(tmp_path):
    def lost(records: float, budget: float) -> float:
        return np.inf if records == 10 else power(records, budget)

    picture = surface(written(tmp_path / "s", lost), RECORDS, BUDGET)
    assert "3 cells without a finite mean" in picture.caption
    assert slopes(grid(written(tmp_path / "t", lost), RECORDS, BUDGET)) == pytest.approx((-2, -1))
    with pytest.raises(ResultError, match="no cell with a finite mean"):
        surface(written(tmp_path / "u", lambda *_: np.inf), RECORDS, BUDGET)


@pytest.mark.parametrize(
    ("x", "values", "said"),
    [
        ("run.updates", VALUES, "does not vary run.updates"),
        (RECORDS, {RECORDS: (10,), BUDGET: (1.0, 2.0)}, "without 2 values"),
        (RECORDS, {RECORDS: (10, 10), BUDGET: (1.0, 2.0)}, "without 2 values"),
    ],
)
def test_other_sweeps_are_refused(x, values, said, tmp_path):
    with pytest.raises(ResultError, match=said):
        grid(written(tmp_path / "s", values=values), x, BUDGET)


def test_a_surface_over_records_and_budget_has_the_fitted_law(tmp_path):
    swept = written(tmp_path / "s", lambda records, budget: 50.0 / (records * budget) ** 2)
    [law] = references(grid(swept, RECORDS, BUDGET))
    assert law.name == "fitted law 50/(ε n_i)²"
    np.testing.assert_allclose(ratios(grid(swept, RECORDS, BUDGET), law), 1.0)
