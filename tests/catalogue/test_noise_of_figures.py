"""Twice the noise, or half of it, turns a row of each figure red, wherever it comes from."""

from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.privacy.mechanisms import laplace
from asyncdp_sim.results import Cell, Result, Sweep
from asyncdp_sim.runs import run, write
from scenarios.papers import FIGURES
from scenarios.papers.claims import SENTENCES, Judged, judge
from scenarios.papers.figure import SOUND, PaperFigure
from scenarios.papers.lending.reasons import CONSTANT, LAW_WITHIN
from scenarios.papers.noise import DRAWS, scale_claims
from tests.one_in import one_in
from tests.together import together

WITHOUT = {"async-01", "async-02", "async-04", "async-09", "collab-optimum"}
"""Figures of who talks when, and of no noise at all."""
FEW = ("owners.count=3", "run.updates=5", "run.replicates=1", "owners.records=60")
TABLES = {
    "async-05": ("data.public_records=300",),
    "async-11": ('data.split="in-order"', "data.public_records=300"),
    "collab-02": ("data.public_records=300",),
    "collab-07": (),
}
"""A figure of each table, and what makes its records few."""
NAMED = {figure.name: figure for figure in FIGURES}


def rows(figure: PaperFigure, variant: str, folder: Path, *more: str) -> list[Judged]:
    """Run one cell, and judge its noise."""
    scenario = figure.scenario(variant, full=True, more=(*TABLES[figure.name], *FEW, *more))
    write(run(scenario.base()), folder)
    cell = Cell(0, {}, Result.read(folder))
    claims = [claim for claim in figure.claims if claim.quantity.startswith("mean |w|")]
    return judge("", variant, claims, {variant: Sweep(folder, (), (cell,), ())})


@together
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_figure_with_noise_judges_its_scale(figure):
    of_noise = [claim for claim in figure.claims if claim.quantity.startswith("mean |w|")]
    judged = sorted(variant for claim in of_noise for variant in claim.variants)
    hidden = [SOUND] if figure.name == "polar-03" else sorted(figure.variants)
    assert judged == ([] if figure.name in WITHOUT else hidden)


def test_windows_are_narrower_than_the_noise_squared():
    """Wherever ours is inside of the law's, it is outside with twice the noise: ψ is 4 times it."""
    low, high = LAW_WITHIN
    assert low < CONSTANT < high < 4 * low
    [claim] = scale_claims({"any": 1.0}, SENTENCES["SCALE"])
    assert claim.high - 1 == pytest.approx(4 / sqrt(DRAWS))
    assert claim.high < 2 * claim.low


@pytest.mark.parametrize("name", TABLES)
def test_noise_is_the_theorems(name, tmp_path):
    figure = NAMED[name]
    for variant in figure.variants:
        [row] = rows(figure, variant, tmp_path / variant)
        assert (row.verdict, row.published) == ("agrees", 1.0), row


@one_in(2, "factor", [0.5, 2.0])
@pytest.mark.parametrize("name", TABLES)
def test_other_noise_is_red(name, factor, tmp_path, monkeypatch):
    """In what is declared, in the scale that is worked out of it, and in what is drawn."""
    figure, right, hide = NAMED[name], laplace.scale_of, laplace.LaplaceNoise.add_noise
    sensitivity: Any = figure.scenario("as-published", full=True).privacy.sensitivity
    setting = f"privacy.sensitivity.bound={factor * sensitivity.bound}"
    [declared] = rows(figure, "as-published", tmp_path / "declared", setting)

    def scaled(*given: Any) -> Any:
        return factor * right(*given)

    def drawn(self: Any, owners: Any, gradients: Any, noise: Any) -> Any:
        return hide(self, owners, gradients, factor * np.asarray(noise))

    monkeypatch.setattr(laplace, "scale_of", scaled)
    [scale] = rows(figure, "as-published", tmp_path / "scale")
    monkeypatch.undo()
    monkeypatch.setattr(laplace.LaplaceNoise, "add_noise", drawn)
    [draws] = rows(figure, "as-published", tmp_path / "draws")
    for found in (declared, scale, draws):
        assert found.verdict == "fails"
        assert found.ours == pytest.approx(factor, rel=0.05)
