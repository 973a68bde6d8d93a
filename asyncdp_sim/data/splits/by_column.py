"""The split by a column: each of its values is an owner."""

import re
from collections.abc import Iterable, Sequence
from math import inf
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer
from typing_extensions import override

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.data.dataset import Rows
from asyncdp_sim.data.splits.kind import OwnerSplit, SplitKind, TableToSplit, ValuesOf
from asyncdp_sim.spec.base import about

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,300})(\.[0-9]+)?")


class ByColumn(SplitKind):
    """One owner per distinct value of a column of the table, in sorted order of the values."""

    kind: Literal["by-column"] = "by-column"
    column: Annotated[str, about("The column whose distinct values are the owners")]
    least: Annotated[int, Field(ge=1), about("Rows that a value needs to be an owner", "rows")] = 1

    @model_serializer(mode="wrap")
    def _without_kind(self, table: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in table(self).items() if name != "kind"}

    @property
    @override
    def of_column(self) -> str:
        return self.column

    @override
    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        return tuple(_in_order(_groups(values, self.least)[0]))

    @override
    def owned(self, asked: TableToSplit) -> OwnerSplit:
        values = asked.values_of(self.column)[: asked.available]
        arguments = (asked.n_owners, asked.records, self.least)
        rows, notes = rows_by_value(self.column, values, *arguments)
        return OwnerSplit(rows, tuple(name_of(values[r[0]]) for r in rows), notes)

    @override
    def repeated(self, times: int) -> Self:
        return self.model_copy(update={"least": times * self.least})

    @override
    def likened(
        self, owned: OwnerSplit, values_of: ValuesOf, first: int, public: int, apart: bool
    ) -> Rows:
        """Take a public row that names an owner to be like that owner's."""
        places = {name: place for place, name in enumerate(owned.names)}
        values = values_of(self.column)[first:]
        like = [-1 if value is None else places.get(name_of(value), -1) for value in values]
        return np.array(like, dtype=np.int64)


def name_of(value: object) -> str:
    """Return a value as text, as it is written; of a Parquet's fractions 1.0 is 1.

    Whole numbers with gaps are such fractions in files that others write.
    """
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


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
        Rows per owner, in sorted order of the values (numbers before other texts), and notes.

    Raises
    ------
    DataError
        On ``owners.count`` when it is not the number of distinct values; on ``owners.records``
        when an owner has fewer rows than that.
    """
    groups, too_few = _groups(values, least)
    unowned = values.count(None)
    if len(groups) != n_owners:
        enough = f" with at least {least} rows" if least > 1 else ""
        rule = f"allowed is {len(groups)}, the number of distinct values of {column!r}{enough}"
        raise DataError([Fault("owners.count", str(n_owners), rule)])
    names = _in_order(groups)
    rows = [groups[name] for name in names]
    notes = [
        FormattedMessage(
            "Each of the {values} values of {column!r} is one owner, in sorted order.",
            values=len(groups),
            column=column,
        )
    ]
    if too_few > 0:
        notes.append(
            FormattedMessage(
                "{values} values of {column!r} have fewer than {least} rows: no owners.",
                values=too_few,
                column=column,
                least=least,
            )
        )
    if unowned > 0:
        notes.append(
            FormattedMessage(
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


def _groups(values: Sequence[object], least: int) -> tuple[dict[str, Rows], int]:
    """Return the rows of each value that has enough, and how many values have too few."""
    numbers = dict[object, int]()
    held = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    names = dict[str, int]()  # of values that differ some have one name, such as 1 and 1.0
    named = [names.setdefault(name_of(value), len(names)) for value in numbers]
    groups = np.array([*named, -1], dtype=np.int64)[held]
    ends = np.cumsum(np.bincount(groups + 1, minlength=len(names) + 1))
    _, *parts = np.split(np.argsort(groups, kind="stable"), ends[:-1])
    enough = {name: rows for name, rows in zip(names, parts, strict=True) if len(rows) >= least}
    return enough, len(names) - len(enough)


def _in_order(names: Iterable[str]) -> list[str]:
    """Return names in sorted order: numbers by size, then all others."""
    return sorted(
        names, key=lambda name: (float(name), name) if _NUMBER.fullmatch(name) else (inf, name)
    )
