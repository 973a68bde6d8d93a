"""Tables of benchmarks: the command that writes them, peers, growth, and the walk of an update."""

import platform
import sys
from pathlib import Path

import pytest

from tests.benchmarks import __main__ as command
from tests.benchmarks import growth
from tests.benchmarks.growth import AXES, GROWTH, measured
from tests.benchmarks.page import BENCHMARKS, PAGE, PEERS
from tests.benchmarks.peers import numpy_loop, ours, simpy, timed
from tests.benchmarks.peers.compared import compared
from tests.benchmarks.peers.pinned import FIELDS, LEARNING, Ours
from tests.benchmarks.peers.timed import NotTimedError, Timed
from tests.benchmarks.peers.work import UPDATES, Learned, Served
from tests.benchmarks.walk import switches, walk
from tests.markdown_tables import rewritten
from tests.one_in import one_in
from tests.tables import table

README = "# Title\n\nBefore.\n\n<!-- benchmarks -->\nold\n<!-- end of benchmarks -->\n\nAfter.\n"
TABLE = table(__file__, "tables.toml")
HEAD = TABLE["head"]
TWO_REPORTS = """
def test_two(record_property):
    for n in (1, 2):
        report(record_property, f"work {n}", ours=0.5, baseline=n, against="idling", at_least=1)
"""
TOO_SLOW = TABLE["too_slow"]
SKIPPED = TABLE["skipped"]
BROKEN = TABLE["broken"]


@pytest.fixture
def outcome(tmp_path, monkeypatch, capfd):
    """Return what comes of a folder of benchmarks: the exit code, and the file."""

    def run(*tests, readme=README):
        folder, file = tmp_path / "suite", tmp_path / "README.md"
        folder.mkdir()
        (folder / "pytest.ini").write_text("[pytest]\nmarkers = benchmark\n")
        module = f"test_{tmp_path.name}.py"  # one of its own, for pytest keeps modules by name
        (folder / module).write_text(HEAD + "".join(tests))
        file.write_text(readme)
        monkeypatch.setattr(command, "HERE", folder)
        return command.main([str(file)]), file.read_text(), capfd.readouterr().err

    return run


def test_the_table_has_a_row_for_every_report(outcome):
    code, text, _ = outcome(TWO_REPORTS, SKIPPED)
    assert code == 0
    assert text.startswith("# Title\n\nBefore.\n\n<!-- benchmarks -->\n| what | ours | baseline |")
    assert text.endswith("<!-- end of benchmarks -->\n\nAfter.\n")
    assert "| work 1 | 0.500 s | 1.00 s, idling | 2.00 (asked: 1) |\n| work 2 |" in text
    assert "Not measured here: idling is not installed." in text
    assert "old" not in text
    assert f"Python {platform.python_version()}" in text
    assert platform.node() not in text
    assert str(Path.cwd()) not in text


def test_a_ratio_below_what_is_asked_is_in_the_table_and_fails(outcome):
    code, text, _ = outcome(TWO_REPORTS, TOO_SLOW)
    assert code == 1
    assert "| slow work | 4,000 s | 1.00 s, idling | 0.000250 (asked: 1) |" in text


def test_a_benchmark_that_broke_leaves_the_file_as_it_was(outcome):
    code, text, said = outcome(TWO_REPORTS, BROKEN)
    assert (code, text) == (1, README)
    assert said.endswith("left as it was, for test_broken did not report\n")


@pytest.mark.parametrize("mark", BENCHMARKS)
def test_a_file_without_both_markers_is_refused(outcome, mark):
    without = README.replace(mark, "")
    code, text, said = outcome(TWO_REPORTS, readme=without)
    assert (code, text) == (2, without)
    assert "no place for the table" in said


def test_a_second_table_is_refused():
    with pytest.raises(ValueError, match="no place"):
        rewritten(README + README, "new", BENCHMARKS)


def test_rows_elsewhere_are_renewed_by_what_they_are_about():
    rows = [("work", "1.00 s", "2.00 s, idling", "2.00"), ("work", "1.00 s", "9 s, naps", "9")]
    text = "Text.\n\n| work | 7 s | 8 s, idling | 1.1 |\n| more | 1 s | 1 s, idling | 1 |\n"
    assert command.renewed(text, command.table(rows, [])) == (
        "Text.\n\n| work | 1.00 s | 2.00 s, idling | 2.00 |\n| more | 1 s | 1 s, idling | 1 |\n"
    )


# Peers are named with their time, or with why there is none; nothing is installed here.


FILES = Path(timed.__file__).parent
DONE = Learned(UPDATES, 0.01)
OF_PEERS = f"Before.\n{PEERS[0]}\nold\n{PEERS[1]}\nAfter.\n"


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
    page.write_text(OF_PEERS)
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
    page.write_text(OF_PEERS)
    monkeypatch.setattr(command, "compared", lambda: compared(broken))
    assert command.main(["--peers", str(page)]) == 1
    assert "left as it was, for ours was not timed: it failed" in capsys.readouterr().err
    assert page.read_text() == OF_PEERS
    page.write_text("no markers\n")
    assert command.main(["--peers", str(page)]) == 2
    assert "no place for the table" in capsys.readouterr().err


@pytest.mark.parametrize(("says", "reason"), TABLE["programs_of_peers"])
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


# The growth page has what its script measures; nothing is timed here.


def test_the_page_has_a_row_for_each_size():
    text = PAGE.read_text(encoding="utf-8")
    rows = text.partition(GROWTH[0])[2].partition(GROWTH[1])[0].splitlines()
    for axis in AXES:
        sizes = ", ".join(f"{size:,}" for size in axis.sizes)
        assert sum(row.startswith(f"| {axis.name} | {sizes} | ") for row in rows) == 1


def test_exponents_are_of_the_two_largest_sizes():
    quadratic = {axis.name: [size**2 / 100 for size in axis.sizes] for axis in AXES}
    rows = [line for line in growth.table(quadratic, (18.2, 690)).splitlines() if "2.00, " in line]
    assert len(rows) == len(AXES)


@pytest.mark.long
def test_a_size_is_run_with_cells_and_without():
    for sizes in ({"owners": 3, "updates": 10}, {"cells": 2, "updates": 10}):
        seconds, peak = measured(sizes)
        assert seconds > 0
        assert peak > 10


# One live update passes through few files and asks few questions; the counter counts both.


SNIPPET = TABLE["snippet"]


def test_switches_are_counted_by_line(tmp_path):
    file = tmp_path / "asks.py"
    file.write_text(SNIPPET, encoding="utf-8")
    assert dict(switches(str(file))) == {3: 2, 5: 1, 6: 1, 7: 1}


def test_a_live_update_passes_no_more_than_this():
    """Gradient, clip and noise are said in one method; the kernel goes on in one way.

    Each answer passes 43 questions; a second, inlined loop of the kernel asked four fewer.

    Choosing callables where a run begins asks 26, and hides which noise is added.
    """
    traced = sys.gettrace()
    seen = walk()
    sys.settrace(traced)
    through = {
        "core/kernel.py",
        "network/protocols/star.py",
        "learning/live.py",
        "trace/recorder.py",
    }
    assert through <= set(seen.files)
    assert len(seen.files) <= 13
    assert 0 < seen.switches.total() <= 43
