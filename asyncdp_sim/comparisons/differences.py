"""Differences between two scenarios or results: key by key, table by table, and the first row."""

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
from asyncdp_sim.results.read import UNIQUE
from asyncdp_sim.scenario import leaves, without_places

if TYPE_CHECKING:
    import pandas as pd

MOST_LISTED = 6
"""Differences that are listed one by one."""
TABLES = {"events": "event", "updates": "update"}
TABLES |= dict.fromkeys(("optimum", "curve", "models", "owners"), "number")
"""What a row of a table is, in the order of a run.

The network comes first, then what is learned over it; a manifest is last.
"""
_LONGEST = 40
"""Characters of a value that are printed."""
_ABSENT = object()
_DAMAGED = object()


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
    in_first, in_second = dict(leaves(first)), dict(leaves(second))
    return [
        OtherSetting(path, in_first.get(path), in_second.get(path))
        for path in dict.fromkeys((*in_first, *in_second))
        if in_first.get(path) != in_second.get(path)
    ]


@dataclass(frozen=True)
class Difference:
    """One place where two results differ.

    Attributes
    ----------
    file : str
        Relative to the result.
    place : str
        Key path, column and row, or nothing where the whole file is meant.
    first, second : str
        What stands there in the first result, which is checked, and in the second, the reference.
    second_name : str
        What the reference is called.
    distance : float
        Of numbers with a fraction, the largest of all rows; infinite of all else.
    largest : float
        The largest size of the first result's finite numbers there.
    row : int or None
        The first row of a table that differs, from 0; None where it is in none.
    new : bool
        Whether it is a whole column, or a figure of a summary, that the first result lacks.
    """

    file: str
    place: str
    first: str
    second: str
    second_name: str = "again"
    distance: float = inf
    largest: float = 0.0
    row: int | None = None
    new: bool = False

    @property
    def of_circumstances(self) -> bool:
        """Whether it is in what may differ between two machines that give the same result."""
        file = Path(self.file).name
        of_making = self.place.split(".")[0] in CIRCUMSTANCES
        return file == VERSIONS or (file == "manifest.json" and of_making)

    def order(self) -> tuple[bool, str, int, str]:
        """Return what sorts differences in the order of a run; a sweep's own come last."""
        file = Path(self.file)
        rank = [*TABLES, file.stem].index(file.stem)  # of files that are no such tables, the last
        return file.parent == Path(), str(file.parent), rank, file.name

    def __str__(self) -> str:
        """Return the place and both values; a manifest's key path needs no name of a file."""
        file, where = Path(self.file), f"{self.file} {self.place}".strip()
        if file.name == "manifest.json" and self.place != "":
            cell = "" if file.parent == Path() else f"{file.parent} "
            where = f"{cell}{self.place}"
        return f"{where} ({self.first}, {self.second_name} {self.second})"


def in_words(differ: Sequence[Difference]) -> str:
    """Return the first differences, and how many more there are."""
    return some_of(differ, MOST_LISTED)


def leaves_in_lists(value: Any, path: str = "") -> dict[str, Any]:
    """Return the values of nested tables and lists by dotted key paths; empty ones are values."""
    if isinstance(value, Mapping) and len(value) > 0:
        items = ((str(key), item) for key, item in value.items())
    elif isinstance(value, list) and len(value) > 0:
        items = ((str(place), item) for place, item in enumerate(value))
    else:
        return {path: value}
    inner = (leaves_in_lists(item, f"{path}.{key}" if path else key) for key, item in items)
    return dict(chain.from_iterable(part.items() for part in inner))


def between(file: str, first: Any, second: Any, second_name: str = "again") -> Iterator[Difference]:
    """Yield where two nestings of tables and lists differ; 1, 1.0 and true are three values."""
    in_first, in_second = leaves_in_lists(first), leaves_in_lists(second)
    for place in dict.fromkeys((*in_first, *in_second)):
        this, other = in_first.get(place, _ABSENT), in_second.get(place, _ABSENT)
        if type(this) is not type(other) or this != other:
            sizes = _distance_and_largest([this], [other])
            yield Difference(file, place, *_short(this, other), second_name, *sizes)


