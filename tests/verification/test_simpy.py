"""SimPy's own tests pass on the kernel, but for a few, whose reasons ``docs/recipes.md`` gives.

They come from the source distribution of the installed version, which pip downloads at run time.
"""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from shutil import unpack_archive

import pytest

from tests.nightly.reports import ROOT
from tests.tables import table

pytestmark = pytest.mark.no_evidence

DIFFERENT = re.compile(r"^\| `(test_\w+)` \| [^|]+\. \|$", flags=re.MULTILINE)
"""A row of ``docs/recipes.md``: a test of SimPy's that fails on the kernel, and why."""
LEFT_OUT = ("test_rt.py", "test_benchmark.py")
"""Tests of the environment in real time, and of speed, which need a plugin."""
TABLE = table(__file__, "simpy.toml")
ON_THE_KERNEL = TABLE["on_the_kernel"]


def run(folder: Path, *command: str) -> tuple[int, str]:
    """Run a module of this Python in a folder; return its exit code and what it printed."""
    ended = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.nightly
def test_simpys_own_tests_pass_on_the_kernel(tmp_path):
    name = f"simpy-{version('simpy')}"
    asked = name.replace("-", "==")
    code, said = run(tmp_path, "pip", "download", "--no-deps", "--no-binary", "simpy", asked)
    assert code == 0, said
    unpack_archive(tmp_path / f"{name}.tar.gz", tmp_path, filter="data")
    folder = tmp_path / name
    with (folder / "tests" / "conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(ON_THE_KERNEL)
    ignored = [f"--ignore=tests/{file}" for file in LEFT_OUT]
    code, said = run(folder, "pytest", "-rA", "-p", "no:cacheprovider", *ignored, "tests")
    assert code == 1, said
    outcomes = re.findall(r"^(PASSED|FAILED|ERROR) tests/\w+\.py::(\S+)", said, flags=re.MULTILINE)
    failed = sorted(test for outcome, test in outcomes if outcome != "PASSED")
    page = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    assert failed == sorted(DIFFERENT.findall(page))
    assert len(failed) <= 4
    assert len(outcomes) > 130  # of 132 in SimPy 4.1.2
