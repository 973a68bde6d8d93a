"""The register of oracles: which tests check which statistics of which kinds.

An oracle is a test that compares the simulator with something independent of it. A module, class or
test carries ``pytest.mark.oracle(statistic)``, of which the nearest counts; ``oracles.toml`` has
the rest under that name: formula, source, setting, kinds, and a basis where it is not exact.
``pytest.mark.no_evidence`` takes a test out. Kinds are names of classes, or ``every`` family that
its suite tries member by member. Marks are read as text, without importing the tests; ``python -m
tests.documents`` writes them into the pages of ``docs/parts``.
"""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from asyncdp_sim.core.plugins import is_outside
from asyncdp_sim.core.specification import Variant, members
from tests.conformance.members import FAMILIES

TESTS = Path(__file__).parent
STATED = tomllib.loads((TESTS / "oracles.toml").read_text(encoding="utf-8"))


class Basis(StrEnum):
    """Grounds on which a number rests, the strongest first."""

    exact = "exact"
    approximation = "approximation"
    replay = "replay"
    unverified = "unverified"

    @property
    def words(self) -> str:
        """What it means."""
        return {
            "exact": "an exact oracle",
            "approximation": "an approximation, with its range",
            "replay": "a live run equals its replay; there is no formula",
            "unverified": "not checked by an oracle",
        }[self]


@dataclass(frozen=True)
class Oracle:
    """A statistic with an independent value, and the tests that compare them.

    Attributes
    ----------
    statistic : str
        What is measured of the simulator.
    formula : str
        What it must equal.
    source : str
        Where that comes from: an author, a module of the package, a method.
    setting : str
        Where it was checked: what it says nothing beyond.
    kinds : tuple of str
        Names of the classes that the simulated networks or learners are made of, and that would
        fail it.
    basis : Basis
    tests : tuple of str
        Ids, ``folder/file.py::function`` beneath ``tests``, in the order of files and lines.
    """

    statistic: str
    formula: str
    source: str
    setting: str
    kinds: tuple[str, ...]
    basis: Basis
    tests: tuple[str, ...]


@cache
def oracles() -> tuple[Oracle, ...]:
    """Return all oracles, in the order in which they are stated."""
    return marked()


@cache
def oracles_of(kind: type[Variant]) -> tuple[Oracle, ...]:
    """Return the oracles that a kind is held against; of one from outside there are none."""
    if is_outside(kind):
        return ()
    return tuple(oracle for oracle in oracles() if kind.__name__ in oracle.kinds)


def basis_of(kind: type[Variant]) -> Basis:
    """Return the strongest basis that any oracle gives a kind."""
    value = {item.basis for item in oracles_of(kind)}
    return next((basis for basis in Basis if basis in value), Basis.unverified)


def marked(
    folder: Path = TESTS, stated: Mapping[str, dict[str, str]] = STATED
) -> tuple[Oracle, ...]:
    """Return every oracle as it is stated, with its tests by file and place.

    Raises
    ------
    ValueError
        If a mark has a statistic that is not stated, or a statistic has no test.
    """
    tests: dict[str, list[str]] = {statistic: [] for statistic in stated}
    for path in sorted(folder.rglob("test_*.py")):
        text, file = path.read_text(encoding="utf-8"), path.relative_to(folder).as_posix()
        for name, mark in marks(ast.parse(text)) if "pytest.mark.oracle(" in text else ():
            if not isinstance(mark, ast.Call) or "test_fresh_seeds" in name:
                continue
            [statistic] = [ast.literal_eval(each) for each in mark.args]
            if statistic not in tests:
                raise ValueError(f"{file}::{name}: {statistic!r} is not stated in oracles.toml")
            tests[statistic].append(f"{file}::{name}")
    idle = [statistic for statistic, names in tests.items() if names == []]
    if len(idle) > 0:
        raise ValueError(f"no test has the mark of {idle}")
    return tuple(_oracle(each, tests[each], **fields) for each, fields in stated.items())


def _oracle(
    statistic: str,
    tests: list[str],
    formula: str,
    *,
    source: str,
    setting: str,
    kinds: str,
    basis: str = "exact",
) -> Oracle:
    names = tuple(name for said in kinds.split(", ") for name in _classes(said))
    return Oracle(statistic, formula, source, setting, names, Basis(basis), tuple(tests))


def _classes(said: str) -> Iterator[str]:
    """Yield the names of classes: ``every clock with rate`` is those that have this field."""
    if not said.startswith("every "):
        yield said
        return
    family, _, field = said.removeprefix("every ").partition(" with ")
    for member in members(FAMILIES[family]):
        if field == "" or field in member.model_fields:
            yield member.__name__


def marks(module: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the tests of a module with their marks: ``oracle``, ``no_evidence`` or neither."""
    names = {
        node.targets[0].id: node.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }

    def mark(decorators: list[ast.expr], outer: ast.expr | None) -> ast.expr | None:
        for decorator in decorators:
            own = names.get(decorator.id) if isinstance(decorator, ast.Name) else decorator
            text = "" if own is None else ast.unparse(own)
            if text.startswith(("pytest.mark.oracle(", "pytest.mark.no_evidence")):
                return own
        return outer

    whole = names.get("pytestmark", ast.List([]))
    top = mark(whole.elts if isinstance(whole, ast.List) else [whole], None)
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name, mark(node.decorator_list, top)
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            of_class = mark(node.decorator_list, top)
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test_"):
                    yield f"{node.name}::{inner.name}", mark(inner.decorator_list, of_class)
