"""The researcher's notebook runs, prints what it shows, and shows what it draws."""

import base64
import runpy

import nbformat
import pytest

from tests.documents.notebook import NOTEBOOK, executed
from tests.documents.parts import ROOT

PICTURE = "a picture"


@pytest.mark.documents
@pytest.mark.filterwarnings("default::DeprecationWarning", "default::ResourceWarning")
def test_the_notebook_prints_what_it_shows():
    kept = nbformat.read(NOTEBOOK, as_version=4)
    found = executed(NOTEBOOK)
    for cell, again in zip(kept.cells, found.cells, strict=True):
        shown, now = ([each.get("text", PICTURE) for each in some.get("outputs", [])]
                      for some in (cell, again))  # fmt: skip
        assert shown == now, cell.source


def test_its_algorithm_is_the_example_of_the_docs():
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    [written] = [cell.source for cell in cells if cell.source.startswith("%%writefile")]
    example = (ROOT / "docs" / "kinds" / "momentum.py").read_text("utf-8")
    assert written == f"%%writefile momentum.py\n{example.rstrip()}"


def test_what_is_kept_of_the_notebook_is_small():
    assert NOTEBOOK.stat().st_size < 100_000
    kept = nbformat.read(NOTEBOOK, as_version=4)
    printed = [each for cell in kept.cells for each in cell.get("outputs", [])]
    assert len(printed) > 4
    assert {each.output_type for each in printed} == {"stream", "display_data"}


def test_the_figure_that_it_draws_is_shown_in_it_and_on_its_page():
    notebook_page = runpy.run_path(str(ROOT / "docs" / "hooks" / "pages.py"))["notebook_page"]
    kept = nbformat.read(NOTEBOOK, as_version=4)
    [drawing] = [cell for cell in kept.cells if "plt.subplots" in cell.source]
    pictures = [each.data["image/png"] for each in drawing.outputs if "data" in each]
    assert len(pictures) == 1
    for each in pictures:
        assert base64.b64decode(each).startswith(b"\x89PNG")
        assert f"(data:image/png;base64,{''.join(each.split())})" in notebook_page(NOTEBOOK)
