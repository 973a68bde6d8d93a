"""Every part of a scenario has its page, which names its oracles and nothing else."""

import re

import pytest

from tests.documents.parts import PAGES, PARTS, expected, lacking, rewritten, told


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


@pytest.mark.parametrize("family", PAGES)
def test_a_section_says_what_a_kind_represents_and_where_it_ends(family):
    title, *sections = re.split(r"^## ", (PARTS / PAGES[family]).read_text("utf-8"), flags=re.M)
    assert title.startswith("# ")
    found = {section.partition("\n")[0]: section for section in sections}
    for kind in (name.partition(".")[2] for name in expected()[PARTS / PAGES[family]]):
        for said in ("**What it represents.** ", "**Limits.**"):
            assert said in found[kind], (kind, said)
