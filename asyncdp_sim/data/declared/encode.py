"""Encoded columns, each declared by the raw columns that it is made of, and how."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from asyncdp_sim.data.dataset import Array, OnDemand, Rows, stacked
from asyncdp_sim.data.tables.text_columns import choose, some_rows
from asyncdp_sim.notices import Counted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class EncodedColumn:
    """An encoded column.

    Attributes
    ----------
    name : str
        Its name in the encoded table; of two columns of one name the first that a table has the
        raw columns for is used.
    raw : tuple of str
        The raw columns that it is made of.
    code : callable
        From these columns of some rows to their numbers, NaN where missing. A row's number does
        not depend on which others there are.
    """

    name: str
    raw: tuple[str, ...]
    code: Callable[..., Array]

    def of(self, frame: "pd.DataFrame") -> Array:
        """Return the numbers of a raw table's rows."""
        return self.code(*(frame[name] for name in self.raw))


def same_name(
    names: Iterable[str], code: Callable[["pd.Series"], Array]
) -> tuple[EncodedColumn, ...]:
    """Declare columns that are each made of the raw column of its name, all in one way."""
    return tuple(EncodedColumn(name, (name,), code) for name in names)


def indicators(raw: str, members: Mapping[str, Iterable[str]]) -> tuple[EncodedColumn, ...]:
    """Declare a column ``raw=name`` per name: 1 for its members, 0 for any other text."""
    return tuple(
        EncodedColumn(
            f"{raw}={name}", (raw,), partial(choose, codes=dict.fromkeys(texts, 1.0), other=0.0)
        )
        for name, texts in members.items()
    )


def place_in(texts: Sequence[str], column: "pd.Series") -> Array:
    """Return a text's place in a list, from 1; any other text, and none, has the next number."""
    codes = {text: float(place) for place, text in enumerate(texts, start=1)}
    return choose(column, codes, len(codes) + 1.0)


def raw_columns(declared: Iterable[EncodedColumn]) -> tuple[str, ...]:
    """Return the raw columns that are read, in order."""
    return tuple(dict.fromkeys(name for column in declared for name in column.raw))


def available(
    declared: Iterable[EncodedColumn], columns: Collection[str]
) -> tuple[EncodedColumn, ...]:
    """Return the columns that a table with these raw columns has."""
    found: dict[str, EncodedColumn] = {}
    for column in declared:
        if all(name in columns for name in column.raw):
            found.setdefault(column.name, column)
    return tuple(found.values())


def encoded(
    frame: "pd.DataFrame", used: Sequence[EncodedColumn], target: Array, notes: Iterable[str]
) -> OnDemand:
    """Return a raw table in these columns, missing values as 0."""

    def encode(rows: Rows) -> Array:
        part = some_rows(frame, rows)
        return stacked((column.of(part) for column in used), len(rows), len(used))

    return OnDemand(encode, target, tuple(column.name for column in used), tuple(notes))


def lacking(said: str, names: Iterable[str], columns: Collection[str]) -> tuple[str, ...]:
    """Return a note with the names that are not among the columns, if any."""
    absent = [name for name in names if name not in columns]
    return (f"{said}: {', '.join(absent)}.",) if absent else ()


def if_any(text: str, **count: int) -> tuple[str, ...]:
    """Return a note with one number in it, if there is anything to count."""
    return (Counted(text, **count),) if any(count.values()) else ()
