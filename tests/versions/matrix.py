"""Environments of several versions, and the suite in each."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.versions.declared import EXTRA, PYTHONS, ROOT, constraints, minima


@dataclass(frozen=True)
class Environment:
    """Versions that the suite is to run with.

    Attributes
    ----------
    python : str
        Such as ``3.12``.
    oldest : bool
        Whether packages are the oldest declared; else they are the newest.
    """

    python: str
    oldest: bool

    def __str__(self) -> str:
        return f"Python {self.python}, {'oldest' if self.oldest else 'newest'} packages"


@dataclass(frozen=True)
class Outcome:
    """What became of an environment.

    Attributes
    ----------
    environment : Environment
    passed : bool or None
        Whether all tests did; None where they were not run.
    said : str
        The last line, and which failed; or why they were not run.
    packages : dict
        Versions of the packages that the project declares, as they were installed.
    """

    environment: Environment
    passed: bool | None
    said: str
    packages: dict[str, str] = field(default_factory=dict)


OF_LINT = "tests/conventions/test_lint.py"
"""What needs pinned tools, and says nothing of versions."""
ALL = (Environment(PYTHONS[0], oldest=True), *(Environment(each, oldest=False) for each in PYTHONS))


def interpreter(python: str) -> str | None:
    """Return a program that is this Python, if there is one here."""
    versions = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob(
        f"{python}.*/bin/python"
    ))  # fmt: skip
    here = [shutil.which(f"python{python}"), *map(str, versions)]
    return next((each for each in here if each is not None and _is(each, python)), None)


def _is(program: str, python: str) -> bool:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    ended = subprocess.run([program, "-c", code], capture_output=True, text=True, check=False)
    return ended.stdout.strip() == python


def run(
    folder: Path, tests: Sequence[str], environments: Sequence[Environment] = ALL
) -> Iterator[Outcome]:
    """Make each environment below a folder, where it is kept, and run tests in it."""
    for environment in environments:
        program = interpreter(environment.python)
        if program is None:
            yield Outcome(environment, None, f"not run: there is no Python {environment.python}")
            continue
        place = folder / str(environment).replace(", ", "-").replace(" ", "-").lower()
        said = _made(environment, program, place)
        yield Outcome(environment, None, said) if said != "" else _suite(environment, place, tests)


def _made(environment: Environment, program: str, place: Path) -> str:
    """Make an environment; return why it cannot be, or nothing."""
    place.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([program, "-m", "venv", str(place)], check=True)
    asked = ["install", "--quiet", "-e", f"{ROOT}[{EXTRA}]"]
    if environment.oldest:
        file = place / "constraints.txt"
        file.write_text(constraints(), encoding="utf-8")
        asked += ["-c", str(file)]
    pip = subprocess.run(
        [place / "bin" / "python", "-m", "pip", *asked],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    wrong = [line for line in pip.stderr.splitlines() if line.startswith("ERROR")]
    return "" if pip.returncode == 0 else f"not run: {wrong[0] if wrong else 'pip failed'}"


def _suite(environment: Environment, place: Path, tests: Sequence[str]) -> Outcome:
    command = [str(place / "bin" / "python"), "-m", "pytest", "-p", "no:cacheprovider", *tests]
    command += [f"--ignore={OF_LINT}"]
    command += ["-W", "ignore::DeprecationWarning"] if environment.oldest else []  # of each other
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    said = "; ".join([(lines or ended.stderr.splitlines() or ["nothing"])[-1], *failed[:20]])
    return Outcome(environment, ended.returncode == 0, said, _packages(place))


def _packages(place: Path) -> dict[str, str]:
    """Return which versions of the declared packages an environment has."""
    asked = [place / "bin" / "python", "-m", "pip", "list", "--format", "json"]
    listed = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    has = {each["name"].lower().replace("_", "-"): each["version"] for each in listed}
    return {name: has[name] for name in minima() if name in has}


def main(tests: Sequence[str]) -> int:
    """Run the suite, or these tests, everywhere; return how many environments failed."""
    outcomes = []
    for each in run(ROOT / ".versions", tests):
        print(f"{each.environment}: {each.said}", flush=True)
        outcomes.append(each)
    return sum(each.passed is False for each in outcomes)
