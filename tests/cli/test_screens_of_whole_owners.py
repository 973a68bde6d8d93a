"""Every screen of a scenario whose unit is an owner says record only where it means one."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.whole_owners import WHOLE_OWNERS

TUNED: dict[str, Any] = WHOLE_OWNERS | {
    "run": {"seed": 4, "updates": 20, "replicates": 2, "record_every": 5, "alone": True},
    "protocol": {"kind": "request"},
    "algorithm": {"kind": "async-gossip", "rho": 1.0},
    "privacy": WHOLE_OWNERS["privacy"] | {"epsilon": 8.0},
}
MEANT = (
    r"\d+( to \d+)? records",  # how many an owner has
    r"numbers? of records",
    r"(all|all its) records",  # of which ψ is, and of an owner
    r"(synthetic|private|same|own|best|owners?'s?|owner's own|training) records",
    r"records of (each|an|the) owner",
    r"owner +records\b",  # a column of a table
    r"each record of owner \d+",  # in an audit, which ones change
    r"an owner or one record \(privacy.unit\)",
    r"read different records",  # two results
    r"∞ if an owner's records are public",
    r"record_every|\"records?\"|_records?\b|\brecords_|recorded",
)  # fmt: skip


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
