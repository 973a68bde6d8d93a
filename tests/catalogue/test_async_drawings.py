"""Async's figures 1 and 2 are drawn from a run, and the claims see one that is otherwise."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis import papers
from asyncdp_sim.results import Result, Sweep
from scenarios.papers import FIGURES, async_drawings
from scenarios.papers.claims import Judged
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure
from scenarios.papers.verify import verify

ONE, TWO = async_drawings.FIGURES
QUICK = ("owners.records=100", "run.updates=200")


def judged(figures: tuple[PaperFigure, ...], out: Path) -> list[Judged]:
    return verify(figures, out, full=False, workers=1, more=QUICK, say=str)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where both figures were verified, over one sweep."""
    place = tmp_path_factory.mktemp("drawn")
    found = judged((ONE, TWO), place)
    assert {each.verdict for each in found} == {"agrees"}
    assert len(found) == len(ONE.claims) + len(TWO.claims)
    return place


@pytest.fixture
def swept(out: Path) -> Sweep:
    return Sweep.read(out / "async-01" / AS_PUBLISHED)


def test_they_are_the_first_figures():
    assert FIGURES[:2] == (ONE, TWO)
    assert [figure.source for figure in (ONE, TWO)] == ["Async, figure 1", "Async, figure 2"]


@pytest.mark.long
def test_they_are_drawn_from_the_run(out, swept):
    ways = ("request", "broadcast")
    for figure, kinds in ((ONE, ("structure",)), (TWO, ("sequence", "space-time"))):
        folder = out / figure.name / AS_PUBLISHED / "figures"
        names = {f"{kind}-{way}" for kind in kinds for way in ways}
        assert {path.stem for path in folder.glob("*.png")} == names
    rows = (folder / "sequence-request.csv").read_text().splitlines()
    (owners,) = async_drawings.result(swept, "request").columns("updates", "owner")
    assert [int(row.split(",")[2]) for row in rows[1:]] == owners[:10].tolist()


def test_a_learner_that_is_not_locked_is_seen(tmp_path):
    told = "request: updates that do not end an exchange with their owner"
    pushed = replace(
        TWO,
        variants={AS_PUBLISHED: ('protocol={ kind = "push" }',)},
        small=('sweep.variant=[{ name = "request", "run.seed" = 2 }]',),
        claims=tuple(each for each in TWO.claims if each.quantity == told),
        pictures=lambda _: (),
    )
    [found] = judged((pushed,), tmp_path)
    assert found.verdict == "fails"


@pytest.mark.long
def test_too_many_owners_for_a_circle_are_refused(swept):
    known = swept.cells[0].result
    owners = {"owners": {**known.scenario["owners"], "count": papers.MOST + 1}}
    crowded = Result(known.directory, {**known.manifest, "scenario": known.scenario | owners})
    with pytest.raises(ValueError, match="at most 24 owners"):
        papers.structure(crowded)
