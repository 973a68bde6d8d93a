"""Declared minima are read as they stand, and environments are asked for by them."""

import re
import sys
from pathlib import Path

from tests.versions.declared import PYTHONS, ROOT, constraints, minima
from tests.versions.matrix import ALL, OF_LINT, Environment, interpreter, run


def test_every_package_that_is_declared_has_a_least_version():
    found = minima()
    assert {"simpy", "numpy", "typer", "dask", "pytest", "mkdocs"} <= found.keys()
    assert all(re.fullmatch(r"[0-9.]+", version) for version in found.values())
    assert f"numpy=={found['numpy']}\n" in constraints()


def test_the_pythons_are_those_that_the_project_names():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"Python :: (3\.\d+)", text) == list(PYTHONS)
    assert f'requires-python = ">={PYTHONS[0]}"' in text
    assert ALL[0] == Environment(PYTHONS[0], oldest=True)


def test_only_lint_is_left_out():
    tests = (ROOT / "tests").rglob("test_*.py")
    pinned = re.compile(r"^(import|from) grimp|\"(ruff|mypy)\"", flags=re.MULTILINE)
    needing = [test for test in tests if pinned.search(test.read_text(encoding="utf-8"))]
    assert ROOT / OF_LINT in needing
    assert set(needing) <= {ROOT / OF_LINT, Path(__file__)}
    assert not {"ruff", "mypy", "import-linter"} & minima().keys()


def test_a_python_that_is_not_here_is_named(tmp_path, monkeypatch):
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin")
    assert interpreter("2.0") is None
    [outcome] = run(tmp_path, [], [Environment("2.0", oldest=True)])
    assert outcome.passed is None
    assert outcome.said == "not run: there is no Python 2.0"
    assert interpreter(here) is None or Path(str(interpreter(here))).exists()
