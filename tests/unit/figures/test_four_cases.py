"""Owner 1 beside four kinds of others: cells find their places, and Theorem 2's law is exact."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from analysis.studies.four_cases import FIGURE, cases
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.results import Sweep
from scenarios.papers.collab_readings import in_epsilon, in_records, power
from tests.unit.figures.made import curve, finished, made, scenario

FIRST, OTHERS = (1000, 10_000, 100_000), (1000, 50_000)
BUDGETS, OTHER_BUDGETS = (0.1, 10.0), (0.1, 10.0)
C = 1e10


def law(records: list[int], epsilon: list[float]) -> float:
    return sum(1 / e**2 for e in epsilon) / sum(records) ** 2


def swept(
    directory: Path,
    psi: Callable[[list[int], list[float]], float] = lambda n, e: C * law(n, e),
    first: tuple[int, ...] = FIRST,
    others: tuple[int, ...] = OTHERS,
) -> Sweep:
    """Write a sweep, in another order than the picture's, of two replicates with one ψ each."""
    grid = [
        ([n, m, m], [e, r, r])
        for m in reversed(others)
        for n in first
        for r in OTHER_BUDGETS
        for e in reversed(BUDGETS)
    ]
    for number, (records, epsilon) in enumerate(grid):
        said = scenario(privacy={"epsilon": epsilon}, owners={"records": records})
        cell = made(directory / f"cell-{number:04d}", [(), ()], said, updates=9)
        curve(cell, [psi(records, epsilon)] * 2)
    sizes, budgets = ([str(each) for each in some] for some in zip(*grid, strict=True))
    return finished(directory, {"owners.records": sizes, "privacy.epsilon": budgets})


def test_cases_come_in_the_papers_order_with_their_cells(tmp_path):
    found = cases(swept(tmp_path / "sweep"))
    assert [(case.number, case.name) for case in found] == [
        ("(i)", "small, reluctant"),
        ("(ii)", "small, eager"),
        ("(iii)", "large, reluctant"),
        ("(iv)", "large, eager"),
    ]
    assert [(case.records, case.epsilon) for case in found] == [
        (m, r) for m in OTHERS for r in OTHER_BUDGETS
    ]
    for case in found:
        m, r = int(case.records), case.epsilon
        exact = [[law([n, m, m], [e, r, r]) for e in BUDGETS] for n in FIRST]
        np.testing.assert_allclose(case.law, exact, rtol=1e-14)
        np.testing.assert_allclose(case.mean, C * case.law, rtol=1e-14)
    assert all(abs(case.constant / C - 1) < 1e-12 for case in found)


def test_what_the_claims_measure_is_exact_under_the_law(tmp_path):
    sweep = swept(tmp_path / "sweep")
    assert abs(power(sweep, 0) - 2) < 1e-10
    assert abs(in_epsilon(sweep, 0) / (300 / 200.01) - 1) < 1e-12
    assert abs(in_epsilon(sweep, 3) / (100.02 / 0.03) - 1) < 1e-12
    assert abs(in_records(sweep, 3) / (200_000 / 101_000) ** 2 - 1) < 1e-12


def test_a_law_without_the_square_is_seen(tmp_path):
    sweep = swept(tmp_path / "sweep", lambda n, e: law(n, e) ** 0.5)
    assert abs(power(sweep, 0) - 1) < 1e-10


def test_the_picture_has_four_panels_of_one_height_and_all_numbers(tmp_path, reads):
    picture = FIGURE.picture(swept(tmp_path / "sweep"))
    reads(picture)
    assert len({axes.get_ylim() for axes in picture.figure.axes}) == 1
    np.testing.assert_allclose(picture.table["psi_final_mean"], picture.table["law"], rtol=1e-12)


def test_what_is_no_grid_of_four_cases_is_refused(tmp_path):
    with pytest.raises(ResultError, match="two sizes and two budgets"):
        cases(swept(tmp_path / "three", others=(1000, 2000, 3000)))
    sweep = swept(tmp_path / "gap")
    short = Sweep(sweep.directory, sweep.paths, sweep.cells[1:], (0,))
    with pytest.raises(ResultError, match="two sizes and two budgets"):
        cases(short)
    sweep.cells[0].result.manifest["scenario"]["owners"]["records"] = 10
    with pytest.raises(ResultError, match="lists of records and budgets"):
        cases(sweep)


def test_a_run_that_diverged_is_left_out_of_the_picture_and_the_constant(tmp_path):
    def psi(n: list[int], e: list[float]) -> float:
        return float("nan") if (n[0], n[1], e) == (1000, 1000, [0.1] * 3) else C * law(n, e)

    picture = FIGURE.picture(swept(tmp_path / "sweep", psi))
    assert np.isinf(picture.table["psi_final_mean"]).sum() == 1
    rest = np.isfinite(picture.table["psi_final_mean"])
    np.testing.assert_allclose(picture.table["law"][rest], picture.table["psi_final_mean"][rest])
