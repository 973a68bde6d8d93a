"""The form of a CSV: what stands between cells, before fractions, and which bytes are which text.

It is found in the header and the public rows alone: no private row decides how others are read.
"""

import codecs
import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from asyncdp_sim.data.tables.limits import opened
from asyncdp_sim.errors import DataError, Fault

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
CHARSETS = ("utf-8", "utf-16", "cp1252")
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_LONGEST = 1_000_000
"""Bytes of a line that are looked at."""
_MOST = 2_000
"""Public rows that are looked at, the last ones."""
_COMMA = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+")
_POINT = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:,\d{3})+)\.\d+")


@dataclass(frozen=True)
class FileForm:
    """The form of a CSV: its separator, decimal sign and character set.

    Attributes
    ----------
    separator, decimal : str
        What stands between cells, and before fractions.
    charset : str
        By which bytes are text.
    """

    separator: str = ","
    decimal: str = "."
    charset: str = "utf-8"

    def words(self) -> str:
        """Return the form in words."""
        mark = "comma" if self.decimal == "," else "point"
        return f"{SEPARATORS[self.separator]} between cells, decimal {mark}, {self.charset}"


PLAIN = FileForm()


def form_of(
    path: str,
    public: int | None,
    separator: str | None = None,
    decimal: str | None = None,
    charset: str | None = None,
) -> FileForm:
    """Return the form of a file, as declared or else as its header and its public rows show.

    Parameters
    ----------
    path : str
        Of a file that can be read; of Parquet the form is :data:`PLAIN`.
    public : int or None
        How many of its last rows are public; None for all.
    separator, decimal, charset : str, optional
        As declared.
    """
    if path.endswith(".parquet"):
        return PLAIN
    header, rows = _looked_at(path, public)
    charset = charset or _charset(header, rows)
    lines = [_text(line, charset) for line in (header, *rows)]
    separator = separator or _separator(lines)
    if decimal is None:
        cells = [cell for row in csv.reader(lines[1:], delimiter=separator) for cell in row]
        counted = Counter(_mark(cell) for cell in cells)
        decimal = "," if separator != "," and counted[","] > counted["."] else "."
    return FileForm(separator, decimal, charset)


def _looked_at(path: str, public: int | None) -> tuple[bytes, list[bytes]]:
    """Return the header's line and those of the last public rows, as far as they are looked at."""
    with opened(path) as file:
        first = file.readline(_LONGEST)
        if first[:2] in _MARKS:  # two bytes a letter: a line's end is found by the whole text
            text = io.TextIOWrapper(file, encoding=_MARKS[first[:2]])
            file.seek(0)
            header, *rest = (line.encode("utf-16") for line in text)
            return header, rest[len(rest) - _kept(public, len(rest)) :]
        kept = _MOST if public is None else min(public, _MOST)
        return first, list(_last(file, kept))


def _kept(public: int | None, rows: int) -> int:
    return min(rows, _MOST if public is None else min(public, _MOST))


def _last(file: Any, count: int) -> Sequence[bytes]:
    """Return the last lines of a file, without those that are empty."""
    if count == 0:
        return ()
    if not file.seekable():
        return deque((line for line in file if line.strip()), maxlen=count)
    start, size, end = file.tell(), 1 << 16, file.seek(0, 2)
    while True:
        at = max(start, end - size)
        file.seek(at)
        lines = [line for line in file.read().splitlines(keepends=True) if line.strip()]
        whole = lines if at == start else lines[1:]
        if at == start or len(whole) >= count or size > 1 << 28:
            return whole[-count:]
        size *= 4


def _charset(header: bytes, rows: Sequence[bytes]) -> str:
    if header[:2] in _MARKS:
        return _MARKS[header[:2]]
    try:
        b"".join([header, *rows]).decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _text(line: bytes, charset: str) -> str:
    return line.decode(charset, errors="replace").lstrip("\ufeff")


def _separator(lines: Sequence[str]) -> str:
    """Return what cuts header and rows alike, into the most cells."""

    def width(separator: str) -> tuple[bool, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=separator) if len(row) > 0]
        return counts[:1] != [1] and len(set(counts)) == 1, counts[0] if counts else 0

    return max(SEPARATORS, key=width)  # the first of equals: the comma


def _mark(cell: str) -> str | None:
    """Return what stands before a cell's fraction; None where it is no number with one."""
    word = cell.strip(" \t€$£%")
    if _COMMA.fullmatch(word) is not None:
        return ","
    return "." if _POINT.fullmatch(word) is not None else None


def column_names(path: str, form: FileForm, skip_first_lines: int = 0) -> list[str]:
    """Return the names in a CSV's header, as they stand there."""
    with (
        opened(path) as file,
        io.TextIOWrapper(file, encoding=form.charset, errors="replace", newline="") as text,
    ):
        for _ in range(skip_first_lines):
            text.readline()
        rows = (row for row in csv.reader(text, delimiter=form.separator) if len(row) > 0)
        return [name.lstrip("\ufeff") for name in next(rows, [])]


def misplaced(path: str, form: FileForm, skip_first_lines: int = 0) -> str | None:
    """Return in words where a CSV has a cell too many, or bytes that are no text; None if nowhere.

    Only where reading failed is this looked for. Rows count from 1 after the header; no cell is
    quoted, nor a name of the header, which is a row where a file has none.
    """
    try:
        names = column_names(path, form, skip_first_lines)
        return _no_text(path, form, skip_first_lines, names) or _too_many(
            path, form, skip_first_lines, names
        )
    except csv.Error:  # what is no CSV at all, such as a picture, has no rows to count
        return None


def _no_text(path: str, form: FileForm, skip: int, names: Sequence[str]) -> str | None:
    if form.charset == "utf-16":
        return None
    bad = False

    def texts(lines: Iterable[bytes]) -> Iterator[str]:
        nonlocal bad
        for line in lines:
            try:
                yield line.decode(form.charset)
            except UnicodeDecodeError as error:
                bad = True
                yield line[: error.start].decode(form.charset) + "."
                return

    with opened(path) as file:
        rows = csv.reader(texts(islice(file, skip, None)), delimiter=form.separator)
        last = deque(enumerate(row for row in rows if len(row) > 0), maxlen=1)
    if not bad:
        return None
    [(row, cells)] = last
    column = min(len(cells), len(names))
    where = "the header" if row == 0 else f"row {row}, column {column},"
    return f"{where} is not {form.charset.upper()} text"


def _too_many(path: str, form: FileForm, skip: int, names: Sequence[str]) -> str | None:
    with (
        opened(path) as file,
        io.TextIOWrapper(file, encoding=form.charset, errors="replace", newline="") as text,
    ):
        rows = csv.reader(islice(text, skip, None), delimiter=form.separator)
        for number, row in enumerate(row for row in rows if len(row) > 0):
            if len(row) > len(names):
                extra = f"has {len(row)} cells and the header {len(names)}"
                return f"row {number} {extra}: something stands behind the last column"
    return None


def require_distinct(path: str, names: Sequence[str]) -> None:
    """Refuse columns of one name: whichever was meant, it would be guessed.

    Raises
    ------
    DataError
        On ``data.path``.
    """
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names, 1):
        places.setdefault(name, []).append(place)
    faults = [
        Fault(
            "data.path",
            f"{path!r}, whose columns {_listed(at)} have one name",
            "allowed is a name of its own for each",
        )
        for name, at in places.items()
        if len(at) > 1 and name != ""
    ]
    if len(faults) > 0:
        raise DataError(faults)


def _listed(places: Sequence[int]) -> str:
    return f"{', '.join(map(str, places[:-1]))} and {places[-1]}"
