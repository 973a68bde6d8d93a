"""``docs/tutorial-reviewer.md``: its commands and snippets print what it shows."""

import contextlib
import io
import re

import pytest

from tests.cli.pages import FOLDER, commands, hold

PAGE = FOLDER.parent / "tutorial-reviewer.md"


@pytest.mark.documents
@pytest.mark.usefixtures("here")
def test_it_prints_what_it_shows(command):
    page = PAGE.read_text("utf-8")
    blocks = re.findall(r"^```(console|python|text)\n(.*?)^```$", page, re.M | re.S)
    known = {}
    printed = ""
    ran = 0
    for kind, text in blocks:
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, PAGE.name, "exec", dont_inherit=True), known)
            printed = out.getvalue()
        elif kind == "text":
            assert printed == text
            printed = ""
        else:
            for each in commands(PAGE.stem, False, text, {}):
                hold(command, each)
                ran += 1
    assert printed == ""
    assert ran > 5
