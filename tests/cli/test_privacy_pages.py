"""Commands in ``docs/privacy`` give the exit codes and figures that stand there."""

import re
import shutil
from pathlib import Path

import pytest

from tests.cli.pages import FOLDER, agrees, fenced, hold, missing, pages, scenario, shown

ROOT = FOLDER.parents[1]
SCENES = ROOT / "tests" / "verification" / "scenes"
SHOWN = [
    pytest.param(each, id=f"{each.page}-{number}", marks=[pytest.mark.nightly] * each.nightly)
    for number, each in enumerate(shown())
]


FILES = {"small.toml": scenario()}


@pytest.fixture
def here(here: Path) -> Path:
    for name in ("three-records.toml", "local-records.toml", "canaries.toml", "last-model.toml"):
        shutil.copy(SCENES / name, here)
    return here


@pytest.mark.documents
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("each", SHOWN)
def test_a_command_prints_what_its_page_shows(command, each):
    for _, made in fenced(FOLDER / f"{each.page}.md", "python"):
        exec(made, {})
    hold(command, each)


def test_every_page_is_listed_and_shows_what_can_be_run():
    names = {page.name for page in pages()} - {"README.md"}
    listed = re.findall(
        r"^\| \[[\w-]+\.md\]\(([\w-]+\.md)\)", (FOLDER / "README.md").read_text(), re.M
    )
    assert sorted(listed) == sorted(names)
    assert len(SHOWN) >= 20
    assert {each.code for each in shown()} == {0, 2, 3}
    assert all(len(each.lines) > 0 for each in shown())
    indented = [page.name for page in pages() if re.search(r"^ +\$ ", page.read_text(), re.M)]
    assert indented == [], "a command outside a console block is run by nobody"


def test_every_test_that_a_page_names_is_there():
    lost = []
    for page in pages():
        file = ""
        for path, name in re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", page.read_text("utf-8")):
            file = path or file
            if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8"):
                lost.append(f"{page.name}: {file}::{name}")
    assert lost == []


def test_a_figure_or_a_word_that_is_wrong_is_seen():
    line = "one answer of owner 1: measured ε ≥ 0.9849, stated 1: not exceeded (score ≤ -1 in 0.5)"
    assert agrees("one answer of owner 1: measured ε ≥ 0.985, stated 1: not exceeded …", line)
    assert agrees(line, line)
    assert not agrees("one answer of owner 1: measured ε ≥ 0.97, stated 1: not exceeded …", line)
    assert not agrees("one answer of owner 1: measured ε ≥ 0.985, stated 1: EXCEEDED …", line)
    assert not agrees("one answer of owner 1: measured ε ≥ 0.985, stated 1: not exceeded", line)
    assert missing(("b", "a"), ["a", "b"]) == "a"
