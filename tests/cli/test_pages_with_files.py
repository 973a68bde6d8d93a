"""Pages that lead from files to a result: the files are made, and what is shown is printed."""

import contextlib
import io
from typing import Any

import pytest

from tests.cli.pages import FOLDER, commands, fenced, hold


@pytest.mark.documents
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("own-network", 6),
        ("from-decision-to-deployment", 3),
        ("one-hospital", 5),
        ("tutorial-reviewer", 6),
    ],
)
def test_every_command_prints_what_the_page_shows(command, here, name, least):
    """What Python prints stands in the next block of text."""
    page, ran, printed, known = FOLDER.parent / f"{name}.md", 0, "", dict[str, Any]()
    for kind, text in fenced(page, "python", "text", "toml", "console"):
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, page.name, "exec", dont_inherit=True), known)
            printed = out.getvalue()
        elif kind == "text" and printed != "":
            assert printed == text
            printed = ""
        elif kind == "toml":
            (here / "three-wards.toml").write_text(text, encoding="utf-8")
        elif kind == "console":
            for each in commands(page.stem, False, text, {}):
                hold(command, each)
                ran += 1
    assert printed == ""
    assert ran >= least
