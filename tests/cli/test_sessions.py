"""Whole screens: each file of ``screens`` is a session, of commands and all that they print.

``python -m tests.regenerate`` writes what stands beneath the commands anew; read the differences
like code. Numbers agree to 0.5 %, as linear algebra may round otherwise. Files of ``screens`` that
a session names lie in its folder. Its commands are those of ``asyncdp`` and of a shell (with the
tools of GNU), and

    table FILE COLUMN …        prints columns of a Parquet file
    json FILE KEY …            prints values of a JSON file, by keys with points between them
    alter FILE COLUMN ROW BY   adds to a number of a Parquet file; without BY its last bit changes
    alter FILE KEY             changes the last bit or the last letter of a value of a JSON file
    delete FILE ROW …          takes rows out of a Parquet file, from its end where they are below 0
"""

import json
import math
import os
import re
import shlex
import shutil
import subprocess
from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import tomli_w

from asyncdp_sim.results.manifest import blas_kernel
from tests.bad_input.transcript import leaked
from tests.cli.command import Command
from tests.cli.pages import alike, fenced
from tests.cli.scenes import ON_A_TABLE, SMALL, SWEEP, rates
from tests.directories import move_number
from tests.whole_owners import WHOLE_OWNERS

SCREENS = Path(__file__).with_name("screens")
ROOT = Path(__file__).parents[2]
BESIDE = (*SCREENS.iterdir(), ROOT / "docs" / "kinds" / "momentum.py")
"""What lies in a session's folder where the session names it."""
LONG = (
    "advice", "advice-as-json", "audit", "check-of-entries", "damaged-results", "data-of-clocks",
    "data-of-stays", "data-of-visits", "list", "moved", "new", "owners", "owners-that-gain",
    "pictures", "private-rows", "sweep-of-code",
)  # fmt: skip
"""Sessions that take some seconds."""
MARKED = [
    pytest.param(file, id=file.stem, marks=[pytest.mark.long] * (file.stem in LONG))
    for file in sorted(SCREENS.glob("*.txt"))
]
PROMPT = "\n$ "
OF_THIS_MACHINE = {
    r"(?<=about )[\d.]+ s\b": "N s",
    r"\b[0-9a-f]{64}\b": "DIGEST",
    rf"\bhere {blas_kernel()}\b": "here KERNEL",
    r"(?<=Usage: ).*asyncdp(?= )": "asyncdp",
    r"(?<= 1\.0, here )[\w.]+": "VERSION",
    r"[\d.]+ GiB of this machine": "N GiB of this machine",
    r"(?m)^[a-z\d:, ]+: [\d,.]+/[\d,]+[ ,(].*\n": "",  # progress of slow work
}
"""What differs from machine to machine, and what stands for it in a session."""
FILES = {
    "small.toml": SMALL,
    "sweep.toml": SWEEP,
    "table.toml": ON_A_TABLE,
    "whole.toml": tomli_w.dumps(WHOLE_OWNERS),
}


def printed(command: Command, line: str, folder: Path) -> str:
    """Return what a line prints: stdout, then stderr, then an exit code that is not 0."""
    typed, _, where = line.partition(" > ")
    program = line.split()[0]
    if program == "asyncdp":
        said = command(*shlex.split(typed)[1:])
        code, out, err = said.code, said.out, said.err
        assert code != 2 or leaked(err) == [], err
    elif program in HELPERS:
        code, out, err = 0, HELPERS[program](*shlex.split(typed)[1:]) or "", ""
    else:
        ended = subprocess.run(
            ["sh", "-c", line], capture_output=True, encoding="utf-8", check=False,
            env=os.environ | {"LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        code, out, err, where = ended.returncode, ended.stdout, ended.stderr, ""
    if where != "":
        assert code == 0, err
        Path(where).write_text(out, encoding="utf-8")
        out, err = "", "" if where == "/dev/null" else err
    shown = (out + err).replace(str(folder), "FOLDER").replace(f"{ROOT}/", "")
    for pattern, word in OF_THIS_MACHINE.items():
        shown = re.sub(pattern, word, shown)
    return shown + (f"# exit {code}\n" if code != 0 else "")


def table(file: str, *columns: str) -> str:
    read = pq.read_table(file, columns=list(columns) or None).to_pandas()
    return f"{read.to_string(index=False)}\n"


def values(file: str, *keys: str) -> str:
    content = json.loads(Path(file).read_bytes())
    found = (reduce(getitem, _way(key), content) for key in keys)
    return "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in found)


def alter(file: str, place: str, row: str = "", by: str = "null") -> None:
    if row != "":
        move_number(file, place, int(row), json.loads(by))
        return
    content = json.loads(Path(file).read_bytes())
    *above, last = _way(place)
    inner = reduce(getitem, above, content)
    value = inner[last]
    if isinstance(value, float):
        inner[last] = math.nextafter(value, 0.0)
    else:
        inner[last] = f"{value}x" if isinstance(value, str) else value + 1
    Path(file).write_text(json.dumps(content), encoding="utf-8")


def _way(key: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in key.split(".")]


def delete(file: str, *rows: str) -> None:
    read = pq.read_table(file)
    left = np.delete(np.arange(len(read)), [int(row) for row in rows])
    pq.write_table(read.take(left), file)


HELPERS = {
    "alter": alter,
    "cd": os.chdir,
    "delete": delete,
    "json": values,
    "ls": lambda folder=".": "  ".join(sorted(os.listdir(folder))) + "\n",
    "table": table,
}


@pytest.mark.parametrize("file", MARKED)
def test_a_session(file, command, here, monkeypatch, file_regression):
    monkeypatch.delenv("COLUMNS", raising=False)  # a pipe has 80
    rates(here / "rates.csv")
    text = file.read_text("utf-8")
    for beside in BESIDE:
        if beside != file and beside.name in text:
            shutil.copy(beside, here)
    if "stays.csv" in text:
        exec(fenced(ROOT / "docs" / "tutorial-own-table.md", "python")[0][1], {})
    head, *parts = text.split(PROMPT)
    for part in parts:
        line = part.partition("\n")[0]
        head += f"{PROMPT}{line}\n{printed(command, line, here)}"
    file_regression.check(head, encoding="utf-8", fullpath=file, check_fn=alike)
