"""Classes from outside that a scenario's tables name, and parts of it that are replaced."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.scenario.paths import EITHER, Raw
from asyncdp_sim.spec.base import Spec
from asyncdp_sim.spec.plugins import mapped, named

_S = TypeVar("_S", bound=Spec)


def require_code(raw: Raw, *, allowed: bool) -> None:
    """Execute the code of all classes from outside that tables name.

    Raises
    ------
    SpecError
        If that is not allowed, or code does not load; without any such class nothing is raised.
    """
    faults: list[Fault] = []
    for key, place in named(raw):
        try:
            if not allowed:
                raise place.locked()
            place.execute()
        except SpecError as error:
            faults += [fault.under(key) for fault in error.faults]
    if len(faults) > 0:
        raise SpecError(faults)


def absolute(raw: Raw, folder: Path) -> Raw:
    """Return tables whose files of code no longer depend on the folder that they are read from."""
    return dict(mapped(raw, lambda place: str(place.moved(os.path.abspath(folder / place.code)))))


def relative(raw: Raw, folder: Path) -> Raw:
    """Return tables whose files of code load from where the tables are written."""
    here = folder.absolute()
    return dict(mapped(raw, lambda place: str(place.moved(os.path.relpath(place.code, here)))))


def replaced(spec: _S, parts: Mapping[str, Any]) -> _S:
    """Return a specification with other parts, validated like any.

    Parameters
    ----------
    spec : Spec
    parts : mapping
        From the names of fields to objects, or to tables: one with a ``kind`` is a part of its
        own, another changes fields of the part that is there.
    """
    names = {name: field.alias or name for name, field in type(spec).model_fields.items()}
    fields = {names[name]: value for name, value in spec if name in spec.model_fields_set}
    new: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, part in parts.items():
        try:
            new[name] = _part(getattr(spec, name, None), name, part)
        except SpecError as error:
            faults += error.faults
    if len(faults) > 0:
        raise SpecError(faults)
    return type(spec)(**(fields | new))


def _part(before: object, name: str, given: Any) -> Any:
    """Return what comes in the place of a part."""
    if not isinstance(before, Spec) or not isinstance(given, Mapping) or "kind" in given:
        return given
    rest = {other for (part, field), other in EITHER.items() if part == name and field in given}
    gone = (rest - {*given}) & {*type(before).model_fields}
    try:
        return replaced(before, {**given, **dict.fromkeys(gone)})
    except SpecError as error:
        raise SpecError([fault.under(name) for fault in error.faults]) from None
