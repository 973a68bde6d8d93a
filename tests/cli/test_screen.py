"""The screen: nothing is said twice, what matters most is first, and owners as the unit."""

import io
import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from asyncdp_sim.cli.terminal import note_all, show
from asyncdp_sim.core.words import SCREEN
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
