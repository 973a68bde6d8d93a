"""Peers are named with their time, or with why there is none; nothing is installed here."""

from pathlib import Path

import pytest

from tests.benchmarks import __main__ as command
from tests.benchmarks.page import PEERS
from tests.benchmarks.peers import numpy_loop, ours, simpy, timed
from tests.benchmarks.peers.compared import compared
from tests.benchmarks.peers.pinned import FIELDS, LEARNING, Ours
from tests.benchmarks.peers.timed import NotTimedError, Timed
from tests.benchmarks.peers.work import UPDATES, Learned, Served
from tests.one_in import one_in
from tests.tables import table

FILES = Path(timed.__file__).parent
DONE = Learned(UPDATES, 0.01)
PAGE = f"Before.\n{PEERS[0]}\nold\n{PEERS[1]}\nAfter.\n"


def told(field, who):  # noqa: ARG001
    """Tell 10 ms of each of ours and 50 ms of each peer, but for one that cannot be installed."""
    if isinstance(who, Ours):
        return Timed(0.01, DONE)
    if who.name == "a plain NumPy loop":
        raise NotTimedError("No matching distribution found")
    return Timed(0.05, DONE)


def slow(field, who):  # noqa: ARG001
    return Timed(1.0 if isinstance(who, Ours) else 0.5, DONE)


def broken(field, who):  # noqa: ARG001
    raise NotTimedError("it failed")


def test_the_table_has_a_row_for_each_peer_and_names_the_one_that_failed():
    found = compared(told, [LEARNING])
    head, _, *rows = found.table.splitlines()
    assert head.startswith("| 1,000 updates of ridge regression, 100 owners, p = 10 | CPU time |")
    assert "times ours, simulated with events, learned live (10.0 ms)" in head
    row = (
        "| pfl-research (pfl==0.6.0) | 50.0 ms | 5.00 (asked: 1) | 5.00 | network, time, fitness |"
    )
    assert rows[0] == row
    assert len([each for each in rows if each.startswith("| ")]) == len(LEARNING.peers) - 1
    assert rows[-1] == "Not timed here: a plain NumPy loop 2.4.6: No matching distribution found."
    assert found.short == ()


def test_ours_that_is_slower_than_asked_stands_as_such():
    found = compared(slow, FIELDS)
    assert "| 500 ms | 0.500 (asked: 1) | 0.500 |" in found.table
    assert found.short == (
        "simulated with events, learned live: 0.500 of pfl-research; asked is 1",
    )


@pytest.mark.parametrize(("run", "code"), [(told, 0), (slow, 1)])
def test_the_command_writes_between_its_markers_and_nowhere_else(run, code, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    monkeypatch.setattr(command, "compared", lambda: compared(run))
    assert command.main(["--peers", str(page)]) == code
    text = page.read_text()
    assert text.startswith(f"Before.\n{PEERS[0]}\n| 1,000 updates")
    assert text.endswith(f"{PEERS[1]}\nAfter.\n")
    assert "old" not in text


def test_without_a_time_of_ours_or_a_place_the_file_is_left_as_it_was(
    tmp_path, monkeypatch, capsys
):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    monkeypatch.setattr(command, "compared", lambda: compared(broken))
    assert command.main(["--peers", str(page)]) == 1
    assert "left as it was, for ours was not timed: it failed" in capsys.readouterr().err
    assert page.read_text() == PAGE
    page.write_text("no markers\n")
    assert command.main(["--peers", str(page)]) == 2
    assert "no place for the table" in capsys.readouterr().err


TABLE = table(__file__, "programs_of_peers.toml")


@pytest.mark.parametrize(("says", "reason"), TABLE["says"])
def test_a_program_is_timed_or_says_why_not(says, reason, tmp_path):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{says}\n")
    python.chmod(0o755)
    if reason == "":
        assert timed.timed(python, "any", Learned) == Timed(0.5, DONE)
        return
    with pytest.raises(NotTimedError, match=reason):
        timed.timed(python, "any", Learned)


def test_an_environment_is_made_once_and_again_where_pins_have_changed(tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr(timed, "run", lambda command: commands.append(command) or "")
    peer = LEARNING.peers[0]
    (tmp_path / "pfl_research-0.6.0").mkdir()
    for _ in range(2):
        python = timed.environment(peer, tmp_path)
    assert python == tmp_path / "pfl_research-0.6.0" / "bin" / "python"
    assert [command[1:3] for command in commands] == [["-m", "venv"], ["-m", "pip"]]
    assert commands[1][-1] == "pfl==0.6.0"
    (python.parents[1] / "installed.txt").write_text("pfl==0.5.0")
    timed.environment(peer, tmp_path)
    assert len(commands) == 4


def test_every_peer_is_pinned_and_has_a_file():
    peers = [peer for field in FIELDS for peer in field.peers]
    assert len(peers) == 5
    for peer in peers:
        assert (FILES / f"{peer.module}.py").is_file()
        assert all(pin.count("==") == 1 for pin in peer.pins)
        assert peer.lacks != ""
    words = {each.word for field in FIELDS for each in field.ours}
    assert words == ours.WORKS.keys()
    assert {word for peer in peers for word, _ in peer.asked} <= words


@one_in(4, "prepared", [numpy_loop.prepared, ours.live, ours.owners, simpy.prepared])
def test_the_same_work_is_done(prepared):
    assert prepared()()().wrong() == ""


def test_other_work_is_noticed():
    """Half of the updates, models that did not learn or blew up, and a learner that queues."""
    wrong = [
        Learned(UPDATES // 2, 0.01),
        Learned(UPDATES, 9.9),
        Learned(UPDATES, float("nan")),
        Served(40_000),
        Served(19_000),
    ]
    assert [each.wrong() != "" for each in wrong] == [True] * 5
    assert Served(20_100).wrong() == ""
