"""The first place where two results differ: an event, an update, or a number."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncdp_sim.comparisons.comparison import changed
from asyncdp_sim.results import read_manifest, read_table
from asyncdp_sim.runs.differences import Difference, directories

if TYPE_CHECKING:
    import pandas as pd

BEFORE = 3
"""Rows that are told of what came before, which both results share."""
_MOST = 6
_DRAWN = {
    "clock_tick": "the gap of its owner's clock before it",
    "clock_dropped": "the gap of its owner's clock before it",
    "request_sent": "the gap of its owner's clock before it",
    "query_sent": "the way of the request",
    "answer_released": "the way of the query, or the computation",
    "answer_delivered": "the way of the answer",
    "answer_collided": "the way of the answer, or another's",
    "answer_lost": "the loss of the answer",
    "update_applied": "the way of the answer",
    "retry": "the wait before it",
    "went_online": "the time offline before it",
    "went_offline": "the time online before it",
}
"""What is drawn that ends with an event of a kind."""


@dataclass(frozen=True)
class ComparedTable:
    """A table in which results may differ, and what its rows are.

    Attributes
    ----------
    name : str
    keys : tuple of str
        Columns that say which row it is.
    what : str
        Of a row.
    """

    name: str
    keys: tuple[str, ...]
    what: str


TABLES = (
    ComparedTable("events", ("replicate", "seq"), "event"),
    ComparedTable("updates", ("replicate", "k"), "update"),
    ComparedTable("optimum", ("coordinate",), "number"),
    ComparedTable("curve", ("replicate", "k"), "number"),
    ComparedTable("models", ("replicate", "coordinate"), "number"),
    ComparedTable("owners", ("replicate", "owner"), "number"),
)
"""In the order in which a run comes to them: the network first, then what is learned over it."""


@dataclass(frozen=True)
class FirstDifference:
    """The first difference of two results, in lines to be read.

    Attributes
    ----------
    lines : tuple of str
        Empty where they are equal.
    notes : tuple of str
        What they were made with, where that differs: it is no difference by itself.
    """

    lines: tuple[str, ...]
    notes: tuple[str, ...]


def first_difference(first: Path, second: Path) -> FirstDifference:
    """Return the first event, update or number in which two results, or sweeps, differ.

    Parameters
    ----------
    first, second : Path

    Raises
    ------
    ResultError
        If one is none, or damaged.
    """
    ours, theirs = read_manifest(first), read_manifest(second)
    found = [*directories(first, second), *_absent(first, second)]
    notes = tuple(f"{replace(each, of='second')}" for each in found if each.of_circumstances)
    differ = [each for each in found if not each.of_circumstances]
    if len(differ) == 0:
        return FirstDifference((), notes)
    settings = _settings(ours["scenario"], theirs["scenario"])
    return FirstDifference((*settings, *_first(first, second, differ)), notes)


def _absent(first: Path, second: Path) -> Iterator[Difference]:
    """Yield the files besides tables that the first result has alone."""
    there = {each.relative_to(second) for each in second.rglob("*")}
    for path in sorted(first.rglob("*")):
        name = path.relative_to(first)
        known = name.name in ("manifest.json", "scenario.toml")
        if known and name not in there:
            yield Difference(str(name), "", "a file", "nothing")


def _settings(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    differ = [each.words() for each in changed(ours, theirs)]
    for field, one, other in differ[:_MOST]:
        yield f"setting: {field} is {one}, and {other}"
    if len(differ) > _MOST:
        yield f"setting: {len(differ) - _MOST} more differ (asyncdp compare tells them)"


def _first(first: Path, second: Path, differ: list[Difference]) -> list[str]:
    """Return the first row that differs, of the first cell that has one, or what else differs."""
    places = sorted({Path(each.file).parent for each in differ})
    for place in places:
        for table in TABLES:
            one, other = first / place, second / place
            if all((each / f"{table.name}.parquet").is_file() for each in (one, other)):
                found = _row(table, read_table(one, table.name), read_table(other, table.name))
                if len(found) > 0:
                    where = "" if place == Path() else f" of {place}"
                    return [f"first: {found[0]}{where}", *found[1:]]
    return [f"first: {replace(differ[0], of='second')}"]


def _row(table: ComparedTable, ours: "pd.DataFrame", theirs: "pd.DataFrame") -> list[str]:
    """Return the first row in which two tables differ, with those before; nothing if in none."""
    import numpy as np

    shared = [str(name) for name in ours.columns if name in theirs.columns]
    count = min(len(ours), len(theirs))
    unequal = {name: _unequal(ours[name][:count], theirs[name][:count]) for name in shared}
    rows = np.flatnonzero(np.logical_or.reduce(list(unequal.values())))
    if len(rows) == 0 and len(ours) == len(theirs):
        return []
    row = int(rows[0]) if len(rows) > 0 else count
    columns = [name for name in shared if row < count and unequal[name][row]]
    told = ours if row < len(ours) else theirs
    which = ", ".join(f"{key} {told[key].iloc[row]}" for key in table.keys if key in told)
    lacks = len(columns) == 0 or not {*columns}.isdisjoint(table.keys)
    what = "which one of them lacks" if lacks else f"in {', '.join(columns)}"
    before = [f"  before  {_said(ours, at, shared)}" for at in range(max(0, row - BEFORE), row)]
    sides = [
        f"  {name:<6}  {_said(frame, row, shared)}"
        for name, frame in (("first", ours), ("second", theirs))
    ]
    return [
        f"{table.what} {which} ({table.name}.parquet), {what}",
        *before,
        *sides,
        *_draw(ours, theirs, row, columns),
    ]


def _unequal(ours: "pd.Series", theirs: "pd.Series") -> Any:
    one, other = ours.astype(object).to_numpy(), theirs.astype(object).to_numpy()
    return (one != other) & ~((one != one) & (other != other))  # NaN equals NaN


def _said(frame: "pd.DataFrame", row: int, columns: list[str]) -> str:
    if row >= len(frame):
        return "nothing"
    values = {name: frame[name].iloc[row] for name in columns if name != "time"}
    return ", ".join(f"{n} {_number(v)}" for n, v in values.items() if v == v)


def _number(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(float(value))
    return str(value)


def _draw(
    ours: "pd.DataFrame", theirs: "pd.DataFrame", row: int, columns: list[str]
) -> Iterator[str]:
    """Yield which draw it is that differs, where the same happens to the same owner later."""
    if "kind" not in ours or row >= min(len(ours), len(theirs)) or "tick" not in columns:
        return
    kind, owner = str(ours["kind"].iloc[row]), ours["owner"].iloc[row]
    if "kind" not in columns and "owner" not in columns and kind in _DRAWN:
        apart = int(theirs["tick"].iloc[row]) - int(ours["tick"].iloc[row])
        later = f"{abs(apart)} ticks {'later' if apart > 0 else 'earlier'} in the second"
        yield f"draw: {_DRAWN[kind]}, of owner {_number(owner)}, ends {later}"