def directories(first: Path, second: Path) -> Iterator[Difference]:
    """Yield where a result, or a sweep with all of its cells and traces, differs from another.

    Pictures, what else others may have put beside the tables, and words that explain columns, are
    no part of a result.
    """
    expected, tables = _files(second, "*"), _files(first, "*.parquet")
    for file in sorted(expected):
        if not (first / file).is_file():
            yield Difference(file, "", "nothing", "a file")
        elif (first / file).read_bytes() != (second / file).read_bytes():
            yield from _in_file(file, first / file, second / file)
    for file in sorted(tables - expected):
        yield Difference(file, "", "a table", "nothing")


def _files(directory: Path, pattern: str) -> set[str]:
    """Return the finished files of a result that are not pictures, nor explain its columns."""
    files = (path for path in directory.rglob(pattern) if path.is_file() and path.name != README)
    finished = (path.relative_to(directory) for path in files if path.suffix != ".tmp")
    return {str(file) for file in finished if "figures" not in file.parts}


def _in_file(file: str, first: Path, second: Path) -> Iterator[Difference]:
    """Yield where two files of one name differ."""
    this, other = _content(first), _content(second)
    if this is _DAMAGED or other is _DAMAGED:
        first_state, second_state = (
            "unreadable" if item is _DAMAGED else "readable" for item in (this, other)
        )
        yield Difference(file, "", first_state, second_state)
    elif second.suffix == ".parquet":
        yield from _in_table(file, this, other)
    elif second.suffix == ".toml":
        yield from between(file, this, other)
    else:
        yield from _in_json(file, this, other)


def _content(path: Path) -> Any:
    """Return a table, a scenario or what a JSON file holds; ``_DAMAGED`` if it cannot be read."""
    try:
        if path.suffix == ".parquet":
            return read_parquet(path)
        if path.suffix == ".toml":
            return without_places(from_toml(file_bytes(path).decode()))
        return from_json(file_bytes(path))
    except (OSError, ValueError, RecursionError):  # what readers of JSON, TOML and Parquet raise
        return _DAMAGED


