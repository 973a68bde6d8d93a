"""``python -m tests.benchmarks [--peers] [FILE]``: run all benchmarks and rewrite their table.

FILE is ``docs/benchmarks.md`` by default, and the rows that ``docs/how-long.md`` has of it are then
written there too; or it is another file with the two markers. ``--peers`` times published peers
instead, each in an environment of its own that is made in ``.peers`` and kept there, and rewrites
their table. Exit 0 done; 1 where a ratio is lower than asked (the table says so) or a benchmark
broke (the table is left as it was); 2 the file has no place for a table.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests import markdown_tables
from tests.benchmarks.page import BENCHMARKS, PAGE, PEERS, ROOT
from tests.benchmarks.peers.compared import compared
from tests.benchmarks.peers.timed import NotTimedError
from tests.machine import machine
from tests.markdown_tables import rewritten

HERE = Path(__file__).parent
HOW_LONG = ROOT / "docs" / "how-long.md"
COLUMNS = ("what", "ours", "baseline", "ratio")
Row = tuple[str, ...]


class Collected:
    """What benchmarks reported, as pytest tells of it.

    Attributes
    ----------
    rows : list of tuple of str
        One per report: what, ours, baseline, ratio.
    skipped : list of str
        Why benchmarks were skipped.
    broken : list of str
        Those that failed before they had reported.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.skipped: list[str] = []
        self.broken: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the reports of a test that has run, or why it has not."""
        if report.skipped and isinstance(report.longrepr, tuple):
            self.skipped.append(report.longrepr[2].removeprefix("Skipped: "))
        elif report.when == "call":
            found = rows(report.user_properties)
            self.rows += found
            if report.failed and len(found) == 0:
                self.broken.append(report.location[2])
        elif report.failed:
            self.broken.append(report.location[2])


def rows(properties: Iterable[tuple[str, object]]) -> list[Row]:
    """Return the rows that properties make, in their order."""
    values = [str(value) for name, value in properties if name in COLUMNS]
    return list(zip(*(iter(values),) * len(COLUMNS), strict=True))


def table(found: Sequence[Row], skipped: Sequence[str]) -> str:
    """Return the table in Markdown, with what was skipped and the machine below."""
    left_out = [f"Not measured here: {reason}." for reason in skipped]
    return "\n".join([markdown_tables.table(COLUMNS, found), "", *left_out, machine()])


def renewed(text: str, content: str) -> str:
    """Return a text in which rows of a table are as they stand in another of the same columns.

    A row is the same as another where what is measured is, and what it is measured against.
    """
    known = {_subject(line): line for line in content.splitlines() if _subject(line) is not None}
    return "".join(
        known.get(_subject(line), line.rstrip("\n")) + "\n" for line in text.splitlines(True)
    )


def _subject(line: str) -> tuple[str, str] | None:
    """Return what a row of the table is about; None of other lines."""
    cells = line.strip().split(" | ")
    if len(cells) != len(COLUMNS) or ", " not in cells[2]:
        return None
    return cells[0], cells[2].partition(", ")[2]


def main(arguments: Sequence[str]) -> int:
    """Run the benchmarks, or time peers, and write what was found into the file."""
    peers = "--peers" in arguments
    files = [Path(each) for each in arguments if each != "--peers"]
    file = files[0] if len(files) > 0 else PAGE
    try:
        rewritten(file.read_text(encoding="utf-8"), "", PEERS if peers else BENCHMARKS)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{file}: {error}\n")
        return 2
    return of_peers(file) if peers else of_benchmarks(file)


def of_peers(file: Path) -> int:
    """Time peers, and write their table into the file."""
    try:
        found = compared()
    except NotTimedError as error:
        sys.stderr.write(f"{file}: left as it was, for ours was not timed: {error}\n")
        return 1
    content = f"{found.table}\n\n{machine()}"
    text = rewritten(file.read_text(encoding="utf-8"), content, PEERS)
    file.write_text(text, encoding="utf-8")
    for line in found.short:
        sys.stderr.write(f"{line}\n")
    sys.stdout.write(f"{file}: peers\n")
    return int(len(found.short) > 0)


def of_benchmarks(file: Path) -> int:
    """Run all benchmarks, and write their table into the file."""
    collected = Collected()
    quietly = ["-p", "no:xdist", "-p", "no:cacheprovider", "-m", "benchmark", "-s", str(HERE)]
    code = int(pytest.main(quietly, plugins=[collected]))
    if len(collected.broken) > 0 or code not in (0, 1):
        broke = ", ".join(collected.broken) or "the run"
        sys.stderr.write(f"{file}: left as it was, for {broke} did not report\n")
        return 1
    content = table(collected.rows, collected.skipped)
    file.write_text(
        rewritten(file.read_text(encoding="utf-8"), content, BENCHMARKS), encoding="utf-8"
    )
    if file == PAGE:
        chosen = renewed(HOW_LONG.read_text(encoding="utf-8"), content)
        HOW_LONG.write_text(chosen, encoding="utf-8")
    sys.stdout.write(f"{file}: {len(collected.rows)} rows\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
