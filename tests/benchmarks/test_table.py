"""The command that runs all benchmarks rewrites one table, and nothing else."""

import platform
from pathlib import Path

import pytest

from tests.benchmarks import __main__ as command
from tests.benchmarks.page import BENCHMARKS
from tests.markdown_tables import rewritten
from tests.tables import table

README = "# Title\n\nBefore.\n\n<!-- benchmarks -->\nold\n<!-- end of benchmarks -->\n\nAfter.\n"
TABLE = table(__file__, "table.toml")
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
