"""Every figure of the papers loads in every size and variant, and has claims that fit together."""

import pytest

from scenarios import entry
from scenarios.papers import FIGURES
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, EVERY, SOUND

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
