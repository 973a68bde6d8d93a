"""Pages of the documentation as ``asyncdp docs`` prints them."""

import re
from pathlib import Path

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.sentences.names import RESULTS, labels, page_text, pages, topic, topics
from tests.together import together

DOCS = Path(__file__).parents[3] / "docs"


def test_every_page_has_a_topic():
    assert set(pages().values()) == set(DOCS.rglob("*.md"))
    assert page_text("privacy") == (DOCS / "privacy" / "README.md").read_text("utf-8")


@together
@pytest.mark.parametrize("page", sorted({RESULTS, *labels()["pages"].values()}))
def test_what_descriptions_name_is_printed(page):
    text = page_text(topic(page))
    assert re.match("#+ ", text) is not None


def test_a_section_ends_where_the_next_one_begins():
    text = page_text("semantics#clocks")
    assert text.startswith("## ")
    assert text.count("\n## ") == 0
    assert 0 < text.count("\n") < page_text("semantics").count("\n") / 3
    assert page_text("semantics#what-the-simulator-means") == page_text(
        "semantics"
    )  # with those below it


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("glosary", "docs: given 'glosary'; did you mean glossary? asyncdp docs "),
        ("semantics#clock", "semantics#clocks"),
        ("????", "given '????'; asyncdp docs prints all topics"),
    ],
)
def test_another_topic_is_one_line(name, said):
    with pytest.raises(SpecError, match=re.escape(said)):
        page_text(name)


def test_every_topic_stands_with_the_title_of_its_page():
    lines = topics()
    assert [line.split()[0] for line in lines] == list(pages())
    [gaussian] = [line for line in lines if line.startswith("privacy/gaussian ")]
    assert gaussian.split(None, 1)[1] == "Gaussian answers"
    assert ["install", "Install"] in [line.split() for line in lines]
