"""Differences between two results: key by key, table by table, each with both values."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf, isfinite
from pathlib import Path
from typing import Any

from asyncdp_sim.columns import README
from asyncdp_sim.on_disk import file_bytes, from_json, from_toml
from asyncdp_sim.results import read_parquet
from asyncdp_sim.results.provenance import CIRCUMSTANCES, EVIDENCE, LATER, VERSIONS
from asyncdp_sim.scenario import without_places

_MOST = 6
"""Differences that are told one by one."""
_LONGEST = 40
"""Characters of a value that are told."""
_ABSENT = object()
_ORDER = ("events", "updates", "optimum", "curve", "models", "owners")
"""Tables in the order of a run: the network, and what is learned over it; a manifest is last."""


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
        """Whether it is in what may differ between two machines that give the same result.

        Or between two versions of the package that do, of which one knows more evidence for it.
        """
        file = Path(self.file).name
        of_making = self.place.split(".")[0] in (*CIRCUMSTANCES, EVIDENCE)
        return file == VERSIONS or (file == "manifest.json" and of_making)

    def order(self) -> tuple[bool, str, int, str]:
        """Return what sorts differences in the order of a run; a sweep's own come last."""
        file = Path(self.file)
        place = _ORDER.index(file.stem) if file.stem in _ORDER else len(_ORDER)
        return file.parent == Path(), str(file.parent), place, file.name

    def __str__(self) -> str:
        named = self.place if Path(self.file).name == "manifest.json" else ""
        named = named or f"{self.file} {self.place}".strip()
        folder = Path(self.file).parent
        inside = "" if named.startswith(self.file) or folder == Path() else f"{folder} "
        return f"{inside}{named} ({self.kept}, {self.of} {self.again})"


def in_words(differ: Sequence[Difference]) -> str:
    """Return the first differences, and how many more there are."""
    more = f" and {len(differ) - _MOST} more" if len(differ) > _MOST else ""
    return ", ".join(map(str, differ[:_MOST])) + more


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return the values of nested tables and lists by dotted key paths; empty ones are values."""
    if isinstance(value, Mapping) and len(value) > 0:
        inner = [leaves(each, f"{path}.{key}" if path else str(key)) for key, each in value.items()]
    elif isinstance(value, list) and len(value) > 0:
        inner = [leaves(each, f"{path}.{place}") for place, each in enumerate(value)]
    else:
        return {path: value}
    return dict(chain.from_iterable(each.items() for each in inner))


def between(file: str, kept: Any, again: Any, of: str = "again") -> Iterator[Difference]:
    """Yield where two nestings of tables and lists differ; 1, 1.0 and true are three values."""
    ours, theirs = leaves(kept), leaves(again)
    for place in dict.fromkeys((*ours, *theirs)):
        one, other = ours.get(place, _ABSENT), theirs.get(place, _ABSENT)
        if type(one) is not type(other) or one != other:
            yield Difference(file, place, _short(one), _short(other), of, *_far([one], [other]))


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
        ".parquet": (_table, _tables),
        ".toml": (_scenario, between),
    }.get(again.suffix, (_json, _contents))
    try:
        found = list(compare(file, read(kept), read(again)))
    except (OSError, ValueError, RecursionError):  # what readers of JSON, TOML and Parquet raise
        found = [Difference(file, "", "unreadable", "readable")]
    yield from found


def _contents(file: str, kept: Any, again: Any) -> Iterator[Difference]:
    """Yield where two JSON files differ, but for what older versions did not write."""
    older = isinstance(kept, Mapping) and isinstance(again, Mapping)
    left = {key for key in LATER if older and not (key in kept and key in again)}
    ours, theirs = (_without(left, each) if older else each for each in (kept, again))
    yield from between(file, ours, theirs)


def _without(keys: set[str], value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: inner for key, inner in value.items() if key not in keys}


def _json(path: Path) -> Any:
    return from_json(file_bytes(path))


def _scenario(path: Path) -> Any:
    return without_places(from_toml(file_bytes(path).decode()))


def _table(path: Path) -> Any:
    return read_parquet(path)


def _tables(file: str, kept: Any, again: Any) -> Iterator[Difference]:
    """Yield the first difference of each column, and those of columns, types, rows and labels."""
    ours, theirs = ({name: str(type_) for name, type_ in _types(t)} for t in (kept, again))
    yield from between(file, ours, theirs)
    yield from between(file, _said(kept), _said(again))
    for name in (name for name in theirs if name in ours):
        if not kept[name].equals(again[name]):
            yield from _first(file, name, kept[name].to_pylist(), again[name].to_pylist())
    if kept.num_rows != again.num_rows:
        yield Difference(file, "rows", str(kept.num_rows), str(again.num_rows))


def _types(table: Any) -> Iterator[tuple[str, Any]]:
    return zip(table.schema.names, table.schema.types, strict=True)


def _said(table: Any) -> dict[str, Any]:
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
    for row, (one, other) in enumerate(zip(kept, again, strict=False)):
        if one != other:
            place, far = f"{column}, row {row}", _far(kept, again)
            yield Difference(file, place, _short(one), _short(other), "again", *far)
            return


def _far(kept: Sequence[Any], again: Sequence[Any]) -> tuple[float, float]:
    """Return the largest distance of numbers with a fraction, and the largest finite one.

    The distance is infinite where other values differ, or one is not finite.
    """
    apart, largest = 0.0, 0.0
    for one, other in zip(kept, again, strict=False):
        number = isinstance(one, float) and isinstance(other, float) and isfinite(one)
        if number:
            largest = max(largest, abs(one))
        if one != other:
            apart = max(apart, abs(one - other)) if number and isfinite(other) else inf
    return apart, largest


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    text = " ".join(text.split())
    return text if 0 < len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" if text else '""'
