"""The first event, update or number in which two results differ, with the rows before it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncdp_sim.comparisons.differences import (
    MOST_LISTED,
    TABLES,
    Difference,
    changed,
    directories,
)
from asyncdp_sim.results import read_manifest, read_table

if TYPE_CHECKING:
    import pandas as pd

BEFORE = 3
"""Rows before the difference, equal in both results, that are printed."""
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
"""By the kind of an event: the random draw whose length decides when it happens."""


def first_difference(first: Path, second: Path) -> tuple[list[str], list[str]]:
    """Return the first event, update or number in which two results, or sweeps, differ.

    Parameters
    ----------
    first, second : Path
        Directories.

    Returns
    -------
    list of str
        The difference in lines to be read; none where they are equal.
    list of str
        What they were made with, where that differs: it is no difference by itself.

    Raises
    ------
    ResultError
        If one is none, or damaged.
    """
    manifests = read_manifest(first), read_manifest(second)  # refuses what is no result
    differences = [
        replace(item, second_name="second")
        for item in (*directories(first, second), *_missing_in_second(first, second))
    ]
    notes = [str(item) for item in differences if item.of_circumstances]
    differ = [item for item in differences if not item.of_circumstances]
    if len(differ) == 0:
        return [], notes
    settings = _settings(*(manifest["scenario"] for manifest in manifests))
    return [*settings, *_first_row(first, second, differ)], notes


def _missing_in_second(first: Path, second: Path) -> Iterator[Difference]:
    """Yield the manifests and scenarios that the second result lacks."""
    for path in sorted(first.rglob("*")):
        file = path.relative_to(first)
        if file.name in ("manifest.json", "scenario.toml") and not (second / file).exists():
            yield Difference(str(file), "", "a file", "nothing")


def _settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    differ = [item.describe() for item in changed(first, second)]
    for field, in_first, in_second in differ[:MOST_LISTED]:
        yield f"setting: {field} is {in_first}, and {in_second}"
    if len(differ) > MOST_LISTED:
        yield f"setting: {len(differ) - MOST_LISTED} more differ (asyncdp compare lists them)"


def _first_row(first: Path, second: Path, differ: list[Difference]) -> list[str]:
    """Return the first row that differs, of the first cell that has one, or what else differs."""
    cells = sorted({Path(item.file).parent for item in differ})
    for cell in cells:
        for table in TABLES:
            both = first / cell, second / cell
            if all((directory / f"{table}.parquet").is_file() for directory in both):
                lines = _row(table, *(read_table(directory, table) for directory in both))
                if len(lines) > 0:
                    where = "" if cell == Path() else f" of {cell}"
                    return [f"first: {lines[0]}{where}", *lines[1:]]
    return [f"first: {differ[0]}"]


def _row(table: str, first: "pd.DataFrame", second: "pd.DataFrame") -> list[str]:
    """Return the first row in which two tables differ, with those before; nothing if in none."""
    import numpy as np

    keys, text = TABLES[table]
    shared = [str(name) for name in first.columns if name in second.columns]
    count = min(len(first), len(second))
    unequal = {name: _unequal(first[name][:count], second[name][:count]) for name in shared}
    rows = np.flatnonzero(np.logical_or.reduce(list(unequal.values())))
    if len(rows) == 0 and len(first) == len(second):
        return []
    row = int(rows[0]) if len(rows) > 0 else count
    columns = [name for name in shared if row < count and unequal[name][row]]
    reported = first if row < len(first) else second
    which = ", ".join(f"{key} {reported[key].iloc[row]}" for key in keys if key in reported)
    # rows of other keys are not the same row: one of the results lacks the one that is named
    lacks = len(columns) == 0 or not {*columns}.isdisjoint(keys)
    where = "which one of them lacks" if lacks else f"in {', '.join(columns)}"
    before = [
        f"  before  {_row_text(first, at, shared)}" for at in range(max(0, row - BEFORE), row)
    ]
    sides = [
        f"  {name:<6}  {_row_text(frame, row, shared)}"
        for name, frame in (("first", first), ("second", second))
    ]
    return [
        f"{text} {which} ({table}.parquet), {where}",
        *before,
        *sides,
        *_random_draw_line(first, second, row, columns),
    ]


def _unequal(first: "pd.Series", second: "pd.Series") -> Any:
    one, other = first.astype(object).to_numpy(), second.astype(object).to_numpy()
    return (one != other) & ~((one != one) & (other != other))  # NaN equals NaN


def _row_text(frame: "pd.DataFrame", row: int, columns: list[str]) -> str:
    if row >= len(frame):
        return "nothing"
    values = {name: frame[name].iloc[row] for name in columns if name != "time"}
    return ", ".join(f"{n} {_exact(v)}" for n, v in values.items() if v == v)


def _exact(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(float(value))
    return str(value)


def _random_draw_line(
    first: "pd.DataFrame", second: "pd.DataFrame", row: int, columns: list[str]
) -> Iterator[str]:
    """Yield which draw it is that differs, where the same happens to the same owner later."""
    if "kind" not in first or row >= min(len(first), len(second)) or "tick" not in columns:
        return
    kind, owner = str(first["kind"].iloc[row]), first["owner"].iloc[row]
    if "kind" not in columns and "owner" not in columns and kind in _DRAWN:
        apart = int(second["tick"].iloc[row]) - int(first["tick"].iloc[row])
        later = f"{abs(apart)} ticks {'later' if apart > 0 else 'earlier'} in the second"
        yield f"draw: {_DRAWN[kind]}, of owner {_exact(owner)}, ends {later}"
