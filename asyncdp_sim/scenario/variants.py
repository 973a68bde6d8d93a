"""Variants of a scenario: settings of several paths that go together, under a name."""

from collections.abc import Iterator, Mapping
from typing import Any

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.faults import show
from asyncdp_sim.scenario.paths import keys

VARIANT = "variant"
"""The swept name whose values are tables of dotted paths, each with a ``name``."""


def faults(values: list[Any]) -> list[Fault]:
    """Return what is wrong with a list of variants."""
    found: list[Fault] = []
    names: list[object] = []
    for variant in values:
        if not isinstance(variant, Mapping) or not isinstance(variant.get("name"), str):
            allowed = 'allowed are tables with a text "name" and dotted paths'
            found.append(Fault(VARIANT, show(variant), allowed))
            continue
        if variant["name"] in names:
            found.append(Fault(VARIANT, show(variant["name"]), "allowed is each name once"))
        names.append(variant["name"])
        for path in variant:
            try:
                first = keys(path)[0]
            except SpecError as error:
                found += error.faults
                continue
            if first in ("schema", "id", "sweep"):
                found.append(Fault(VARIANT, path, "allowed is a field of the run"))
    return found


def settings(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the dotted paths that a swept value sets, and what it sets them to."""
    if path == VARIANT:
        yield from ((inner, given) for inner, given in value.items() if inner != "name")
    else:
        yield path, value


def spoken(path: str, value: Any) -> Any:
    """Return a swept value as tables and pictures show it: a variant by its name."""
    return value["name"] if path == VARIANT else value
