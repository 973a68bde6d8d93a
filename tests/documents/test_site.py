"""The docs site is built strictly, and fetches nothing from elsewhere."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.documents.parts import ROOT
from tests.documents.site import built

pytestmark = pytest.mark.documents
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements whose attribute a browser fetches by itself."""


class Fetched(HTMLParser):
    """Addresses on a page that a browser fetches by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        value = dict(attrs).get(FETCHED.get(tag, ""))
        if value is not None:
            self.found.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("site"))


def test_it_is_built_without_a_warning(site):
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    assert len(pages) == len(sources) + 1 > 50  # the gallery has no source of its own


def test_blocks_of_code_and_lists_are_read_as_such(site):
    """A block with two words after its ``` is none to the site, nor is a list without a gap."""
    for path in site.rglob("*.html"):
        prose = re.sub(r"<pre.*?</pre>", "", path.read_text("utf-8"), flags=re.S)
        paragraphs = re.findall(r"<p>.*?</p>", prose, re.S)
        assert [each for each in paragraphs if "```" in each or "\n- " in each] == [], path.name


def test_every_column_of_a_table_has_a_name(site):
    """A screen reader reads the name before each cell; without one a header is empty."""
    empty = [path.name for path in site.rglob("*.html")
             if re.search(r"<th[^>]*>\s*</th>", path.read_text("utf-8"))]  # fmt: skip
    assert empty == []


def test_pages_fetch_nothing_from_elsewhere(site):
    fetched = set()
    for path in site.rglob("*.html"):
        page = Fetched()
        page.feed(path.read_text("utf-8"))
        fetched |= set(page.found)
    assert len(fetched) > 5
    assert [each for each in sorted(fetched) if re.match(r"(https?:)?//", each)] == []
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*", styles) == []


def test_a_reader_has_light_or_dark_and_can_change_it(site):
    """A visit's choice is kept, so that without a switch a day's light stays at night."""
    page = (site / "index.html").read_text("utf-8")
    medias = re.findall(r'data-md-color-media="([^"]*)" data-md-color-scheme="(\w+)"', page)
    assert medias == [
        ("(prefers-color-scheme: light)", "default"),
        ("(prefers-color-scheme: dark)", "slate"),
    ]
    assert re.findall(
        r'<label class="md-header__button[^>]*title="(\w+)" for="__palette', page
    ) == [
        "Dark",
        "Light",
    ]


def test_the_search_box_has_a_name(site):
    for path in site.rglob("*.html"):
        dialogs = re.findall(r'<[^>]*role="dialog"[^>]*>', path.read_text("utf-8"))
        assert len(dialogs) == 1, path.name
        assert 'aria-label="Search"' in dialogs[0], path.name


def test_a_broken_link_ends_the_build(tmp_path):
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Title\n\n[nowhere](index.md#nowhere)\n")
    config = load_config(
        str(ROOT / "mkdocs.yml"),
        docs_dir=str(tmp_path / "docs"),
        site_dir=str(tmp_path / "site"),
        nav=["index.md"],
        strict=True,
    )
    with pytest.raises(Abort):
        build(config)
