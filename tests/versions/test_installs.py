"""The wheel beside other packages, and the sdist built, installed and tested from itself."""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.versions.declared import ROOT
from tests.versions.matrix import OF_LINT

pytestmark = pytest.mark.nightly
NEIGHBOURS = (
    *("flwr", "pfl", "opacus", "nvflare", "flgo", "scikit-learn", "torch", "jax-privacy", "opendp"),
    "mlflow",
)
PYTHON = "3.12"
"""Which all of them support: pfl has no wheel for 3.13."""
BUILD = "import sys, setuptools.build_meta as b; getattr(b, sys.argv[1])(sys.argv[2])"


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


def test_the_wheel_has_the_pages_of_the_documentation(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    pages = (ROOT / "docs").rglob("*.md")
    assert {f"asyncdp_sim/{page.relative_to(ROOT).as_posix()}" for page in pages} <= names


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_the_wheel_is_installed_beside(neighbour: str, built: Path) -> None:
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


def test_the_sdist_is_tested_from_itself(built: Path) -> None:
    [top] = (built / "unpacked").iterdir()
    python = built / "python" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{top}[suite]", folder=built)
    run(python, "-m", "scenarios", folder=top)
    run(python, "-m", "pytest", "-n", str(os.cpu_count()), f"--ignore={OF_LINT}", folder=top)
