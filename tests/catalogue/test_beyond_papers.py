"""Results of others: each has a page with what was printed, and one command."""

from pathlib import Path

import pytest

from scenarios.beyond import RESULTS
from scenarios.command import main

PAGES = Path(__file__).parents[2] / "docs" / "beyond"
EACH = pytest.mark.parametrize("figure", RESULTS, ids=lambda figure: figure.name)


def plain(text: str) -> str:
    """Return text without the marks of quotations and line ends."""
    return " ".join(text.replace("\n>", " ").split())


@EACH
def test_what_was_printed_is_on_the_page_with_its_command(figure):
    page = plain((PAGES / f"{figure.name}.md").read_text(encoding="utf-8"))
    assert len(figure.printed) > 0
    for statement in figure.printed:
        assert f"“{plain(statement.says)}”" in page
        assert statement.where
    assert f"]({figure.name}.md)" in (PAGES / "README.md").read_text(encoding="utf-8")
    assert sum(any(map(str.isalnum, word)) for word in page.split()) <= 400
    assert f"`python -m scenarios verify {figure.name}`" in page
    assert f"`{figure.entry}`" in page


def test_a_name_that_nobody_has_is_told_the_group(capsys):
    assert main(["verify", "nobody"]) == 2
    told = capsys.readouterr().err
    assert "allowed are beyond, async-01" in told
    assert all(figure.name in told for figure in RESULTS)


@pytest.mark.parametrize("name", [(), ("decisions",)])
@pytest.mark.parametrize("option", [("--workers", "2"), ("--set", "run.seed=1")])
def test_an_option_that_would_do_nothing_is_refused(name, option, capsys):
    with pytest.raises(SystemExit) as refused:
        main([*name, *option])
    assert refused.value.code == 2
    assert "are for a scenario and for verify" in capsys.readouterr().err
