"""Plant mistakes in a copy of the project, one at a time, and see which are noticed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import ROOT, Mutant

LONGEST = 900
"""Seconds that the tests of one mutant may take: one that hangs is noticed too."""
PARTS = ("asyncdp_sim", "analysis", "scenarios", "tests", "docs", "pyproject.toml", "README.md")


@dataclass(frozen=True)
class Found:
    """What became of a mutant.

    Attributes
    ----------
    mutant : Mutant
    killer : str or None
        The first test that failed; None where none did.
    """

    mutant: Mutant
    killer: str | None


def copied(folder: Path) -> Path:
    """Copy what tests need of the project into a folder."""
    leave_out = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=leave_out)
        else:
            shutil.copy2(ROOT / part, folder / part)
    return folder


def hunt(mutants: Sequence[Mutant], folder: Path, *, sound: bool = False) -> Iterator[Found]:
    """Yield what becomes of each mutant, planted in a copy of the project.

    Parameters
    ----------
    mutants : sequence of Mutant
    folder : Path
        Empty; for the copy.
    sound : bool
        Whether it is known that the tests pass without a mutant; else they are run first.

    Raises
    ------
    RuntimeError
        If the tests fail before anything is planted, or cannot be run.
    """
    root = copied(folder)
    named = dict.fromkeys(test for mutant in mutants for test in mutant.noticed_by)
    for tests in () if sound else named:
        failed = first_failure(root, [tests])
        if failed is not None:
            raise RuntimeError(f"{tests} fails without any mutant: {failed}")
    for mutant in mutants:
        before = mutant.plant(root)
        try:
            yield Found(mutant, first_failure(root, mutant.noticed_by))
        finally:
            (root / mutant.file).write_text(before, encoding="utf-8")


def first_failure(root: Path, tests: Sequence[str]) -> str | None:
    """Return the first test that fails in a copy of the project; None where all pass.

    Raises
    ------
    RuntimeError
        If they could not be run.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-rfE", "--no-header", "--tb=no"]
    command += ["-p", "no:cacheprovider", "-p", "no:randomly", "-m", "not nightly", *tests]
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=LONGEST,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no end after {LONGEST} s"
    if ended.returncode == 0:
        return None
    for line in ended.stdout.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0]
    raise RuntimeError(f"{' '.join(tests)} could not be run: {ended.stdout}{ended.stderr}")
