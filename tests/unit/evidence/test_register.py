"""The register names tests that exist, kinds that they are about, and leaves out none."""

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from asyncdp_sim.evidence import NOT_OF_A_KIND, ORACLES, Basis, basis_of, oracles_of
from asyncdp_sim.spec import kind_of, members
from tests.conformance.members import FAMILIES

TESTS = Path(__file__).resolve().parents[2]
NOTICED = (
    "PlantedBugs", "_is_seen", "_are_seen", "_sees_", "planted", "fresh_seeds", "noticed",
    "refuted", "is_wrong",
    "printed_bound_fails", "unsound", "too_small_a", "bugs", "how_loose", "intervals_of_fitted",
)  # fmt: skip
"""In names of tests that show what an oracle notices, or how sharp it is."""
ALIASES = {
    "AsyncGossip": ("gossip_map", "lending-convergence"),
    "Collab1": ("collab_theorem2",),
    "Ridge": ("Quadratic",),
    "Logistic": ("LOSSES",),
    "SVM": ("LOSSES",),
    "Huber": ("LOSSES",),
    "MLP": ("Perceptron",),
    "LossDistributions": ("accountant=pld",),
    "ClipAnswers": ("Clipping",),
    "ByColumn": ('"column"',),
    "Intervals": ("intervals",),
    "DeclaredMoments": ("stand_ins.moments",),
    "PublicRows": ("twin",),
}
"""What tests call a kind where they try its parts."""
UNVERIFIED = {
    ("availability", "churn"): "no long run",
    ("clock", "scripted"): "given times",
    ("graph", "file"): "edges of a file",
}


@cache
def source(file: str) -> str:
    """Return the text of a test file and of the helpers beside it that it imports."""
    path = TESTS / file
    text = path.read_text("utf-8")
    near = re.findall(r"^from (?:\.|tests\.)([\w.]+) import", text, re.M)
    helpers = [path.parent / f"{name}.py" for name in near]
    helpers += [TESTS / f"{name.replace('.', '/')}.py" for name in near]
    return "\n".join([text, *(each.read_text("utf-8") for each in helpers if each.is_file())])


@cache
def functions(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    found = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    return found | {
        f"{each.name}::{inner.name}"
        for each in classes
        for inner in each.body
        if isinstance(inner, ast.FunctionDef)
    }


def test_every_oracle_test_exists_and_is_of_the_default_run_or_the_night() -> None:
    named = [test.split("::", 1) for each in ORACLES for test in each.tests]
    assert len(named) > 150
    assert [f"{file}::{name}" for file, name in named if name not in functions(file)] == []
    assert len({each.name for each in ORACLES}) == len(ORACLES)


def test_every_oracle_test_of_verification_is_registered_or_about_no_kind() -> None:
    """But for those that show what an oracle notices: they are the oracle's own."""
    named = {test for each in ORACLES for test in each.tests}
    left = []
    for path in sorted((TESTS / "verification").glob("test_*.py")):
        file, name = f"verification/{path.name}", path.stem.removeprefix("test_")
        registered = any(test.startswith(f"{file}::") for test in named)
        assert registered != (name in NOT_OF_A_KIND), f"{name} is in both lists, or in neither"
        if registered:
            wanted = {f for f in functions(file) if "test_" in f}
            own = {f for f in wanted if not any(part in f for part in NOTICED)}
            left += [f"{file}::{each}" for each in sorted(own) if f"{file}::{each}" not in named]
    assert left == []
    files = {path.stem.removeprefix("test_") for path in (TESTS / "verification").glob("test_*")}
    assert set(NOT_OF_A_KIND) <= files


def test_a_kind_is_named_where_it_is_said_to_be_tested() -> None:
    """By its class or by its kind; or its whole family is tried, member by member."""
    family = {member: name for name, union in FAMILIES.items() for member in members(union)}
    silent = []
    for oracle in ORACLES:
        text = "\n".join(source(test.split("::")[0]) for test in oracle.tests)
        for kind in oracle.kinds:
            words = (rf"\b{kind.__name__}\b", rf"['\"]{kind_of(kind)}['\"]")
            words += (rf"examples\({family[kind].capitalize()}", rf"FAMILIES\[.{family[kind]}")
            noise = kind.__name__.replace("Mechanism", "Noise")
            words += (rf"\b{noise}\b", *ALIASES.get(kind.__name__, ()))
            if not any(re.search(word, text) for word in words):
                silent.append(f"{oracle.name}: {kind.__name__}")
    assert silent == []


def test_bases_are_those_of_the_oracles() -> None:
    families = {member: name for name, union in FAMILIES.items() for member in members(union)}
    every = list(families)
    weak = {(families[k], kind_of(k)) for k in every if basis_of(k) is Basis.unverified}
    assert weak == set(UNVERIFIED)
    assert all(set(each.kinds) <= set(every) for each in ORACLES)
    for kind in every:
        given = [each.basis for each in oracles_of(kind)]
        assert basis_of(kind) in given or given == []


@pytest.mark.parametrize("basis", list(Basis))
def test_each_basis_has_words(basis: Basis) -> None:
    assert len(basis.words) > 5


def test_sources_that_are_ours_are_there() -> None:
    """Modules of the package and files of tests, wherever a source names them."""
    said = " ".join(each.source for each in ORACLES)
    modules = set(re.findall(r"\basyncdp_sim(?:\.\w+)+", said))
    files = set(re.findall(r"\btests/[\w/]+\.py", said))
    assert len(modules) > 15
    assert len(files) > 4
    assert [name for name in sorted(modules) if find_spec(name) is None] == []
    assert [name for name in sorted(files) if not (TESTS.parent / name).is_file()] == []
