"""Results of others: all are on their page with what was printed, and have one command."""

from pathlib import Path

import pytest

from scenarios.beyond import RESULTS
from scenarios.command import main

PAGE = Path(__file__).parents[2] / "docs" / "beyond.md"
EACH = pytest.mark.parametrize("figure", RESULTS, ids=lambda figure: figure.name)


def plain(text: str) -> str:
    """Return text without the marks of quotations and line ends."""
    return " ".join(text.replace("\n>", " ").split())


@EACH
def test_what_was_printed_is_on_the_page_with_its_command(figure):
    page = plain(PAGE.read_text(encoding="utf-8"))
    assert len(figure.printed) > 0
    for statement in figure.printed:
        assert f"“{plain(statement.says)}”" in page
        assert statement.where
    assert f"`python -m scenarios verify {figure.name}`" in page
    assert f"`{figure.entry}`" in page


def test_a_name_that_nobody_has_is_told_the_group(capsys):
    assert main(["verify", "nobody"]) == 2
    told = capsys.readouterr().err
    assert "allowed are beyond, async-01" in told
    assert all(figure.name in told for figure in RESULTS)
