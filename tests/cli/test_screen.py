"""The screen: nothing is said twice, what matters most is first, owners as the unit; all that
commands show fits 80 columns, of 12 long columns and 169 owners of long names.
"""

import io
import json
import re
import sys
import tomllib
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tomli_w

from asyncdp_sim.cli import terminal as cli_terminal
from asyncdp_sim.cli.terminal import note_all, show
from asyncdp_sim.core.words import SCREEN
from tests.cli.scenes import SMALL
from tests.tables import table
from tests.whole_owners import WHOLE_OWNERS

# The screen: nothing is said twice, what matters most is first, and long lines are folded.

LITTLE = ("run.updates=10", "run.replicates=2", "owners.records=300", "data.public_records=200")


def test_reasons_are_said_once_and_privacy_comes_first(command, tmp_path, capsys):
    settings = [word for each in LITTLE for word in ("--set", each)]
    said = command.done("run", "lending-timing", *settings, "--out", tmp_path / "r", "--details")
    reason = "one draw of noise on all coordinates"
    assert f"\nbecause              {reason}" in said.out
    assert reason not in said.err
    assert "note: Synthetic twin" in said.err
    note_all(["what was run", "not private: why", "what was run"])
    assert capsys.readouterr().err == "note: not private: why\nnote: what was run\n"


def test_long_lines_are_folded_on_a_terminal_alone(monkeypatch):
    line = f"because              {'a reason ' * 20}".rstrip()
    for watched in (True, False):
        screen = io.StringIO()
        screen.isatty = lambda watched=watched: watched
        monkeypatch.setattr(sys, "stdout", screen)
        show(["short  1", line])
        first, *rest = screen.getvalue().splitlines()
        assert first == "short  1"
        if watched:
            assert max(map(len, rest)) <= SCREEN
            assert all(each.startswith(" " * 21 + "reason") or each.startswith(" " * 21 + "a")
                       for each in rest[1:])  # fmt: skip
            assert " ".join(" ".join(rest).split()) == " ".join(line.split())
        else:
            assert rest == [line]


# Every screen of a scenario whose unit is an owner says record only where it means one.

TUNED: dict[str, Any] = WHOLE_OWNERS | {
    "run": {"seed": 4, "updates": 20, "replicates": 2, "record_every": 5, "alone": True},
    "protocol": {"kind": "request"},
    "algorithm": {"kind": "async-gossip", "rho": 1.0},
    "privacy": WHOLE_OWNERS["privacy"] | {"epsilon": 8.0},
}
TABLE = table(__file__, "screen.toml")
MEANT = TABLE["meant"]


def unmeant(text: str) -> list[str]:
    """Return the places where a text says record, but for where it means one."""
    for allowed in MEANT:
        text = re.sub(allowed, "", text)
    return [text[max(0, m.start() - 60) : m.end() + 40] for m in re.finditer(r"\brecords?\b", text)]


SECTIONS = re.compile(r'<details class="part" id="columns">.*?(?=<details class="part"|$)', re.S)
"""Of a report that are the same in all: what the package was tested by, what columns mean."""
MARKUP = re.compile(r"<(svg|script|style).*?</\1>|<[^>]*>", re.S)


@pytest.mark.long
@pytest.mark.usefixtures("here")
def test_a_screen_says_record_only_where_it_means_one(command):
    Path("own.toml").write_text(tomli_w.dumps(TUNED))
    screens = {
        "check": command.done("check", "own.toml").out,
        "run": command.done("run", "own.toml", "--out", "one").out,
        "other": command.done("run", "own.toml", "--out", "two", "--set", "run.seed=5").out,
        "compare": command.done("compare", "one", "two").out,
        "forecast": command.done("forecast", "own.toml", "--details").out,
        "tune": command.done("forecast", "own.toml", "--tune").out,
        "audit": command.done("audit", "own.toml").out,
    }
    command.done("report", "one")
    page = Path("one", "report.html").read_text()
    screens["report"] = unescape(MARKUP.sub(" ", SECTIONS.sub("", page)))
    assert {name: unmeant(text) for name, text in screens.items()} == {key: [] for key in screens}
    for name in ("check", "forecast"):
        assert "one owner replaced" in screens[name], name
    for name in ("run", "report"):
        assert "the unit is an owner" in screens[name].lower(), name
    assert "detects a given owner" in screens["run"]
    assert "detects one owner" in screens["audit"]


# All that commands show fits 80 columns.

OWNERS, PUBLIC, EACH = 169, 60, 5
COLUMNS = [f"a_column_with_a_long_name_{letter}" for letter in "abcdefghijkl"]
NAMES = [f"Savings and Loan Association of Place {i:03}" for i in range(OWNERS)]
EIGHTY = table(__file__, "eighty_columns.toml")
SCENARIO = EIGHTY["scenario"]
SWEEP = """
[sweep]
"privacy.epsilon" = [0.123456789, 1.0]
"availability" = [{ kind = "always" }, { kind = "bernoulli", probability = 0.123456789 }]
"""


