"""``python -m tests.oracles`` writes the register of oracles that ships in the package.

An oracle is a test that compares the simulator with something independent of it. A module, class or
test carries ``pytest.mark.oracle(statistic, formula, source=, setting=, kinds=)``, and
``basis=`` where it is not exact; the nearest mark counts. Where an oracle has tests in several
modules, or stands in ``oracles.toml``, marks repeat its statistic alone.
``pytest.mark.no_evidence`` takes a test out.
``kinds`` names classes, or ``every`` family that its suite tries member by member. Marks are read
as text, without importing the tests.
"""

import ast
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asyncdp_sim.evidence import oracles
from asyncdp_sim.spec.base import members
from tests.conformance.members import FAMILIES

TESTS = Path(__file__).parent
REGISTER = TESTS.parent / "asyncdp_sim" / "evidence" / "oracles.json"


def main() -> None:
    """Write the register."""
    REGISTER.write_text(register(), encoding="utf-8")


def register(folder: Path = TESTS) -> str:
    """Return the register's text, a line for each oracle; new ones, and new tests, come last."""
    rows = marked(folder)
    known = {test: place for place, test in enumerate(t for each in oracles() for t in each.tests)}
    for row in rows:
        row["tests"].sort(key=lambda test: known.get(test, len(known)))
    rows.sort(key=lambda row: known.get(row["tests"][0], len(known)))
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def marked(folder: Path = TESTS) -> list[dict[str, Any]]:
    """Return every oracle as its mark states it, with its tests by file and place.

    Raises
    ------
    ValueError
        If a mark repeats a statistic that is not stated, or more than once.
    """
    stated: dict[ast.Call, dict[str, Any]] = {}
    repeated: list[tuple[str, str]] = []
    for path in sorted(folder.rglob("test_*.py")):
        text, file = path.read_text(encoding="utf-8"), path.relative_to(folder).as_posix()
        for name, mark in marks(ast.parse(text)) if "pytest.mark.oracle(" in text else ():
            if not isinstance(mark, ast.Call) or "test_fresh_seeds" in name:
                continue
            texts = [ast.literal_eval(each) for each in mark.args]
            if len(texts) == 1:
                repeated.append((texts[0], f"{file}::{name}"))
                continue
            fields = {str(each.arg): ast.literal_eval(each.value) for each in mark.keywords}
            row = stated.setdefault(mark, _row(*texts, **fields))
            row["tests"].append(f"{file}::{name}")
    file = folder / "oracles.toml"
    named = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    rows = [*stated.values(), *(_row(statistic, **fields) for statistic, fields in named.items())]
    for statistic, test in repeated:
        matches = [row for row in rows if row["statistic"] == statistic]
        if len(matches) != 1:
            raise ValueError(f"{test}: {len(matches)} oracles state {statistic!r}; allowed is one")
        matches[0]["tests"].append(test)
    return rows


def _row(
    statistic: str, formula: str, *, source: str, setting: str, kinds: str, basis: str = "exact"
) -> dict[str, Any]:
    return {
        "statistic": statistic,
        "formula": formula,
        "source": source,
        "setting": setting,
        "kinds": [name for said in kinds.split(", ") for name in _classes(said)],
        "basis": basis,
        "tests": [],
    }


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


if __name__ == "__main__":
    main()
