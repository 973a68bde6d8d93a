"""Collab's figures and POLAR's run small, are drawn, and hold what must hold."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scenarios import entry
from scenarios.papers import collab, polar
from scenarios.papers.claims import Judged, judge
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure
from scenarios.papers.verify import verify

FIGURES = {figure.name: figure for figure in (*collab.FIGURES, *polar.FIGURES)}
SMALLEST = (
    'sweep."owners.records"=[[1000, 1000, 1000], [5000, 1000, 1000], '
    "[1000, 5000, 5000], [5000, 5000, 5000]]"
)
QUICK = {
    "collab-02": ("run.replicates=6", "owners.records=3000"),
    "collab-05": ("run.replicates=6", 'sweep."owners.records"=[500, 1000, 2000]'),
    "collab-06": ("run.replicates=4", SMALLEST),
    "collab-07": ("run.replicates=4", "owners.records=1000"),
}
"""Figures of each kind, and what makes them quicker still."""
BOTH = ("collab-07",)
"""Those that are run in both variants; clipping the loans takes longer than all the rest."""
ALWAYS = ("collab-05", "collab-07")
"""Those that are run every time; the others at night."""


def verified(figure: PaperFigure, out: Path, more: tuple[str, ...]) -> list[Judged]:
    return verify([figure], out, full=False, workers=1, more=more, say=str)


def test_the_list_is_the_papers() -> None:
    assert list(FIGURES) == [f"collab-{number:02d}" for number in range(2, 12)] + ["polar-03"]
    for figure in collab.FIGURES:
        assert figure.source == f"Collab, figure {int(figure.name[-2:])}"
        told = entry(figure.entry).scenario().source
        assert str(int(figure.name[-2:])) in told.replace(",", " ").split()


@pytest.mark.parametrize("figure", FIGURES.values(), ids=lambda figure: figure.name)
def test_every_variant_loads_in_both_sizes_and_has_claims(figure: PaperFigure) -> None:
    for variant in figure.variants:
        small, full = (figure.scenario(variant, full=size) for size in (False, True))
        for scenario in (small, full):
            chosen = list(scenario.grid())
            assert [scenario.cell(each) for each in (chosen[0], chosen[-1])]
        assert len(list(small.grid())) <= len(chosen)
        if variant == AS_PUBLISHED:
            assert entry(figure.entry).scenario() == full
        assert any(variant in claim.variants for claim in figure.claims)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ALWAYS else pytest.mark.nightly) for name in QUICK],
)
def test_nothing_that_must_hold_fails(name: str, tmp_path: Path) -> None:
    figure = FIGURES[name]
    if name not in BOTH:
        figure = replace(figure, variants={AS_PUBLISHED: ()})
    found = verified(figure, tmp_path, QUICK[name])
    assert {each.variant for each in found} == set(figure.variants)
    assert [each for each in found if each.verdict == "fails"] == []
    for variant in figure.variants:
        drawn = sorted((tmp_path / name / variant / "figures").iterdir())
        assert {path.suffix for path in drawn} >= {".csv", ".png"}
    rows = (tmp_path / name / "variants.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 2 * len(figure.variants)


def test_noise_for_another_budget_is_seen(tmp_path: Path) -> None:
    wrong = (*QUICK["collab-07"], 'sweep."privacy.epsilon"=[1.0, 2.0]')
    claim = replace(collab.LENDING_CURVES[0], measure=collab.claims.gain(1, 2))
    alone = replace(FIGURES["collab-07"], claims=(claim,), variants={AS_PUBLISHED: ()})
    [judged] = verified(alone, tmp_path, wrong)
    assert judged.verdict == "fails"
    assert abs(judged.ours / 4 - 1) < 0.05


def test_arrival_waits_until_the_median_stays_low(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = {
        "a": np.array([1.0, 0.005, 0.02, 0.009, 0.001]),
        "b": np.array([1.0, 0.5, 0.3, 0.2, 0.1]),
        "c": np.array([1.0, 3.0, 0.009, 0.008, 0.007]),
    }
    monkeypatch.setattr(polar, "median", lambda _, name: (10 * np.arange(5), curves[name]))
    sweep = object()
    assert [polar.arrival(sweep, name) for name in curves] == [30, np.inf, 20]  # type: ignore[arg-type]
    assert polar.after("a", "c")(sweep) == 1.5  # type: ignore[arg-type]
    assert [polar.peak(name)(sweep) for name in curves] == [1, 1, 3]  # type: ignore[arg-type]


def test_claims_of_a_variant_are_its_own() -> None:
    for figure in FIGURES.values():
        for claim in figure.claims:
            assert set(claim.variants) <= set(figure.variants)
    assert judge("x", "sound", (), object()) == []  # type: ignore[arg-type]
