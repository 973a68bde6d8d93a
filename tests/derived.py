"""Kinds from outside that inherit all that they do: classes that derive from one of the package."""

from typing import Any, Literal


def derived(base: type[Any], kind: str, **members: Any) -> type[Any]:
    """Return a class of a kind of its own, with these members in place of its base's."""
    whole = {"kind": kind, "__annotations__": {"kind": Literal[kind]}, "__module__": __name__}
    return type(kind, (base,), whole | members)
