"""The wheel beside others, and its commands; the sdist built, installed and tested from itself."""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from asyncdp_sim.cli import COMMANDS
from tests.tables import table
from tests.versions.declared import ROOT
from tests.versions.matrix import OF_LINT

pytestmark = pytest.mark.nightly
TABLE = table(__file__, "installs.toml")
NEIGHBOURS = TABLE["neighbours"]
PYTHON = "3.12"
"""Which all of them support: pfl has no wheel for 3.13."""
BUILD = "import sys, setuptools.build_meta as b; getattr(b, sys.argv[1])(sys.argv[2])"

STAYS = [f"{'ABC'[row % 3]},{20 + row * 7 % 50},{row * row % 37}" for row in range(180)]
EXCHANGES = [f"{'ab'[i % 2]},{i},{i + i % 7 / 9}" for i in range(90)]
FILES = {
    "stays.csv": "\n".join(["site,age,days", *STAYS]),
    "log.csv": "\n".join(["client,sent,received", *EXCHANGES]),
}
WALK = TABLE["walk"]
"""Every command, in an order in which one makes what another reads."""
LEAN = ("matplotlib", "networkx", "jinja2", "markupsafe")
"""What docs/install.md says can be left out."""


def run(*words: str | Path, folder: Path) -> str:
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
    return ended.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sdist and with the wheel that is made of it, and a Python beside it."""
    folder = tmp_path_factory.mktemp("built")
    tree = folder / "tree"
    tracked = run("git", "ls-files", folder=ROOT).splitlines()
    for name in tracked:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    venv.create(folder / "python", with_pip=True)
    python = folder / "python" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "setuptools>=77", folder=folder)
    run(python, "-c", BUILD, "build_sdist", folder, folder=tree)
    [sdist] = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    [top] = (folder / "unpacked").iterdir()
    assert [name for name in tracked if not (top / name).exists()] == [".gitignore"]
    run(python, "-c", BUILD, "build_wheel", folder, folder=top)
    return folder


def test_the_wheel_has_the_pages_of_the_documentation(built):
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    pages = (ROOT / "docs").rglob("*.md")
    assert {f"asyncdp_sim/{page.relative_to(ROOT).as_posix()}" for page in pages} <= names


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_the_wheel_is_installed_beside(neighbour, built):
    [wheel] = built.glob("*.whl")
    asked = (
        "--dry-run",
        "--ignore-installed",
        "--only-binary",
        ":all:",
        "--python-version",
        PYTHON,
    )
    there = ("--quiet", "--target", built / "nowhere", wheel, neighbour)
    run(sys.executable, "-m", "pip", "install", *asked, *there, folder=built)


def test_every_command_of_the_wheel_works_and_without_some_packages_says_so(built, tmp_path):
    [wheel] = built.glob("*.whl")
    venv.create(tmp_path / "python", with_pip=True)
    pip = (tmp_path / "python" / "bin" / "python", "-m", "pip")
    run(*pip, "install", "--quiet", wheel, folder=tmp_path)
    assert {words.split()[0] for words in WALK.splitlines()} == set(COMMANDS)
    assert walk(tmp_path, "whole") == {}
    run(*pip, "uninstall", "--yes", *LEAN, folder=tmp_path)
    said = "asyncdp: {0} is not installed: pip install {0}\n".format
    assert walk(tmp_path, "lean") == {
        "plot sweep": (2, said("matplotlib")),
        "report run": (2, said("jinja2")),
    }


def walk(tmp_path: Path, name: str) -> dict[str, tuple[int, str]]:
    """Call each command in a new folder; return what those printed that did not work."""
    folder = tmp_path / name
    folder.mkdir()
    for file, text in FILES.items():
        (folder / file).write_text(text, encoding="utf-8")
    failed = {}
    for words in WALK.splitlines():
        asked = [tmp_path / "python" / "bin" / "asyncdp", *words.split()]
        ended = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
        print(f"exit {ended.returncode}: asyncdp {words}")
        if ended.returncode != 0:
            failed[words] = (ended.returncode, ended.stderr)
    return failed


def test_the_sdist_is_tested_from_itself(built):
    [top] = (built / "unpacked").iterdir()
    python = built / "python" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{top}[suite]", folder=built)
    run(python, "-m", "scenarios", folder=top)
    run(python, "-m", "pytest", "-n", str(os.cpu_count()), f"--ignore={OF_LINT}", folder=top)
