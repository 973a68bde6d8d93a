"""Reports of tests, as pytest tells of them: read back from a run of its own process."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fresh import GIVEN

ROOT = Path(__file__).parents[2]
FILE = "ASYNCDP_NIGHTLY_REPORTS"
"""Environment variable that names the file to which this plugin writes."""
NOT_RUN = "not benchmark and not browser and not jax and not torch"


@dataclass(frozen=True)
class Report:
    """What became of one test.

    Attributes
    ----------
    test : str
        Its id, beneath ``tests``.
    outcome : str
        ``passed``, ``failed`` or ``skipped``.
    seconds : float
    properties : list of pairs
        What it recorded: scores, inputs tried.
    why : str
        The last line of a failure, or why it was skipped.
    """

    test: str
    outcome: str
    seconds: float
    properties: list[tuple[str, Any]]
    why: str

    def recorded(self, name: str) -> list[Any]:
        """Return what the test recorded by a name."""
        return [value for key, value in self.properties if key == name]


def reports(tests: Sequence[str], seed: int, marks: str = NOT_RUN) -> Iterator[Report]:
    """Run tests by themselves, fresh seeds from one number; yield what became of each.

    Raises
    ------
    RuntimeError
        If they could not be collected.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "reports.jsonl")
        command = [sys.executable, "-m", "pytest", "-p", "tests.nightly.reports", "-p", "no:xdist"]
        command += ["-p", "no:cacheprovider", "-m", marks, f"--hypothesis-seed={seed}"]
        command += [f"tests/{test}" for test in tests]
        environment = os.environ | {FILE: str(file), GIVEN: str(seed)}
        ended = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if ended.returncode not in (0, 1, 5):
            raise RuntimeError(f"{' '.join(tests)}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    yield from (Report(**json.loads(line)) for line in lines)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write what became of a test: of its call, or of what went wrong around it."""
    if FILE in os.environ and (report.when == "call" or report.outcome != "passed"):
        with Path(os.environ[FILE]).open("a", encoding="utf-8") as out:
            out.write(json.dumps(asdict(_of(report))) + "\n")


def _of(report: pytest.TestReport) -> Report:
    said = report.longrepr
    reason = said[2] if isinstance(said, tuple) else str(getattr(said, "reprcrash", None) or said)
    return Report(
        test=_placeless(report.nodeid.removeprefix("tests/")),
        outcome=report.outcome,
        seconds=round(report.duration, 2),
        properties=list(report.user_properties),
        why="" if report.outcome == "passed" else _placeless(reason.strip().splitlines()[-1])[:500],
    )


def _placeless(text: str) -> str:
    """Return a text without the place of this work tree, which is of one machine."""
    return text.replace(f"{ROOT}/", "")
