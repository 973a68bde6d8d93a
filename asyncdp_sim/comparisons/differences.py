"""Differences between two results: key by key, table by table, and the first of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncdp_sim.core.files import file_bytes, from_json, from_toml
from asyncdp_sim.core.validation import show
from asyncdp_sim.core.words import some_of
from asyncdp_sim.results import read_manifest, read_parquet, read_table
from asyncdp_sim.results.columns import README
from asyncdp_sim.results.manifest import CIRCUMSTANCES, LATER, VERSIONS
from asyncdp_sim.scenario import leaves as settings_of
from asyncdp_sim.scenario import without_places

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class OtherSetting:
    """A field in which two scenarios differ.

    Attributes
    ----------
    field : str
        Its dotted path.
    first, second : object
        What stands there; None where the field is absent.
    """

    field: str
    first: Any
    second: Any

    def describe(self) -> tuple[str, str, str]:
        """Return the field and what both scenarios say."""
        first, second = ("–" if item is None else show(item) for item in (self.first, self.second))
        return self.field, first, second


def changed(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[OtherSetting]:
    """Return the fields in which two resolved scenarios differ, in the order of the file."""
    ours, theirs = dict(settings_of(first)), dict(settings_of(second))
    return [
        OtherSetting(path, ours.get(path), theirs.get(path))
        for path in dict.fromkeys((*ours, *theirs))
        if ours.get(path) != theirs.get(path)
    ]


_MOST = 6
"""Differences that are listed one by one."""
_LONGEST = 40
"""Characters of a value that are printed."""
_ABSENT = object()
TABLES = {
    "events": (("replicate", "seq"), "event"),
    "updates": (("replicate", "k"), "update"),
    "optimum": (("coordinate",), "number"),
    "curve": (("replicate", "k"), "number"),
    "models": (("replicate", "coordinate"), "number"),
    "owners": (("replicate", "owner"), "number"),
}
"""Columns that say which row of a table it is, and what a row is, in the order of a run.

The network comes first, then what is learned over it; a manifest is last.
"""


@dataclass(frozen=True)
class Difference:
    """One place where two results differ.

    Attributes
    ----------
    file : str
        Relative to the result.
    place : str
        Key path, column and row, or nothing where the whole file is meant.
    kept, again : str
        What stands there, and what was expected there.
    of : str
        Whose the expected value is.
    distance : float
        Of numbers with a fraction, the largest of all rows; infinite of all else.
    largest : float
        The largest finite one of these numbers.
    """

    file: str
    place: str
    kept: str
    again: str
    of: str = "again"
    distance: float = inf
    largest: float = 0.0

    @property
    def of_circumstances(self) -> bool:
        """Whether it is in what may differ between two machines that give the same result."""
        file = Path(self.file).name
        of_making = self.place.split(".")[0] in CIRCUMSTANCES
        return file == VERSIONS or (file == "manifest.json" and of_making)

    def order(self) -> tuple[bool, str, int, str]:
        """Return what sorts differences in the order of a run; a sweep's own come last."""
        file = Path(self.file)
        place = [*TABLES, file.stem].index(file.stem)
        return file.parent == Path(), str(file.parent), place, file.name

    def __str__(self) -> str:
        named = self.place if Path(self.file).name == "manifest.json" else ""
        named = named or f"{self.file} {self.place}".strip()
        folder = Path(self.file).parent
        inside = "" if named.startswith(self.file) or folder == Path() else f"{folder} "
        return f"{inside}{named} ({self.kept}, {self.of} {self.again})"


