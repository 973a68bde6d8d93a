"""Pages that lead from files to a result: the files are made, and commands print what is shown."""

import pytest

from tests.cli.pages import FOLDER, commands, fenced, hold


@pytest.mark.documents
@pytest.mark.parametrize(
    ("name", "least"),
    [("own-network", 6), ("from-decision-to-deployment", 3), ("one-hospital", 5)],
)
def test_every_command_prints_what_the_page_shows(command, here, name, least):
    page, ran = FOLDER.parent / f"{name}.md", 0
    for kind, text in fenced(page, "python", "toml", "console"):
        if kind == "python":
            exec(compile(text, page.name, "exec", dont_inherit=True), {})
        elif kind == "toml":
            (here / "three-wards.toml").write_text(text, encoding="utf-8")
        else:
            for each in commands(page.stem, False, text, {}):
                hold(command, each)
                ran += 1
    assert ran >= least
