"""Every row of the verdicts names a file and a sentence that stands in it."""

import re
from functools import cache
from pathlib import Path

import pytest

from asyncdp_sim.scenario.catalogue import catalogue
from scenarios.papers import FIGURES
from scenarios.papers.claims import OURS, SENTENCES, Printed
from scenarios.papers.figure import AS_PUBLISHED
from tests.mutants.mutant import ROOT
from tests.together import together
from tests.transcription.stated import read_again

PAPERS = ROOT.parent / "shared" / "papers"
ASYNC, ASYNC_FIRST = "004_a58cdd6b6f400488.txt", "001_700a027017646420.txt"
COLLAB, POLAR = "000_1a5356a39d184a58.txt", "003_856ab2b0caf2fa21.txt"
FILES = {"Async": {ASYNC, ASYNC_FIRST}, "Collab": {COLLAB}, "POLAR": {POLAR}}


def file_of(sentence: Printed) -> str:
    return sentence.where.partition(",")[0]


@cache
def text(file: Path) -> str:
    joined = re.sub(r"-\s*\n\s*(?=[a-z])", "", file.read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", joined)


@pytest.mark.parametrize("name", SENTENCES)
def test_it_stands_in_its_file(name):
    sentence = SENTENCES[name]
    file = PAPERS / file_of(sentence)
    if not file.is_file():
        pytest.skip("the papers' texts are not beside the project")
    said, place = text(file), 0
    for part in sentence.says.split(" … "):
        place = said.find(part, place)
        assert place >= 0, part


@together
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_row_names_one_of_its_own_paper(figure):
    files = FILES[figure.source.partition(",")[0]]
    assert len(figure.printed) > 0
    for each in (*figure.printed, *(claim.judges for claim in figure.claims)):
        if isinstance(each, Printed):
            assert file_of(each) in files
        else:
            assert each in ("", OURS)


def test_every_sentence_is_judged():
    judged = {
        each
        for figure in FIGURES
        for each in (*figure.printed, *(claim.judges for claim in figure.claims))
    }
    assert {name for name, each in SENTENCES.items() if each not in judged} == set()


def test_figures_of_async_have_the_numbers_of_the_version_that_is_named():
    for figure in FIGURES:
        if figure.source.startswith("Async") and AS_PUBLISHED in figure.variants:
            assert all(file_of(each) == ASYNC for each in figure.printed)


def test_what_one_version_claims_of_all_the_other_claims_of_some():
    """The abstract of 001 says "equal to 1 results in", the introduction of 004 "can beat"."""
    for name in ("async-07", "async-11"):
        [figure] = [each for each in FIGURES if each.name == name]
        of_all = [each for each in figure.claims if each.judges == SENTENCES["SUPERIOR"]]
        of_some = [each for each in figure.claims if each.judges == SENTENCES["CAN_BEAT"]]
        assert [(each.low, each.high, each.published) for each in of_all] == [(1, 1, 1.0)]
        assert len(of_some) > 0
        assert all("can" in each.quantity and each.published is None for each in of_some)
    assert SENTENCES["SUPERIOR"].where.startswith(ASYNC_FIRST)
    assert SENTENCES["CAN_BEAT"].where.startswith(ASYNC)


# No entry of the catalogue cites a paper without a second reading.

READ_AGAIN = {"Async": ("async", "async_hospital"), "Collab": ("collab",), "POLAR": ("polar",)}
"""Second readings of each paper."""


def test_every_entry_that_cites_a_paper_is_transcribed():
    citing = {}
    for found in catalogue():
        source = found.scenario().source
        if source != "synthetic":
            citing.setdefault(source.partition(",")[0], set()).add(found.name)
    assert citing == {
        paper: {entry for name in names for entry in read_again(name).entries}
        for paper, names in READ_AGAIN.items()
    }