def in_words(differ: Sequence[Difference]) -> str:
    """Return the first differences, and how many more there are."""
    return some_of(differ, _MOST)


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return the values of nested tables and lists by dotted key paths; empty ones are values."""
    if isinstance(value, Mapping) and len(value) > 0:
        inner = [leaves(item, f"{path}.{key}" if path else str(key)) for key, item in value.items()]
    elif isinstance(value, list) and len(value) > 0:
        inner = [leaves(item, f"{path}.{place}") for place, item in enumerate(value)]
    else:
        return {path: value}
    return dict(chain.from_iterable(item.items() for item in inner))


def between(file: str, kept: Any, again: Any, of: str = "again") -> Iterator[Difference]:
    """Yield where two nestings of tables and lists differ; 1, 1.0 and true are three values."""
    ours, theirs = leaves(kept), leaves(again)
    for place in dict.fromkeys((*ours, *theirs)):
        left, other = ours.get(place, _ABSENT), theirs.get(place, _ABSENT)
        if type(left) is not type(other) or left != other:
            yield Difference(file, place, _short(left), _short(other), of, *_far([left], [other]))


def directories(kept: Path, again: Path) -> Iterator[Difference]:
    """Yield where a result, or a sweep with all of its cells and traces, differs from another.

    Pictures, what else others may have put beside the tables, and words that explain columns, are
    no part of a result.
    """
    files = (path for path in again.rglob("*") if path.is_file() and path.name != README)
    expected = {str(path.relative_to(again)) for path in files if path.suffix != ".tmp"}
    tables = {str(path.relative_to(kept)) for path in kept.rglob("*.parquet")}
    for file in sorted(expected):
        if not (kept / file).is_file():
            yield Difference(file, "", "nothing", "a file")
        elif (kept / file).read_bytes() != (again / file).read_bytes():
            yield from _files(file, kept / file, again / file)
    for file in sorted(tables - expected):
        if Path(file).parts[0] != "figures":
            yield Difference(file, "", "a table", "nothing")


def _files(file: str, kept: Path, again: Path) -> Iterator[Difference]:
    read, compare = {
        ".parquet": (read_parquet, _tables),
        ".toml": (lambda path: without_places(from_toml(file_bytes(path).decode())), between),
    }.get(again.suffix, (lambda path: from_json(file_bytes(path)), _contents))
    try:
        result = list(compare(file, read(kept), read(again)))
    except (OSError, ValueError, RecursionError):  # what readers of JSON, TOML and Parquet raise
        result = [Difference(file, "", "unreadable", "readable")]
    yield from result


def _contents(file: str, kept: Any, again: Any) -> Iterator[Difference]:
    """Yield where two JSON files differ, but for what older versions did not write."""
    if isinstance(kept, Mapping) and isinstance(again, Mapping):
        left = {key for key in LATER if not (key in kept and key in again)}
        kept, again = ({k: v for k, v in item.items() if k not in left} for item in (kept, again))
    yield from between(file, kept, again)


def _tables(file: str, kept: Any, again: Any) -> Iterator[Difference]:
    """Yield the first difference of each column, and those of columns, types, rows and labels."""
    schemas = ((table.schema.names, table.schema.types) for table in (kept, again))
    ours, theirs = (dict(zip(names, map(str, types), strict=True)) for names, types in schemas)
    yield from between(file, ours, theirs)
    yield from between(file, _metadata(kept), _metadata(again))
    for name in (name for name in theirs if name in ours):
        if not kept[name].equals(again[name]):
            yield from _first(file, name, kept[name].to_pylist(), again[name].to_pylist())
    if kept.num_rows != again.num_rows:
        yield Difference(file, "rows", str(kept.num_rows), str(again.num_rows))


def _metadata(table: Any) -> dict[str, Any]:
    metadata = (table.schema.metadata or {}).items()
    return {key.decode(): _number(value.decode(errors="replace")) for key, value in metadata}


def _number(text: str) -> Any:
    """Return the number with a fraction that a text is, or the text."""
    try:
        return float(text) if "." in text else text
    except ValueError:
        return text


def _first(
    file: str, column: str, kept: Sequence[Any], again: Sequence[Any]
) -> Iterator[Difference]:
    for row, (left, other) in enumerate(zip(kept, again, strict=False)):
        if left != other:
            place, far = f"{column}, row {row}", _far(kept, again)
            yield Difference(file, place, _short(left), _short(other), "again", *far)
            return


def _far(kept: Sequence[Any], again: Sequence[Any]) -> tuple[float, float]:
    """Return the largest distance of numbers with a fraction, and the largest finite one.

    The distance is infinite where other values differ, or one is not finite.
    """
    apart, largest = 0.0, 0.0
    for left, other in zip(kept, again, strict=False):
        number = isinstance(left, float) and isinstance(other, float) and isfinite(left)
        if number:
            largest = max(largest, abs(left))
        if left != other:
            apart = max(apart, abs(left - other)) if number and isfinite(other) else inf
    return apart, largest


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    text = " ".join(text.split())
    return text if 0 < len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" if text else '""'


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
"""What is drawn that ends with an event of a kind."""


def first_difference(first: Path, second: Path) -> tuple[list[str], list[str]]:
    """Return the first event, update or number in which two results, or sweeps, differ.

    Parameters
    ----------
    first, second : Path

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
    ours, theirs = read_manifest(first), read_manifest(second)
    matches = [*directories(first, second), *_absent(first, second)]
    notes = [f"{replace(result, of='second')}" for result in matches if result.of_circumstances]
    differ = [result for result in matches if not result.of_circumstances]
    if len(differ) == 0:
        return [], notes
    settings = _settings(ours["scenario"], theirs["scenario"])
    return [*settings, *_first_row(first, second, differ)], notes


