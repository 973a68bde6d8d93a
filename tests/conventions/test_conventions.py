"""Rooms, start-up, the wheel and first lines: how the code is laid out is tested too."""

import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import asyncdp_sim
from asyncdp_sim.core.specification import kind_of, members
from tests.conformance.members import FAMILIES, FORMS
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
    return [ast.parse(file.read_text("utf-8")) for file in (ROOT / "asyncdp_sim").rglob("*.py")]


def test_a_name_is_of_one_class():
    """One word per thing: a query is no protocol, and a graph is no topology."""
    names = Counter(n.name for each in modules() for n in each.body if isinstance(n, ast.ClassDef))
    shared = {name for name, count in names.items() if count > 1 and not name.startswith("_")}
    assert shared == SEVERAL.keys()


def printed(*command: str, folder: Path = ROOT, check: bool = True, **environment: str) -> str:
    """Return what a program prints."""
    how = {"env": os.environ | environment, "capture_output": True, "text": True}
    return subprocess.run(command, cwd=folder, check=check, **how).stdout


def test_start_up_is_light():
    heavy = ("matplotlib", "scipy", "pandas", "pyarrow", "networkx")
    code = f"import sys, asyncdp_sim.cli; print([m for m in {heavy!r} if m in sys.modules])"
    assert printed(sys.executable, "-c", code).strip() == "[]"


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
    assert int(printed(sys.executable, "-c", code, folder=tmp_path).split()[-1]) <= 170


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
    assert {
        file.split("/")[0] for file in printed("git", "ls-files", check=False).splitlines()
    } <= TOP


# The section "Attributes" of a class names what its instances have.


def classes() -> Iterator[type]:
    """Yield every class of the package, each in the module that defines it."""
    for module in pkgutil.walk_packages(asyncdp_sim.__path__, "asyncdp_sim."):
        if module.name.endswith("__main__") or ".private_learning." in module.name:
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(value) and value.__module__ == module.name:
                yield value


def stated(documentation: str) -> list[str]:
    """Return the names in the numpydoc section "Attributes" of a docstring."""
    _, found, section = inspect.cleandoc(documentation).partition("\nAttributes\n----------\n")
    if found == "":
        return []
    names: list[str] = []
    lines = section.splitlines()
    for place, line in enumerate(lines):
        if place + 1 < len(lines) and lines[place + 1].startswith("---"):
            break  # the next section
        if line != "" and not line.startswith(" "):
            names += [name.strip() for name in line.split(" : ")[0].split(",")]
    return names


def attributes(kind: type) -> set[str]:
    """Return what instances have: annotated fields, class attributes, and what methods set."""
    names: set[str] = set()
    for base in kind.__mro__[:-1]:
        names |= {*vars(base), *getattr(base, "__annotations__", {})}
        if base.__module__.startswith(("asyncdp_sim", __name__)):
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
            names |= {
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            }
    return names


class Wrong:
    """A class.

    Attributes
    ----------
    old, kept : int
        Two numbers.
    """

    def __init__(self) -> None:
        self.kept = 1


def test_a_name_that_no_instance_has_is_found():
    assert stated(str(Wrong.__doc__)) == ["old", "kept"]
    assert set(stated(str(Wrong.__doc__))) - attributes(Wrong) == {"old"}


@pytest.mark.long
def test_attributes_in_docstrings_are_those_of_the_class():
    found = [kind for kind in classes() if len(stated(vars(kind).get("__doc__") or "")) > 0]
    assert len(found) > 50
    wrong = {
        f"{kind.__module__}.{kind.__name__}": sorted(absent)
        for kind in found
        if len(absent := set(stated(str(kind.__doc__))) - attributes(kind)) > 0
    }
    assert wrong == {}


# Tests have the same names in every process, whenever it collects them and however it hashes.

COLLECT = (
    "-m", "pytest", "-o", "addopts=--strict-markers", "--collect-only", "-q",
    "-p", "no:cacheprovider",
)  # fmt: skip


@pytest.mark.long
def test_names_of_tests_depend_neither_on_hashes_nor_on_the_second():
    """Processes of pytest-xdist refuse to begin where they do."""
    first, second = (
        printed(sys.executable, *COLLECT, PYTHONHASHSEED=seed).splitlines() for seed in "12"
    )
    assert len(first) > 8000
    assert [line for line in first if "::" in line] == [line for line in second if "::" in line]


# Plain English: phrases of a former dialect, one a line in ``dialect.txt``, do not come back.

PHRASES = Path(__file__).with_name("dialect.txt").read_text("utf-8").splitlines()
DIALECT = re.compile(rf"\b({'|'.join(map(re.escape, PHRASES))})\b", re.I)
COLUMN = re.compile(r"[.\"`\[]unheard\b|^unheard\b", re.M)
"""The name of a column of results, which stays."""
BREAK = re.compile(r"[\"'#]*\s+[\"'#]*\s*")
"""A space, or the end of a line within a sentence."""
TEXTS = ("*.md", "docs/**/*.md", "asyncdp_sim/**/*.py", "asyncdp_sim/**/*.toml")


@pytest.mark.long
def test_texts_are_in_plain_english():
    texts = {
        str(file.relative_to(ROOT)): file.read_text("utf-8")
        for pattern in TEXTS
        for file in ROOT.glob(pattern)
    }
    texts["CHANGELOG.md"] = texts["CHANGELOG.md"].partition("\n## 0.1.0")[0]
    found = {
        name: phrases
        for name, text in texts.items()
        if (phrases := DIALECT.findall(BREAK.sub(" ", COLUMN.sub("", text))))
    }
    assert found == {}


# No code asks which member of a family it has: what it must know is a trait or a method.


MEMBERS = {member.__name__ for union in (FAMILIES | FORMS).values() for member in members(union)}
KINDS = {kind_of(member) for union in FAMILIES.values() for member in members(union)}
WITH_A_REASON = {
    (file, member) for file, told in TABLE["with_a_reason"].items() for member in told["members"]
}
"""Type tests that remain; each has its reason where it stands."""


def names(node: ast.expr) -> Iterator[str]:
    """Yield the names of classes in the second argument of ``isinstance``."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute):
            yield each.id if isinstance(each, ast.Name) else each.attr


def asked(text: str) -> Iterator[str]:
    """Yield every member that some code asks for by type, or by a kind in quotes."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass") and len(node.args) == 2:
                yield from (name for name in names(node.args[1]) if name in MEMBERS)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            of_kind = any(isinstance(each, ast.Attribute) and each.attr == "kind" for each in sides)
            constants = [c.value for each in sides for c in ast.walk(each) if _is_text(c)]
            yield from (f"kind {each}" for each in constants if of_kind and each in KINDS)
            types = [each for each in sides if isinstance(each, ast.Name) and each.id in MEMBERS]
            yield from (each.id for each in types)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_nobody_asks_which_member_it_is():
    found = {
        (path.relative_to(ROOT).as_posix(), member)
        for room in ("asyncdp_sim", "analysis", "scenarios")
        for path in (ROOT / room).rglob("*.py")
        for member in asked(path.read_text("utf-8"))
    }
    assert found == WITH_A_REASON


@pytest.mark.parametrize(("text", "told"), TABLE["told"])
def test_who_asks_is_told(text, told):
    assert list(asked(text)) == told
