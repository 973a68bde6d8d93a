"""Every part of a scenario has its page, which names its oracles and nothing else."""

import itertools

import pytest

from tests.documents.parts import PARTS, SECTIONS, expected, lacking, rewritten, told

HEADINGS = (
    "What it represents",
    "Assumptions",
    "Limits",
    "In a scenario",
    "Validation",
)


def test_every_member_has_its_page_and_there_are_no_others():
    assert lacking() == []
    pages = expected()
    others = ("README.md", "energy.md")  # of no kind
    assert {path for path in PARTS.rglob("*.md") if path.name not in others} == set(pages)
    assert sum(map(len, pages.values())) > 45
    for path, kinds in pages.items():
        assert told(path.read_text("utf-8")) == kinds, path.name


def test_pages_name_the_oracles_that_the_register_has():
    pages = [path for path in expected() if path.exists()]  # the test above names the others
    old = [path.name for path in pages if rewritten(text := path.read_text("utf-8")) != text]
    assert old == [], "python -m tests.documents rewrites them"


@pytest.mark.parametrize("family", SECTIONS)
def test_a_page_says_what_it_represents_assumes_and_where_it_ends(family):
    for path in sorted((PARTS / family).glob("*.md")):
        lines = path.read_text("utf-8").splitlines()
        assert lines[0] == f"# {path.stem}"
        found = tuple(line.removeprefix("## ") for line in lines if line.startswith("## "))
        assert found == HEADINGS, path.name
        for line, after in itertools.pairwise(lines):
            assert not (line.startswith("## ") and after.strip() == ""), path.name
