"""The PyTorch model of the docs has all that is asked of it, as can be told without PyTorch."""

import ast
from abc import ABC
from typing import Any

import pytest

from asyncdp_sim.learning.objectives import Objective, Records
from tests.documents.parts import ROOT

EXAMPLE = ROOT / "docs" / "kinds" / "torch_model.py"


def named(class_name: str) -> set[str]:
    """Return the names in the body of a class of the example."""
    body = next(
        each.body
        for each in ast.parse(EXAMPLE.read_text(encoding="utf-8")).body
        if isinstance(each, ast.ClassDef) and each.name == class_name
    )
    functions = {each.name for each in body if isinstance(each, ast.FunctionDef)}
    return functions | {each.target.id for each in body if isinstance(each, ast.AnnAssign)}


def asked(protocol: Any) -> set[str]:
    """Return what a protocol asks for, its bases' with it."""
    return {
        name
        for each in protocol.__mro__
        if issubclass(each, ABC) and each is not ABC
        for name in {**vars(each), **vars(each).get("__annotations__", {})}
        if not name.startswith("_")
    }


INNER = {"counts", "fitness", "lengths", "loss", "spreads", "total", "width"}
"""Names that only methods of a base itself ask for, which the example replaces."""


@pytest.mark.parametrize(
    ("class_name", "protocol"), [("TorchRecords", Records), ("TorchObjective", Objective)]
)
def test_the_example_has_what_its_protocol_asks_for(class_name, protocol):
    assert len(asked(protocol)) > 5
    assert asked(protocol) - named(class_name) <= INNER
