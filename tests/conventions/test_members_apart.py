"""No code asks which member of a family it has: what it must know is a trait or a method."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from asyncdp_sim.core.specification import kind_of, members
from tests.conformance.members import FAMILIES, FORMS
from tests.tables import table

ROOT = Path(__file__).resolve().parents[2]
MEMBERS = {member.__name__ for union in (FAMILIES | FORMS).values() for member in members(union)}
KINDS = {kind_of(member) for union in FAMILIES.values() for member in members(union)}
TABLE = table(__file__, "members_apart.toml")
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