def _absent(first: Path, second: Path) -> Iterator[Difference]:
    """Yield the files besides tables that the first result has alone."""
    present = {item.relative_to(second) for item in second.rglob("*")}
    for path in sorted(first.rglob("*")):
        name = path.relative_to(first)
        value = name.name in ("manifest.json", "scenario.toml")
        if value and name not in present:
            yield Difference(str(name), "", "a file", "nothing")


def _settings(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    differ = [item.describe() for item in changed(ours, theirs)]
    for field, left, other in differ[:_MOST]:
        yield f"setting: {field} is {left}, and {other}"
    if len(differ) > _MOST:
        yield f"setting: {len(differ) - _MOST} more differ (asyncdp compare lists them)"


def _first_row(first: Path, second: Path, differ: list[Difference]) -> list[str]:
    """Return the first row that differs, of the first cell that has one, or what else differs."""
    places = sorted({Path(item.file).parent for item in differ})
    for place in places:
        for table in TABLES:
            left, other = first / place, second / place
            if all((item / f"{table}.parquet").is_file() for item in (left, other)):
                result = _row(table, read_table(left, table), read_table(other, table))
                if len(result) > 0:
                    where = "" if place == Path() else f" of {place}"
                    return [f"first: {result[0]}{where}", *result[1:]]
    return [f"first: {replace(differ[0], of='second')}"]


def _row(table: str, ours: "pd.DataFrame", theirs: "pd.DataFrame") -> list[str]:
    """Return the first row in which two tables differ, with those before; nothing if in none."""
    import numpy as np

    keys, text = TABLES[table]
    shared = [str(name) for name in ours.columns if name in theirs.columns]
    count = min(len(ours), len(theirs))
    unequal = {name: _unequal(ours[name][:count], theirs[name][:count]) for name in shared}
    rows = np.flatnonzero(np.logical_or.reduce(list(unequal.values())))
    if len(rows) == 0 and len(ours) == len(theirs):
        return []
    row = int(rows[0]) if len(rows) > 0 else count
    columns = [name for name in shared if row < count and unequal[name][row]]
    reported = ours if row < len(ours) else theirs
    which = ", ".join(f"{key} {reported[key].iloc[row]}" for key in keys if key in reported)
    lacks = len(columns) == 0 or not {*columns}.isdisjoint(keys)
    where = "which one of them lacks" if lacks else f"in {', '.join(columns)}"
    before = [f"  before  {_row_text(ours, at, shared)}" for at in range(max(0, row - BEFORE), row)]
    sides = [
        f"  {name:<6}  {_row_text(frame, row, shared)}"
        for name, frame in (("first", ours), ("second", theirs))
    ]
    return [
        f"{text} {which} ({table}.parquet), {where}",
        *before,
        *sides,
        *_draw(ours, theirs, row, columns),
    ]


def _unequal(ours: "pd.Series", theirs: "pd.Series") -> Any:
    left, other = ours.astype(object).to_numpy(), theirs.astype(object).to_numpy()
    return (left != other) & ~((left != left) & (other != other))  # NaN equals NaN


def _row_text(frame: "pd.DataFrame", row: int, columns: list[str]) -> str:
    if row >= len(frame):
        return "nothing"
    values = {name: frame[name].iloc[row] for name in columns if name != "time"}
    return ", ".join(f"{n} {_exact(v)}" for n, v in values.items() if v == v)


def _exact(value: Any) -> str:
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
        yield f"draw: {_DRAWN[kind]}, of owner {_exact(owner)}, ends {later}"
