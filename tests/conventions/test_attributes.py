"""The section "Attributes" of a class names what its instances have."""

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator

import pytest

import asyncdp_sim


def classes() -> Iterator[type]:
    """Yield every class of the package, each in the module that defines it."""
    for module in pkgutil.walk_packages(asyncdp_sim.__path__, "asyncdp_sim."):
        if module.name.endswith("__main__") or ".flower." in module.name:
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
