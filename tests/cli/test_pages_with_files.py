"""Pages that lead from files to a result: the files are made, and commands print what is shown."""

import pytest

from tests.cli.pages import FOLDER, commands, fenced, missing


@pytest.mark.documents
@pytest.mark.parametrize(
    ("name", "least"), [("own-network", 9), ("from-decision-to-deployment", 3)]
)
def test_every_command_prints_what_the_page_shows(command, tmp_path, monkeypatch, name, least):
    monkeypatch.chdir(tmp_path)
    page, ran = FOLDER.parent / f"{name}.md", 0
    for kind, text in fenced(page, "python", "toml", "console"):
        if kind == "python":
            exec(compile(text, page.name, "exec", dont_inherit=True), {})
        elif kind == "toml":
            (tmp_path / "three-wards.toml").write_text(text, encoding="utf-8")
        else:
            for each in commands(page.stem, False, text, {}):
                said = command(*each.arguments)
                printed = (said.out + said.err).splitlines()
                assert said.code == each.code, printed
                assert missing(each.lines, printed) is None, printed
                ran += 1
    assert ran >= least
