"""Whole screens: each file of ``screens`` is a session, of commands and all that they print.

``python -m tests.regenerate`` writes what stands beneath the commands anew; read the differences
like code. Numbers agree to 0.5 %, as linear algebra may round otherwise.
"""

import os
import re
import shlex
import shutil
from itertools import zip_longest
from pathlib import Path

import pytest
import tomli_w

from tests.cli.command import Command
from tests.cli.pages import agrees
from tests.cli.scenes import ON_A_TABLE, SMALL, SWEEP, rates
from tests.whole_owners import WHOLE_OWNERS

LONG = ("advice", "audit", "check-of-entries", "private-rows")
"""Sessions that take some seconds."""
MARKED = [
    pytest.param(file, id=file.stem, marks=[pytest.mark.long] * (file.stem in LONG))
    for file in sorted(Path(__file__).with_name("screens").glob("*.txt"))
]
PROMPT = "\n$ "
SECONDS = re.compile(r"(?<=about )[\d.]+ s\b")
FILES = {
    "small.toml": SMALL,
    "sweep.toml": SWEEP,
    "table.toml": ON_A_TABLE,
    "whole.toml": tomli_w.dumps(WHOLE_OWNERS),
}


def printed(command: Command, line: str, folder: Path) -> str:
    """Return what a line prints: stdout, then stderr; ``ls`` prints the names in a folder."""
    typed, _, where = line.partition(" > ")
    program, *words = shlex.split(typed)
    if program == "ls":
        return "  ".join(sorted(os.listdir(*words))) + "\n"
    said = command(*words)
    if where == "/dev/null":
        assert said.code == 0, said.err
        return ""
    code = f"# exit {said.code}\n" if said.code != 0 else ""
    shown = SECONDS.sub("N s", said.out + said.err)
    return shown.replace(str(folder), "FOLDER") + code


def alike(found: Path, expected: Path) -> None:
    """Require that the lines of two sessions agree."""
    texts = (file.read_text("utf-8").splitlines() for file in (found, expected))
    for line, told in zip_longest(*texts, fillvalue="(no line)"):
        assert agrees(told.replace("…", "..."), line.replace("…", "...")), f"{told}\nnow: {line}"


@pytest.mark.parametrize("file", MARKED)
def test_a_session(file, command, here, monkeypatch, file_regression):
    monkeypatch.delenv("COLUMNS", raising=False)  # a pipe has 80
    rates(here / "rates.csv")
    for table in file.parent.glob("*.csv"):
        shutil.copy(table, here)
    head, *parts = file.read_text("utf-8").split(PROMPT)
    for part in parts:
        line = part.partition("\n")[0]
        head += f"{PROMPT}{line}\n{printed(command, line, here)}"
    file_regression.check(head, encoding="utf-8", fullpath=file, check_fn=alike)
