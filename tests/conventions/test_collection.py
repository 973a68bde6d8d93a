"""Tests have the same names in every process, whenever it collects them and however it hashes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (
    sys.executable, "-m", "pytest", "-o", "addopts=--strict-markers", "--collect-only", "-q",
    "-p", "no:cacheprovider",
)  # fmt: skip


@pytest.mark.long
def test_names_of_tests_depend_neither_on_hashes_nor_on_the_second():
    """Processes of pytest-xdist refuse to begin where they do."""
    first, second = (
        subprocess.run(
            COMMAND, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True,
            text=True, check=True,
        ).stdout.splitlines()
        for seed in ("1", "2")
    )  # fmt: skip
    assert len(first) > 8000
    assert [line for line in first if "::" in line] == [line for line in second if "::" in line]
