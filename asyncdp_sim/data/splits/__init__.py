"""Splits of a table's rows among owners."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.data.splits.by_column import ByColumn, name_of, rows_by_value
from asyncdp_sim.data.splits.dirichlet import Dirichlet
from asyncdp_sim.data.splits.kind import (
    InOrder,
    OwnerSplit,
    Shuffled,
    SplitKind,
    TableToSplit,
    ValuesOf,
    require_records,
)
from asyncdp_sim.spec.plugins import Place
from asyncdp_sim.spec.registry import FAMILY_BY_NAME
from asyncdp_sim.spec.validation import faults_of


def _is_split(value: object) -> object:
    """Say in one line what a split may be, rather than one line per member of the union."""
    if isinstance(value, SplitKind) or (isinstance(value, Mapping) and "kind" in value):
        return value
    table = value if isinstance(value, Mapping) else {}
    if "dirichlet" in table:
        try:
            return Dirichlet(**table)
        except SpecError as error:
            raise faults_of(error.faults) from None
    if {"column"} <= set(table) <= {"column", "least"} and isinstance(table["column"], str):
        try:
            return ByColumn(**table)
        except SpecError as error:
            raise faults_of(error.faults) from None
    if isinstance(value, str) and (value in ("in-order", "shuffled") or Place.named(value)):
        return value
    rule = 'allowed: in-order, shuffled, { column = "name" }, or { dirichlet = 0.5 }'
    raise PydanticCustomError("split", rule)


Split = Annotated[
    InOrder | Shuffled | ByColumn | Dirichlet, FAMILY_BY_NAME, BeforeValidator(_is_split)
]
"""Every way to split a table; a new one joins by its line here."""

__all__ = [
    "ByColumn",
    "Dirichlet",
    "InOrder",
    "OwnerSplit",
    "Shuffled",
    "Split",
    "SplitKind",
    "TableToSplit",
    "ValuesOf",
    "name_of",
    "require_records",
    "rows_by_value",
]
