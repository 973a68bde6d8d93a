"""Pages of the docs give the exit codes and figures that stand there, and Python prints what they
show. A block of text shows what the block of Python before it prints; a block of TOML is a file.
"""

import contextlib
import io
import re
from typing import Any

import pytest

from asyncdp_sim.scenario import load
from tests.cli.pages import FOLDER, agrees, commands, fenced, hold, missing, pages, scenario, shown

ROOT = FOLDER.parents[1]
SCENES = ROOT / "tests" / "verification" / "scenes"
SHOWN = [
    pytest.param(each, id=f"{each.page}-{number}", marks=[pytest.mark.nightly] * each.nightly)
    for number, each in enumerate(shown())
]
FILES = {"small.toml": scenario()} | {
    name: (SCENES / name).read_text("utf-8")
    for name in ("three-records.toml", "local-records.toml", "canaries.toml", "last-model.toml")
}


@pytest.mark.documents
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("each", SHOWN)
def test_a_command_prints_what_its_page_of_privacy_shows(command, each):
    for _, made in fenced(FOLDER / f"{each.page}.md", "python"):
        exec(made, {})
    hold(command, each)


@pytest.mark.documents
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("own-network", 6),
        ("from-decision-to-deployment", 3),
        ("one-hospital", 5),
        ("tutorial-own-table", 6),
        ("tutorial-reviewer", 6),
    ],
)
def test_a_page_of_many_steps_prints_what_it_shows(command, here, name, least):
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
    if name == "tutorial-own-table":
        written = (here / "stays.toml").read_text("utf-8")
        lines = [line for line in written.splitlines() if "=" in line]
        assert sum("  # " in line for line in lines) > 0.8 * len(lines)
        assert load(here / "stays.toml")[0].privacy.epsilon == 1


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
