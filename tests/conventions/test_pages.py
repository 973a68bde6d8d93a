"""Blocks of Python on pages of ``docs`` work as they stand there, one after the other."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("recipes.md", "kinds/README.md")


@pytest.mark.parametrize("name", PAGES)
def test_every_block_runs(name, monkeypatch):
    page = (DOCS / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) > 0
    monkeypatch.chdir(DOCS.parent)
    monkeypatch.setitem(sys.modules, "page", ModuleType("page"))
    known = vars(sys.modules["page"])
    for block in blocks:
        exec(compile(block, name, "exec", dont_inherit=True), known)


def test_a_recipe_is_short():
    """Its prose, tables among it; code counts apart."""
    page = (DOCS / "recipes.md").read_text(encoding="utf-8")
    recipes = re.split(r"^## ", re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S), flags=re.M)[
        1:
    ]
    assert len(recipes) == 8
    assert {
        each.partition("\n")[0]: len(each.split()) for each in recipes if len(each.split()) > 150
    } == {}


def test_the_docs_are_short():
    """Words have a letter or a digit; proofs of privacy count apart."""
    generated = [*DOCS.glob("reference/**/*.md"), *DOCS.glob("verification/*.md")]
    generated += [DOCS / "verification.md", DOCS / "benchmarks.md"]
    texts = [page for page in DOCS.rglob("*.md") if page.parent != DOCS / "privacy"]
    assert words_in(generated) <= 20_000
    assert words_in([DOCS.parent / "README.md", *texts]) <= 50_000
    assert words_in([DOCS / "semantics.md"]) <= 2_500


def words_in(pages: list[Path]) -> int:
    words = (word for page in pages for word in page.read_text("utf-8").split())
    return sum(any(map(str.isalnum, word)) for word in words)
