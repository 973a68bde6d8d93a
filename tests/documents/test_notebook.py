"""The researcher's notebook runs, and prints what it shows."""

import nbformat
import pytest

from tests.documents.notebook import NOTEBOOK, executed


@pytest.mark.documents
@pytest.mark.filterwarnings("default::DeprecationWarning", "default::ResourceWarning")
def test_the_notebook_prints_what_it_shows() -> None:
    kept = nbformat.read(NOTEBOOK, as_version=4)
    found = executed(NOTEBOOK)
    for cell, again in zip(kept.cells, found.cells, strict=True):
        shown = [each.text for each in cell.get("outputs", [])]
        assert shown == [each.text for each in again.get("outputs", [])], cell.source


def test_what_is_kept_of_the_notebook_is_small() -> None:
    assert NOTEBOOK.stat().st_size < 20_000
    kept = nbformat.read(NOTEBOOK, as_version=4)
    printed = [each for cell in kept.cells for each in cell.get("outputs", [])]
    assert len(printed) > 4
    assert all(each.output_type == "stream" for each in printed)
