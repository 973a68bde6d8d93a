"""Async's figures 1 and 2 are drawn from a run, and the claims see one that is otherwise."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis import stars
from analysis.source import Sweep
from asyncdp_sim.trace import Trace
from scenarios.papers import FIGURES, async_drawings
from scenarios.papers.claims import Judged
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure
from scenarios.papers.verify import verify

ONE, TWO = async_drawings.FIGURES
QUICK = ("owners.records=300", "run.updates=200")


def judged(figure: PaperFigure, out: Path) -> dict[str, Judged]:
    found = verify([figure], out, full=False, workers=1, more=QUICK, say=str)
    return {each.quantity: each for each in found}


def test_they_are_the_first_figures() -> None:
    assert FIGURES[:2] == (ONE, TWO)
    assert [figure.source for figure in (ONE, TWO)] == ["Async, figure 1", "Async, figure 2"]


def test_they_are_drawn_from_the_run_and_hold(tmp_path: Path) -> None:
    for figure in (ONE, TWO):
        found = judged(figure, tmp_path)
        assert {each.verdict for each in found.values()} == {"agrees"}
    folder = tmp_path / "async-02" / AS_PUBLISHED / "figures"
    drawn = {path.stem for path in folder.glob("*.png")}
    assert drawn == {
        f"{what}-{name}" for what in ("sequence", "space-time") for name in ("request", "broadcast")
    }
    rows = (folder / "sequence-request.csv").read_text().splitlines()
    sweep = Sweep.read(tmp_path / "async-02" / AS_PUBLISHED)
    (owners,) = async_drawings.result(sweep, "request").columns("updates", "owner")
    assert [int(row.split(",")[2]) for row in rows[1:]] == owners[:10].tolist()


def test_a_learner_that_is_not_locked_is_seen(tmp_path: Path) -> None:
    told = "request: updates that do not end an exchange with their owner"
    pushed = replace(
        TWO,
        variants={AS_PUBLISHED: ('protocol={ kind = "push" }',)},
        small=('sweep.variant=[{ name = "request", "run.seed" = 2 }]',),
        claims=tuple(each for each in TWO.claims if each.quantity == told),
        pictures=lambda _: (),
    )
    found = judged(pushed, tmp_path)
    assert found[told].verdict == "fails"


def test_another_run_than_the_one_that_is_drawn_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = judged(ONE, tmp_path)
    sweep = Sweep.read(tmp_path / "async-01" / AS_PUBLISHED)
    right = async_drawings.result(sweep, "request")
    other: Trace = async_drawings.trace(async_drawings.result(sweep, "broadcast"))
    assert all(each.ours == 0 for each in found.values())
    monkeypatch.setattr(async_drawings, "trace", lambda _: other)
    assert async_drawings.otherwise(right) > 0


def test_too_many_owners_for_a_circle_are_refused(tmp_path: Path) -> None:
    judged(ONE, tmp_path)
    result = Sweep.read(tmp_path / "async-01" / AS_PUBLISHED).cells[0].result
    result.manifest["scenario"]["owners"]["count"] = stars.MOST + 1
    with pytest.raises(ValueError, match="at most 24 owners"):
        stars.structure(result)
