"""The gallery: each picture with its command and its sentence."""

import runpy

from tests.documents.parts import ROOT
from tests.pictures import NARROW

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
    assert page.partition("](pictures/")[2].startswith("break-even.png")  # the first page's
    for picture in (ROOT / "docs" / "pictures").glob("*.png"):
        if picture.stem in NARROW:  # the same for a phone
            continue
        _, _, rest = page.partition(f"](pictures/{picture.name})")
        assert "```sh" in rest.partition("## ")[0], picture.name