DATA = (
    "data", "table.csv", "--target", "the_target_which_has_a_long_name", "--owner",
    "the_owner_which_has_a_long_name", "--public", "60",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the table and its scenario; slow to read, so that it is written once."""
    folder = tmp_path_factory.mktemp("eighty")
    g = np.random.default_rng(1)
    rows = OWNERS * EACH + PUBLIC
    frame = pd.DataFrame(g.normal(size=(rows, 12)), columns=COLUMNS)
    frame["the_target_which_has_a_long_name"] = frame.sum(axis=1) + g.normal(size=rows)
    frame["the_owner_which_has_a_long_name"] = [NAMES[row % OWNERS] for row in range(rows)]
    frame.to_csv(folder / "table.csv", index=False)
    (folder / "long.toml").write_text(SCENARIO, encoding="utf-8")
    (folder / "sweep.toml").write_text(SCENARIO + SWEEP, encoding="utf-8")
    few = SCENARIO.replace("updates = 40", "updates = 4").replace(
        "replicates = 3", "replicates = 2"
    )
    (folder / "worth.toml").write_text(few, encoding="utf-8")
    (folder / "small.toml").write_text(SMALL, encoding="utf-8")
    wrong = SMALL.replace("replicates = 2", "replicates = 0").replace("ridge", "a" * 60)
    (folder / "wrong.toml").write_text(wrong, encoding="utf-8")
    return folder


@pytest.fixture
def terminal(made, monkeypatch):
    monkeypatch.chdir(made)
    monkeypatch.setenv("COLUMNS", str(SCREEN))
    monkeypatch.setattr(cli_terminal, "watched", lambda err: not err)
    return made


def fits(text):
    """Hold lines to the screen, but for what is copied: a command, an example, or a path."""
    lines = text.splitlines()
    wide = [line for line in lines if len(line) > SCREEN and len(line.split()) > 1]
    copied = re.compile(r": +asyncdp |  example  ")
    assert [line for line in wide if copied.search(line) is None] == []
    return lines


@pytest.mark.long
@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    "words", EIGHTY["commands"], ids=lambda words: " ".join(words[:3]) + f" {len(words)}"
)
def test_a_command_fits(words, command):
    assert len(fits(command.done(*words).out)) > 3


@pytest.mark.long
@pytest.mark.usefixtures("terminal")
def test_runs_sweeps_their_status_and_comparisons_fit(command):
    fits(command.done("run", "long.toml", "--out", "a").out)
    fits(command.done("run", "long.toml", "--set", "privacy.epsilon=3.0", "--out", "b").out)
    fits(command.done("compare", "a", "b").out)
    told = fits(command.done("sweep", "sweep.toml", "--out", "s").out)
    assert sum("0.123456789" in line for line in told) >= 2
    fits(command.done("sweep", "s", "--status").out)
    fits(command.done("compare", "s/cell-0000", "s/cell-0003").out)


@pytest.mark.long
def test_errors_are_folded_on_a_terminal_and_one_line_each_in_a_pipe(command, made, monkeypatch):
    monkeypatch.chdir(made)
    piped = command("check", "wrong.toml", "long.toml")
    assert piped.code == 2
    assert [line.split(": ")[:2] for line in piped.lines] == [
        ["wrong.toml", "run.replicates"], ["wrong.toml", "model.kind"],
    ]  # fmt: skip
    assert max(map(len, piped.lines)) > SCREEN
    monkeypatch.setattr(cli_terminal, "watched", lambda err: err)
    folded = command("check", "wrong.toml")
    assert "".join(fits(folded.err)).replace(" ", "") == "".join(piped.lines).replace(" ", "")


@pytest.mark.long
@pytest.mark.usefixtures("terminal")
def test_settings_that_are_folded_are_the_same_settings(command, monkeypatch):
    """What is copied from the screen is what a pipe has."""
    folded = command.done(*DATA).out.partition("\n\n")[2]
    monkeypatch.setattr(cli_terminal, "watched", lambda **_: False)
    assert tomllib.loads(folded) == tomllib.loads(command.done(*DATA).out.partition("\n\n")[2])
    assert "\n# its unit, used when errors are reported: please fill in\n# unit = " in f"\n{folded}"


@pytest.mark.long
@pytest.mark.usefixtures("terminal")
def test_what_goes_into_a_file_is_not_folded(command):
    assert json.loads(command.done("forecast", "small.toml", "--json").out)["psi"] > 0
