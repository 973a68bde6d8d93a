"""Splitting of a table's rows among owners."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from asyncdp_sim.data.dataset import Rows
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.notices import Counted
from asyncdp_sim.spec import Spec
from asyncdp_sim.streams import Scope, Streams


class ByColumn(Spec):
    """One owner per distinct value of a column of the table, in sorted order of the values.

    Attributes
    ----------
    column : str
    least : int
        Values with fewer rows than this (≥ 1) are no owners.
    """

    column: str
    least: Annotated[int, Field(ge=1)] = 1


def _is_split(value: object) -> object:
    """Say in one line what a split may be, rather than one line per member of the union."""
    table = isinstance(value, Mapping) and {"column"} <= set(value) <= {"column", "least"}
    column = value["column"] if isinstance(value, Mapping) and table else None
    if isinstance(column, str) or value in ("in-order", "shuffled") or isinstance(value, ByColumn):
        return value
    raise PydanticCustomError("split", 'allowed: in-order, shuffled, or { column = "name" }')


Split = Annotated[Literal["in-order", "shuffled"] | ByColumn, BeforeValidator(_is_split)]


def owner_rows(
    split: Literal["in-order", "shuffled"],
    available: int,
    public: int,
    records: Sequence[int],
    streams: Streams | Scope,
) -> list[Rows]:
    """Return each owner's row numbers when owners take a given number of records each.

    Parameters
    ----------
    split : {"in-order", "shuffled"}
        Consecutive blocks in file order, owner i rows [(i−1)n, in); or the same blocks of a
        permutation drawn from the stream ``("data", "split")``.
    available : int
        Rows 0…available−1 may be given to owners.
    public : int
        Public rows held back from the owners; for the error's text.
    records : sequence of int
        n_i ≥ 1 per owner.
    streams : Streams or Scope
        The run's random streams.

    Raises
    ------
    DataError
        On ``owners.records``, when the owners need more rows than there are.
    """
    needed = sum(records)
    if needed > available:
        held = f", and {public} more are public" if public > 0 else ""
        change = ", or data.public_records, or set data.public_overlap = true" if public > 0 else ""
        allowed = (
            f"more records than the table has: owners can share {available} rows{held}; "
            f"lower owners.records or owners.count{change}"
        )
        raise DataError([Fault("owners.records", f"{needed} in all", allowed)])
    order = np.arange(available)
    if split == "shuffled":
        order = streams.generator("data", "split").permutation(available)
    ends = np.cumsum(records)
    return [order[end - n : end] for end, n in zip(ends, records, strict=True)]


def rows_by_value(
    column: str,
    values: Sequence[object],
    n_owners: int,
    records: Sequence[int] | None,
    least: int = 1,
) -> tuple[list[Rows], tuple[str, ...]]:
    """Return each owner's row numbers when every distinct value of a column is an owner.

    Parameters
    ----------
    column : str
        The column's name, for the error's text.
    values : sequence
        The column over the rows that owners may hold; None where it is empty.
    n_owners : int
        The number of owners that the scenario states.
    records : sequence of int, optional
        If given, owner i keeps the first n_i of its rows.
    least : int
        Values with fewer rows are no owners.

    Returns
    -------
    tuple
        Rows per owner, in sorted order of the values (numbers before texts), and notes.

    Raises
    ------
    DataError
        On ``owners.count`` when it is not the number of distinct values; on ``owners.records``
        when an owner has fewer rows than that.
    """
    groups: dict[object, list[int]] = {}
    unowned = 0
    for row, value in enumerate(values):
        if value is None:
            unowned += 1
        else:
            groups.setdefault(value, []).append(row)
    too_few = [value for value, rows in groups.items() if len(rows) < least]
    groups = {value: rows for value, rows in groups.items() if len(rows) >= least}
    if len(groups) != n_owners:
        enough = f" with at least {least} rows" if least > 1 else ""
        allowed = f"allowed is {len(groups)}, the number of distinct values of {column!r}{enough}"
        raise DataError([Fault("owners.count", str(n_owners), allowed)])
    names = sorted(groups, key=lambda v: (isinstance(v, str), v))
    rows = [np.array(groups[name], dtype=np.int64) for name in names]
    notes = [
        Counted(
            "Each of the {values} values of {column!r} is one owner, in sorted order.",
            values=len(groups),
            column=column,
        )
    ]
    if len(too_few) > 0:
        notes.append(
            Counted(
                "{values} values of {column!r} have fewer than {least} rows: no owners.",
                values=len(too_few),
                column=column,
                least=least,
            )
        )
    if unowned > 0:
        notes.append(
            Counted(
                "{rows} rows without a value of {column!r} belong to no owner.",
                rows=unowned,
                column=column,
            )
        )
    if records is not None:
        short = [
            Fault(
                "owners.records", f"{n} for owner {i + 1}", f"{column} {name!r} has {len(r)} rows"
            )
            for i, (n, r, name) in enumerate(zip(records, rows, names, strict=True))
            if n > len(r)
        ]
        if short:
            raise DataError(short)
        rows = [r[:n] for r, n in zip(rows, records, strict=True)]
    return rows, tuple(notes)


def require_records(records: Sequence[int] | None, n_owners: int) -> Sequence[int]:
    """Return the records per owner, refusing their absence.

    Raises
    ------
    DataError
        On ``owners.records``, when absent or not one number ≥ 1 per owner.
    """
    if records is None:
        allowed = "this field is required unless data.split names a column"
        raise DataError([Fault("owners.records", "nothing", allowed)])
    if len(records) != n_owners:
        allowed = f"allowed is one number, or {n_owners} (one per owner)"
        raise DataError([Fault("owners.records", f"{len(records)} numbers", allowed)])
    if min(records) < 1:
        raise DataError([Fault("owners.records", str(min(records)), "allowed is a number ≥ 1")])
    return records
