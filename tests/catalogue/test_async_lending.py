"""Async's lending figures load in every size and variant, run small, are drawn and judged."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.source import Cell, Result, Sweep
from scenarios import entry
from scenarios.papers.async_lending import FIGURES
from scenarios.papers.async_lending_claims import CONSTANT, crossing
from scenarios.papers.claims import Judged
from scenarios.papers.figure import AS_PUBLISHED, SOUND, PaperFigure
from scenarios.papers.verify import verify

NAMED = {figure.name: figure for figure in FIGURES}
EACH = pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
QUICK = {
    "async-03": ("owners.records=500", "run.updates=60"),
    "async-04": ("run.updates=400",),
    "async-06": ('sweep."owners.records"=[300, 600]', "run.updates=60"),
    "async-07": ('sweep."owners.count"=[2, 3]', "owners.records=300", "run.updates=60"),
}
"""So little that nothing is learned: what is drawn matters here."""
FEW = ("run.replicates=4", "data.public_records=300")


def verified(figure: PaperFigure, variant: str, out: Path, more: tuple[str, ...]) -> list[Judged]:
    alone = replace(figure, variants={variant: figure.variants[variant]})
    return verify([alone], out, full=False, workers=1, more=more, say=str)


def read(out: Path, name: str) -> Sweep:
    return Sweep.read(out / name / AS_PUBLISHED)


def banks(
    directory: Path, counts: Sequence[int], psi: Sequence[float], alone: Sequence[float]
) -> Sweep:
    """Return cells of so many banks that end at ψ, where bank 1 alone has another."""
    found = []
    for number, (count, end, own) in enumerate(zip(counts, psi, alone, strict=True)):
        place = directory / str(number)
        place.mkdir(parents=True)
        pq.write_table(pa.table({"psi_alone": [own] * count}), place / "owners.parquet")
        result = Result(place, {"summary": {"psi_final": {"mean": end}}})
        found.append(Cell(number, {"owners.count": count, "privacy.epsilon": 10.0}, result))
    return Sweep(directory, ("owners.count", "privacy.epsilon"), tuple(found), ())


def test_the_list_is_the_papers() -> None:
    assert list(NAMED) == [f"async-{number:02d}" for number in range(3, 8)]
    for figure in FIGURES:
        assert figure.source == f"Async, figure {int(figure.name[-2:])}"
        assert entry(figure.entry).scenario().source == figure.source


@EACH
def test_every_variant_loads_in_both_sizes_and_has_claims(figure: PaperFigure) -> None:
    for variant in figure.variants:
        small, full = (figure.scenario(variant, full=size) for size in (False, True))
        assert len(list(small.grid())) <= len(list(full.grid()))
        for scenario in (small, full):
            assert all(scenario.cell(chosen) for chosen in scenario.grid())
        assert any(variant in claim.variants for claim in figure.claims)


@pytest.mark.parametrize(
    "figure", [each for each in FIGURES if SOUND in each.variants], ids=lambda each: each.name
)
def test_the_sound_variant_changes_privacy_and_the_box_alone(figure: PaperFigure) -> None:
    raw, sound = (figure.scenario(v, full=True).plain() for v in (AS_PUBLISHED, SOUND))
    assert {key for key in raw if raw[key] != sound[key]} == {"model", "privacy"}
    assert sound["privacy"]["noise"] == "vector"
    assert sound["model"] | {"theta_max": raw["model"]["theta_max"]} == raw["model"]


@pytest.mark.parametrize("name", QUICK)
def test_it_is_drawn(name: str, tmp_path: Path) -> None:
    figure = NAMED[name]
    found = verified(figure, AS_PUBLISHED, tmp_path, (*FEW, *QUICK[name]))
    assert {each.figure for each in found} == {figure.source}
    drawn = {path.name for path in (tmp_path / name / AS_PUBLISHED / "figures").iterdir()}
    pictures = {each.name for each in figure.pictures(read(tmp_path, name))}
    files = {f"{each}.{kind}" for each in pictures for kind in ("csv", "png")}
    assert drawn == {"captions.md", *files}


def test_figure_5_has_the_published_law(tmp_path: Path) -> None:
    more = (
        'sweep."owners.records"=[1000, 2000]', 'sweep."privacy.epsilon"=[1.0, 10.0]',
        "run.replicates=40",
    )  # fmt: skip
    found = verified(NAMED["async-05"], AS_PUBLISHED, tmp_path, more)
    assert [each.verdict for each in found] == ["agrees"] * 3 + ["differs"]
    assert found[0].published == CONSTANT
    assert found[-1].ours == 0.0  # not private as claimed


def test_sound_answers_are_private_as_claimed(tmp_path: Path) -> None:
    more = (*FEW, *QUICK["async-03"])
    [judged] = verified(NAMED["async-03"], SOUND, tmp_path, more)
    assert (judged.ours, judged.verdict) == (1.0, "agrees")


@pytest.mark.parametrize(
    ("alone", "psi", "expected"),
    [
        ((1.0, 1.0, 1.0), (8.0, 2.0, 0.5), 4.0 * np.sqrt(2.0)),
        ((1.0, 1.0, 1.0), (0.9, 2.0, 3.0), 2.0),
        ((1.0, 1.0, 1.0), (8.0, 4.0, 2.0), np.inf),
        ((1.0, 1.0, 16.0), (4.0, 4.0, 4.0), 4.0 * np.sqrt(2.0)),
    ],
)
def test_the_crossing_is_found(
    alone: tuple[float, ...], psi: tuple[float, ...], expected: float, tmp_path: Path
) -> None:
    sweep = banks(tmp_path, (2, 4, 8), psi, alone)
    assert crossing(10.0)(sweep) == pytest.approx(expected)
