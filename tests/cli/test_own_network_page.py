"""``docs/own-network.md``: its files are made, and its commands print what it shows."""

from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.cli.pages import FOLDER, commands, fenced, missing

PAGE = FOLDER.parent / "own-network.md"


@pytest.mark.documents
def test_every_command_prints_what_the_page_shows(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    for kind, text in fenced(PAGE, "python", "toml", "console"):
        if kind == "python":
            exec(compile(text, PAGE.name, "exec", dont_inherit=True), {})
        elif kind == "toml":
            (tmp_path / "three-wards.toml").write_text(text, encoding="utf-8")
        else:
            for each in commands(PAGE.stem, False, text, {}):
                said = command(*each.arguments)
                printed = (said.out + said.err).splitlines()
                assert said.code == each.code, printed
                assert missing(each.lines, printed) is None, printed
                ran += 1
    assert ran >= 9