def _in_json(file: str, first: Any, second: Any) -> Iterator[Difference]:
    """Yield where two JSON files differ, but for what older versions did not write."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        absent = {key for key in LATER if not (key in first and key in second)}
        first, second = (
            {key: value for key, value in content.items() if key not in absent}
            for content in (first, second)
        )
    for item in between(file, first, second):
        lacked = _lacked(first, item.place) if item.place.startswith("summary.") else None
        yield item if lacked is None else replace(item, place=lacked, new=True)


def _lacked(content: Any, place: str) -> str | None:
    """Return the key path at which tables lack a place; None where they have it or another value.

    Several places may be of one key: a figure that is a table of its own.
    """
    keys = place.split(".")
    for depth, key in enumerate(keys, start=1):
        if not isinstance(content, Mapping):
            return None
        if key not in content:
            return ".".join(keys[:depth])
        content = content[key]
    return None


def _in_table(file: str, first: Any, second: Any) -> Iterator[Difference]:
    """Yield the first difference of each column, and those of columns, types, rows and labels."""
    in_first, in_second = (
        dict(zip(table.schema.names, map(str, table.schema.types), strict=True))
        for table in (first, second)
    )
    new = in_second.keys() - in_first.keys()
    for item in between(file, in_first, in_second):
        yield replace(item, new=item.place in new)
    yield from between(file, _metadata(first), _metadata(second))
    for name in (name for name in in_second if name in in_first):
        if not first[name].equals(second[name]):
            yield from _in_column(file, name, first[name].to_pylist(), second[name].to_pylist())
    if first.num_rows != second.num_rows:
        this, other = first.num_rows, second.num_rows
        yield Difference(file, "rows", str(this), str(other), row=min(this, other))


def _metadata(table: Any) -> dict[str, Any]:
    metadata = (table.schema.metadata or {}).items()
    found = {key.decode(): _number(value.decode(errors="replace")) for key, value in metadata}
    older = found.pop("asyncdp.not_for_release", None)
    if older is not None:  # of an older version
        found["asyncdp.release"] = "false" if older == "true" else "true"
    return found


def _number(text: str) -> Any:
    """Return the number with a fraction that a text is, or the text."""
    try:
        return float(text) if "." in text else text
    except ValueError:
        return text


def _in_column(
    file: str, column: str, first: Sequence[Any], second: Sequence[Any]
) -> Iterator[Difference]:
    """Yield the first row in which two columns differ, with the distance over all rows."""
    for row, (this, other) in enumerate(zip(first, second, strict=False)):
        if this != other:
            place, sizes = f"{column}, row {row}", _distance_and_largest(first, second)
            yield Difference(file, place, *_short(this, other), "again", *sizes, row)
            return


def _distance_and_largest(first: Sequence[Any], second: Sequence[Any]) -> tuple[float, float]:
    """Return the largest distance between rows, and the largest size of a finite number in first.

    Both are of numbers with a fraction. The distance is infinite where other values differ, or one
    number is not finite. NaN differs from NaN; in results an absent number is null instead.
    """
    distance, largest = 0.0, 0.0
    for this, other in zip(first, second, strict=False):
        numbers = isinstance(this, float) and isinstance(other, float) and isfinite(this)
        if numbers:
            largest = max(largest, abs(this))
        if this != other:
            distance = max(distance, abs(this - other)) if numbers and isfinite(other) else inf
    return distance, largest


def _short(first: Any, second: Any) -> tuple[str, str]:
    """Return two values in a line each; long texts that begin alike from before they part."""
    texts = _line(first), _line(second)
    apart = (at for at, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1])
    start = next(apart, min(map(len, texts))) - _LONGEST // 2
    parts = (f"…{text[start:]}" if len(text) > _LONGEST and start > 0 else text for text in texts)
    one, other = (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in parts)
    return one, other


def _line(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    text = " ".join(text.split())
    return '""' if text == "" else text


BEFORE = 3
"""Rows before the difference, equal in both results, that are printed."""


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


def _first_row(first: Path, second: Path, differ: Sequence[Difference]) -> list[str]:
    """Return the first row that differs, of the first cell that has one, or what else differs."""
    for cell in sorted({Path(item.file).parent for item in differ}):
        where = "" if cell == Path() else f" of {cell}"
        for table in TABLES:
            file = str(cell / f"{table}.parquet")
            found = [item for item in differ if item.file == file and item.row is not None]
            if len(found) > 0:
                this, other = (read_table(place / cell, table) for place in (first, second))
                head, *rows = _row(table, this, other, found)
                return [f"first: {head}{where}", *rows]
    return [f"first: {differ[0]}"]


def _row(
    table: str, first: "pd.DataFrame", second: "pd.DataFrame", differ: Sequence[Difference]
) -> Iterator[str]:
    """Yield the first row in which two tables differ, and those before."""
    keys, text = UNIQUE.get(table, ("replicate", "k")), TABLES[table]
    row = min(item.row for item in differ if item.row is not None)
    columns = [item.place.rpartition(", ")[0] for item in differ if item.row == row]
    columns = [name for name in columns if name != ""]  # of rows that one of them lacks
    at_row = (
        {key: frame[key].iloc[row] for key in keys if key in frame}
        for frame in (first, second)
        if row < len(frame)
    )
    # rows of other keys are not the same row: one of the results lacks the one with the lesser keys
    named = min(at_row, key=lambda row: tuple(row.values()))
    which = ", ".join(f"{key} {value}" for key, value in named.items())
    lacks = len(columns) == 0 or not {*columns}.isdisjoint(keys)
    where = "which one of them lacks" if lacks else f"in {', '.join(columns)}"
    yield f"{text} {which} ({table}.parquet), {where}"
    shared = [str(name) for name in first.columns if name in second.columns]
    sides = [("before", first, at) for at in range(max(0, row - BEFORE), row)]
    for name, frame, at in [*sides, ("first", first, row), ("second", second, row)]:
        yield f"  {name:<6}  {_row_text(frame, at, shared)}"


def _row_text(frame: "pd.DataFrame", row: int, columns: list[str]) -> str:
    if row >= len(frame):
        return "nothing"
    values = {name: frame[name].iloc[row] for name in columns if name != "time"}
    return ", ".join(f"{n} {_exact(v)}" for n, v in values.items() if v == v)


def _exact(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(float(value))
    return str(value)
