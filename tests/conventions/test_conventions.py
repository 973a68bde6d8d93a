"""Rooms, start-up, the wheel and first lines: how the code is laid out is tested too."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

from tests.tables import table

ROOT = Path(__file__).resolve().parents[2]


def test_no_folder_is_a_flat_drawer():
    """At most 17 modules in a folder of what runs: more are found by search alone."""
    rooms = ("asyncdp_sim", "analysis", "scenarios")
    folders = {file.parent for room in rooms for file in (ROOT / room).rglob("*.py")}
    assert {f.name: n for f in folders if (n := len(list(f.glob("*.py")))) > 17} == {}


TABLE = table(__file__, "conventions.toml")
SEVERAL = TABLE["several"]
"""Names of several classes, with what the one is of the other."""


@cache
def modules() -> list[ast.Module]:
    """Return the package's modules as trees."""
    files = (ROOT / "asyncdp_sim").rglob("*.py")
    return [ast.parse(file.read_text("utf-8")) for file in files]


def test_a_name_is_of_one_class():
    """One word per thing: a query is no protocol, and a graph is no topology."""
    names = Counter(n.name for each in modules() for n in each.body if isinstance(n, ast.ClassDef))
    shared = {name for name, count in names.items() if count > 1 and not name.startswith("_")}
    assert shared == SEVERAL.keys()


def test_start_up_is_light():
    heavy = ("matplotlib", "scipy", "pandas", "pyarrow", "networkx")
    code = f"import sys, asyncdp_sim.cli; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


SMALL = TABLE["small"]


def test_a_small_run_imports_few_modules_of_ours(tmp_path):
    """What its kinds, and no forecast, figure or audit, need."""
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    code = (
        "import sys; from asyncdp_sim.__main__ import main; sys.argv[1:] = ['run', 'small.toml']\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print(sum(m.partition('.')[0] == 'asyncdp_sim' for m in sys.modules))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert int(done.stdout.split()[-1]) <= 170


def test_no_figure_waits_for_slow_imports():
    """SciPy's statistics take longer to import than most figures to draw."""
    slow = re.compile(r"scipy\.stats|import pandas")
    files = (ROOT / "asyncdp_sim" / "figures").rglob("*.py")
    assert [file.name for file in files if slow.search(file.read_text(encoding="utf-8"))] == []


def test_no_print_or_global_state_in_the_library():
    banned = r"\b(print|basicConfig|set_start_method|np\.random\.seed)\(|\bNotImplementedError\b"
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in (ROOT / "asyncdp_sim").rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(banned, line)
    ]
    assert found == []


def test_the_wheel_has_every_file():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    top = ROOT / "asyncdp_sim"
    data = {file for file in top.rglob("*.*") if file.suffix not in (".py", ".pyc")}
    patterns = settings["package-data"]["asyncdp_sim"]
    assert data == {file for each in patterns for file in top.glob(each)}
    assert all((file.parent / "__init__.py").exists() for file in top.rglob("*.py"))


ASKS = re.compile(r"(What|How|When|Who|Whose|Which|Whether|Where|Why)\b")
STILL = {"Desk", "Known"}
"""Classes that begin with a question still."""


def test_a_module_says_first_what_it_is():
    """A first line names the thing: not "What it is for", "How it works", "When it happens"."""
    modules = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    assert len(modules) > 600
    first = {file: file.read_text("utf-8").partition("\n")[0] for file in modules}
    found = [
        f"{file.relative_to(ROOT)}: {said}"
        for file, said in first.items()
        if ASKS.match(said.removeprefix('"""')) is not None
    ]
    assert found == []


def test_a_class_says_first_what_it_is():
    nodes = (node for each in modules() for node in ast.walk(each))
    said = [(n.name, ast.get_docstring(n) or "") for n in nodes if isinstance(n, ast.ClassDef)]
    assert len(said) > 600
    assert {name for name, first in said if ASKS.match(first) is not None} == STILL


ROOMS = ("asyncdp_sim", "analysis", "scenarios", "tests")


TOP = {
    ".ci", ".gitignore", "CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md",
    "LICENSE", "MANIFEST.in", "PACKAGE.md", "README.md", "analysis", "asyncdp_sim", "docs",
    "mkdocs.yml", "paper.bib", "paper.md", "pyproject.toml", "scenarios", "setup.py", "tests",
}  # fmt: skip


def test_nothing_else_is_kept_at_the_top():
    """A test that worked in the folder of the project left a scenario there, which was kept."""
    listed = ["git", "ls-files"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert {file.split("/")[0] for file in files.splitlines()} <= TOP
