"""The parts of a scenario that are of no other family: its id, its sweep and its run."""

from math import prod
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.scenario.paths import VARIANT, keys, variant_faults
from asyncdp_sim.spec.base import Count, Positive, Spec
from asyncdp_sim.spec.validation import faults_of


def identifier(text: str) -> str:
    """Return an id: lower-case words joined by hyphens."""
    words = text.split("-")
    if not all(word.isascii() and word.isalnum() and word == word.lower() for word in words):
        raise PydanticCustomError("id", "allowed are lower-case words joined by hyphens")
    return text


def singular(text: str) -> str:
    """Return the name of a unit: a word of letters in the singular."""
    if not text.isalpha() or text.lower().endswith("s"):
        raise PydanticCustomError("unit", "allowed is one word in the singular, such as day")
    return text


MOST_CELLS = 100_000
"""Cells of a sweep, each of which is checked before the first one runs."""


def canonical(sweep: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Spell every swept path as ``a.b``, so that one path cannot stand twice."""
    faults: list[Fault] = []
    spelled: dict[str, list[Any]] = {}
    for path, values in sweep.items():
        if len(values) == 0:
            faults.append(Fault(path, "[]", "allowed is a list with at least one value"))
        if path == VARIANT:
            faults += variant_faults(values)
            spelled[path] = values
            continue
        try:
            parts = keys(path)
        except SpecError as error:
            faults += error.faults
            continue
        name = ".".join(parts)
        if parts[0] in ("schema", "id", "sweep") or name in spelled:
            faults.append(Fault(path, "this path", "allowed is a field of the run, once each"))
        spelled[name] = values
    cells = prod(map(len, spelled.values()))
    if cells > MOST_CELLS:
        few = f"allowed are {MOST_CELLS:,} at most: sweep fewer values, or in parts"
        faults.append(Fault("", f"{cells:,} cells", few))
    if len(faults) > 0:
        raise faults_of(faults)
    return spelled


class Run(Spec):
    """The amount that is simulated."""

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    replicates: Count = 1
    updates: Count
    until: Annotated[float, Field(gt=0, le=1e9)] | None = None
    time_unit: Annotated[str, AfterValidator(singular)] | None = None
    target: Positive | None = None
    record_every: Count = 1
    ties: Literal["declared", "shuffled"] = "declared"
    learning: Literal["replay", "live"] = "replay"
    alone: bool = False
    split: bool = False
