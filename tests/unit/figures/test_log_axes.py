"""Logarithmic axes of runs that diverged: they end, and a reader is told what lies beyond."""

import re
from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.figures import changes
from asyncdp_sim.figures import picture as pictures
from asyncdp_sim.figures.convergence import CurveLine, by_update
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side, draw
from asyncdp_sim.figures.picture import save
from asyncdp_sim.figures.style import AT_END, MOST, laid_out, leaves_frame, log_axis, sheet
from tests.unit.figures.made import curve, finished, made

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
            figure = sheet(6.5, 3.6)
            axes = figure.add_subplot()
            log_axis(axes, side)
            axes.plot(x, y)
        else:
            figure = draw(said)
            [axes] = figure.axes
        with laid_out(figure, 50):
            figure.draw_without_rendering()
        for each in side:
            low, high = getattr(axes, f"get_{each}lim")()
            assert 0 < low <= 0.05
            assert high == (MOST if np.isfinite(top) else high) <= MOST
        assert leaves_frame(figure) is bool(np.isfinite(top))


def test_an_axis_of_what_did_not_diverge_is_as_matplotlib_has_it():
    limits = []
    for ours in (True, False):
        figure = sheet(6.5, 3.6)
        axes = figure.add_subplot()
        axes.plot([1, 2, 3], [1e-3, 2.0, 5e6])
        if ours:
            log_axis(axes)
        else:
            axes.set_yscale("log")
        figure.draw_without_rendering()
        limits.append((*axes.get_ylim(), *axes.get_yticks(), *axes.yaxis.get_minorticklocs()))
        assert not leaves_frame(figure)
    assert limits[0] == pytest.approx(limits[1], rel=1e-12)


def test_a_sweep_whose_runs_diverged_is_drawn_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "run_settings", lambda _: "")  # of the runs, made by hand here
    for number, psi in enumerate((6.76e287, 2.5e176, 0.05, np.inf, LARGEST)):
        curve(made(tmp_path / f"cell-{number:04d}"), [psi, psi, psi])
    sweep = finished(tmp_path, {"variant": ["a", "b", "c", "d", "e"]})
    results = [cell.result for cell in sweep.cells]
    for picture in (
        changes.SETTINGS.picture(sweep),
        by_update([CurveLine(cell.result, cell.values["variant"]) for cell in sweep.cells]),
    ):
        save(picture, tmp_path)
        assert pictures.BEYOND in pictures.captions_page([(picture, results)], [])
    [axes] = changes.SETTINGS.picture(sweep).figure.axes
    [arrows] = [line for line in axes.lines if line.get_gid() == AT_END]
    labels = dict(zip(axes.get_yticks(), axes.get_yticklabels(), strict=True))
    assert [labels[at].get_text() for at in arrows.get_ydata()] == ["a", "b", "d", "e"]
    assert f"beyond {MOST:.0e}" == "beyond 1e+30"
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
