"""Figures of papers: all load, have claims that fit together, and are of one rule or one run."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from analysis import papers
from asyncdp_sim.results import Result, Sweep
from scenarios import entry
from scenarios.beyond import RESULTS
from scenarios.command import main
from scenarios.papers import FIGURES, async_drawings, collab
from scenarios.papers.claims import Judged
from scenarios.papers.collab_step import ANOTHER_SEED, CHOSEN_FOR, FACTORS, candidates, choice
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, EVERY, SOUND, PaperFigure
from scenarios.papers.verify import verify

SWEPT = [figure for figure in FIGURES if set(figure.variants) >= set(EVERY)]
NAMES = [figure.name for figure in SWEPT]
"""Those that are runs of the simulator; the others are drawings, and an optimum."""
SHARED = ("async-06", "async-09")
"""Figures that show other figures' cells from another side."""
EACH = pytest.mark.parametrize("figure", SWEPT, ids=NAMES)


def test_the_list_is_the_papers():
    of_async = [f"async-{number:02d}" for number in range(3, 12)]
    assert [*of_async, *(f"collab-{number:02d}" for number in range(2, 12)), "polar-03"] == NAMES


@EACH
def test_it_is_of_its_papers_figure(figure):
    paper, _, number = figure.name.partition("-")
    if paper != "polar":
        assert figure.source == f"{paper.title()}, figure {int(number)}"
    told = entry(figure.entry).scenario().source
    assert figure.name in SHARED or str(int(number)) in told.replace(",", " ").split()


@pytest.mark.long
@EACH
def test_every_variant_loads_in_both_sizes_and_has_claims(figure):
    for variant in figure.variants:
        small, full = (figure.scenario(variant, full=size) for size in (False, True))
        for scenario in (small, full):
            assert all(scenario.cell(chosen) for chosen in scenario.grid())
        assert len(list(small.grid())) <= len(list(full.grid()))
        assert any(variant in claim.variants for claim in figure.claims)


@EACH
def test_claims_are_of_its_variants(figure):
    for claim in figure.claims:
        assert set(claim.variants) <= set(figure.variants)


@EACH
def test_one_that_is_as_written_as_published_says_why(figure):
    assert (figure.alike != "") is figure.repeats(AS_WRITTEN)
    assert not figure.repeats(SOUND)
    assert not figure.repeats(AS_PUBLISHED)


# Async's figures 1 and 2 are drawn from a run, and the claims see one that is otherwise.


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


# Collab's step is what one rule gives, and the rule sees what it is for.


def test_all_entries_of_the_figures_take_a_chosen_step():
    taken = {name for entries in CHOSEN_FOR.values() for name in entries}
    assert taken == {figure.entry for figure in collab.FIGURES}
    for first, entries in CHOSEN_FOR.items():
        steps = {entry(name).scenario().algorithm.step for name in entries}
        assert steps == {entry(first).scenario().algorithm.step}
        assert entry(first).scenario().run.seed != ANOTHER_SEED


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHOSEN_FOR)
def test_the_steps_are_what_the_rule_gives(name):
    assert choice(candidates(name)) == entry(name).scenario().algorithm.step


def test_a_step_in_between_is_chosen_of_a_small_table():
    """Short steps leave the start, long ones the noise; a run that overflows is not chosen."""
    little = ("run.replicates=2", "owners.records=200")
    psi = candidates("collab-07", (*little, "privacy.epsilon=200.0"))
    assert list(psi) == list(FACTORS)
    assert choice(psi) not in (FACTORS[0], FACTORS[-1])
    assert choice({1.0: inf, 0.3: 2.0, 0.1: 3.0}) == 0.3


# Results of others: each has a page with what was printed, and one command.


PAGES = Path(__file__).parents[2] / "docs" / "beyond"
OF_OTHERS = pytest.mark.parametrize("figure", RESULTS, ids=lambda figure: figure.name)


def plain(text: str) -> str:
    """Return text without the marks of quotations and line ends."""
    return " ".join(text.replace("\n>", " ").split())


@OF_OTHERS
def test_what_was_printed_is_on_the_page_with_its_command(figure):
    page = plain((PAGES / f"{figure.name}.md").read_text(encoding="utf-8"))
    assert len(figure.printed) > 0
    for statement in figure.printed:
        assert f"“{plain(statement.says)}”" in page
        assert statement.where
    assert f"]({figure.name}.md)" in (PAGES / "README.md").read_text(encoding="utf-8")
    assert sum(any(map(str.isalnum, word)) for word in page.split()) <= 400
    assert f"`python -m scenarios verify {figure.name}`" in page
    assert f"`{figure.entry}`" in page


def test_a_name_that_nobody_has_is_told_the_group(capsys):
    assert main(["verify", "nobody"]) == 2
    told = capsys.readouterr().err
    assert "allowed are beyond, async-01" in told
    assert all(figure.name in told for figure in RESULTS)


@pytest.mark.parametrize("name", [(), ("decisions",)])
@pytest.mark.parametrize("option", [("--workers", "2"), ("--set", "run.seed=1")])
def test_an_option_that_would_do_nothing_is_refused(name, option, capsys):
    with pytest.raises(SystemExit) as refused:
        main([*name, *option])
    assert refused.value.code == 2
    assert "are for a scenario and for verify" in capsys.readouterr().err
