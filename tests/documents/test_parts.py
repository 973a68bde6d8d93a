"""Pages of parts, of the catalogue, of decisions, and the gallery."""

import re
import runpy

import pytest

from asyncdp_sim.scenario.catalogue import catalogue
from tests.documents.parts import PAGES, PARTS, ROOT, expected, lacking, rewritten, told

# Every part of a scenario has its page, which names its oracles and nothing else.


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
        assert kind in found, f"write a section ## {kind} in {PAGES[family]}"
        for said in ("**What it represents.** ", "**Limits.**"):
            assert said in found[kind], (kind, said)


# The page of the catalogue has every scenario, each once, and no other.


def test_the_page_lists_the_catalogue():
    page = (ROOT / "docs" / "catalogue.md").read_text("utf-8")
    listed = re.findall(r"^\| `([\w-]+)` \| \S", page, re.M)
    assert sorted(listed) == [entry.name for entry in catalogue()]


# The gallery: each picture with its command and its sentence.

gallery_page = runpy.run_path(str(ROOT / "docs" / "hooks" / "pages.py"))["gallery_page"]


def test_a_picture_has_the_command_of_its_section(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "page.md").write_text(
        "# Title\n\n`asyncdp run other`\n\n"
        "## One\n![first](pictures/one.png)\n`asyncdp sweep one --plot`\n\n"
        "## Two\n![second](pictures/two.png)\n",
        encoding="utf-8",
    )
    first, second = gallery_page(tmp_path).split("## Title: ")[1:]
    assert first.startswith(
        "One\n\n![Title: One](pictures/one.png)\n\n[Title: One](page.md): first."
    )
    assert first.endswith("```sh\nasyncdp sweep one --plot\n```\n\n")
    assert second.endswith("```sh\nasyncdp run other\n```\n")  # the page's own


def test_every_picture_of_the_docs_is_in_it():
    page = gallery_page(ROOT / "docs")
    assert page.partition("](pictures/")[2].startswith("twenty-small-banks.png")  # the first page's
    for picture in (ROOT / "docs" / "pictures").glob("*.png"):
        _, _, rest = page.partition(f"](pictures/{picture.name})")
        assert "```sh" in rest.partition("## ")[0], picture.name
