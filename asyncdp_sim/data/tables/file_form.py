"""A table's file: how much of it is read, and a CSV's separator, decimal mark and charset.

The form is found in the header and the public rows alone: no private row decides how others are
read.

Limits on rows and bytes are settings of the machine, not of a scenario: a small file may unpack to
more than a machine has, and no result depends on them. They are raised by
``asyncdp --most-rows N --most-bytes N run …``, or by the environment.
"""

import codecs
import csv
import gzip
import io
import os
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.errors import Fault, InputError
from asyncdp_sim.core.messages import FormattedMessage

ROWS = "ASYNCDP_MOST_ROWS"
BYTES = "ASYNCDP_MOST_BYTES"
DEFAULTS = {ROWS: 20_000_000, BYTES: 4 * 2**30}
LONGEST_LINE = 2**24
"""Bytes of a line at most: what has none that ends is no table, such as zeros."""
_OPTIONS = {ROWS: "--most-rows", BYTES: "--most-bytes"}
_UNITS = {ROWS: "rows", BYTES: "bytes"}
RAISED: ContextVar[Mapping[str, int]] = ContextVar("raised")
"""Limits by name that count in place of the environment's; workers are given those of a command."""


class TooMuch(ValueError):  # noqa: N818
    """A file has more than is read."""


@contextmanager
def long_cells() -> Iterator[None]:
    """Read cells inside that are as long as a line may be."""
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)


@contextmanager
def raised(limits: Mapping[str, int]) -> Iterator[None]:
    """Read tables up to these limits inside, and in the worker processes that are started there."""
    before = RAISED.set(limits)
    try:
        yield
    finally:
        RAISED.reset(before)


def most(name: str) -> int:
    """Return a limit: how many rows are read of a file, or bytes as they are unpacked.

    Raises
    ------
    InputError
        If the environment says something else than a whole number ≥ 1.
    """
    limits = RAISED.get({})
    if name in limits:
        return limits[name]
    limit = os.environ.get(name, str(DEFAULTS[name]))
    if not limit.isdecimal() or int(limit) < 1:
        raise InputError([Fault(name, repr(limit), "allowed is a whole number ≥ 1")])
    return int(limit)


def require_at_most(name: str, count: int, limit: int | None = None) -> None:
    """Raise :class:`TooMuch` where a file has more rows, or bytes, than are read."""
    limit = most(name) if limit is None else limit
    if count > limit:
        raise TooMuch(f"more than {limit:,} {_UNITS[name]}; {_OPTIONS[name]} raises this limit")


def require_cells(rows: int, columns: int) -> None:
    """Raise :class:`TooMuch` where a table has more rows or cells than are read.

    A cell counts as a byte, however little of the file it takes.
    """
    require_at_most(ROWS, rows)
    require_at_most(BYTES, rows * columns)


def opened(path: str) -> io.BufferedReader:
    """Return a file's bytes, unpacked, that end in :class:`TooMuch` where there are too many."""
    packed = path.endswith(".gz")
    file: Any = gzip.open(path, "rb") if packed else Path(path).open("rb")  # noqa: SIM115
    return io.BufferedReader(_Bounded(file, seekable=not packed), 1 << 20)


class _Bounded(io.RawIOBase):
    """Bytes of a file, counted.

    Parameters
    ----------
    file : binary file
    seekable : bool
        Whether it can be read from any place at once.
    """

    def __init__(self, file: Any, *, seekable: bool) -> None:
        self._file = file
        self._seekable = seekable
        self._most = most(BYTES)  # asked here, for a library may read in a thread of its own
        self._read = 0
        self._line = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._seekable

    def seek(self, offset: int, whence: int = 0) -> int:
        self._line = 0
        self._read = int(self._file.seek(offset, whence))
        return self._read

    def tell(self) -> int:
        return self._read

    def readinto(self, buffer: Any) -> int:
        count = int(self._file.readinto(buffer))
        self._read += count
        require_at_most(BYTES, self._read, self._most)
        read = bytes(memoryview(buffer)[:count])
        last = max(read.rfind(b"\n"), read.rfind(b"\r"))
        self._line = self._line + count if last < 0 else count - last - 1
        if self._line > LONGEST_LINE:
            raise TooMuch(f"a line of more than {LONGEST_LINE:,} bytes: this is no table")
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
MISSING = ("NA", "N/A", "NaN", "null")
"""Words that mean a missing cell, in capitals or not, unless a scenario lists others."""


_ZEROS = (*("." + "0" * places for places in range(1, 7)), ",0", ",00")


def words_of(missing: Iterable[str], name: str) -> set[str]:
    """Return the words of a column in small letters: x=99 is 99 in x, and no word elsewhere.

    A whole number is also one with zeros as its fraction: -999.0 and -999,00 are -999.
    """
    words = {word.removeprefix(f"{name}=").strip().lower() for word in missing}
    whole = [word for word in words if word.removeprefix("-").isdecimal()]
    return words | {number + zeros for number in whole for zeros in _ZEROS}


GUESSED = "cp1252"
"""The charset of bytes that are no UTF-8 where nothing is declared."""
_OTHERS = ("cp1251", "cp949", "shift_jis", "gb18030", "big5", "cp1250", "koi8-r")
"""Charsets whose texts are looked at where those of the guess are no words."""
_NO_WORD = re.compile(r"[^\x00-\x7f]{3}")
_SHORTEST = 60
UNNAMED = "Unnamed: "
"""In front of the place of a column that has no name."""
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_LONGEST = 1_000_000
"""Largest number of bytes of a line that are read."""
OPEN_QUOTE = "a quotation mark is open at the end of the file"
_REPLACED = "\ufffd"
"""Stands for bytes that are no text."""
_MOST = 2_000
"""Public rows that are looked at, the last ones,"""
_TAIL = 1 << 26
"""as far as they are in the file's last bytes, so many."""
_STATED = re.compile(r"sep=([,;\t|])")
"""A line before the header that states the separator of cells to a spreadsheet program."""
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
    skip : int
        Lines before the header, such as ``sep=;``.
    guess : bytes
        A line that is not ASCII, where the charset is a guess; empty where it is none.
    numbered : tuple of str
        Names of columns that have one name in the header, as they are called here.
    """

    separator: str = ","
    decimal: str = "."
    charset: str = "utf-8"
    skip: int = 0
    guess: bytes = field(default=b"", compare=False, repr=False)
    numbered: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def describe(self) -> str:
        """Return the form in words."""
        mark = "comma" if self.decimal == "," else "point"
        return f"{SEPARATORS[self.separator]} between cells, decimal {mark}, {self.charset}"

    def renamed(self) -> tuple[str, ...]:
        """Return in words how columns of one name are called; nothing where there are none."""
        sentence = "Columns of one name are numbered: {names}."
        names = ", ".join(map(repr, self.numbered))
        return (FormattedMessage(sentence, names=names),) if names != "" else ()

    def doubts(self) -> list[str]:
        """Return in words what is assumed of the file: other names, or a charset."""
        return [*self.renamed(), *([] if self.guess == b"" else [self._guessed()])]

    def _guessed(self) -> str:
        """Return in words that the charset is a guess, and what else it may be."""
        read = _as_read(self.guess, self.charset)
        if _NO_WORD.search(read) is None:
            return f"charset: {self.charset} is a guess; by it a line is {read!r}"
        readings = [
            f"by {name} {text!r} (--charset {name})"
            for name in _OTHERS
            if (text := _as_read(self.guess, name)) != "" and text.isprintable()
        ]
        question = f"a question: the charset. By {self.charset}, a guess, a line is {read!r}"
        return "; ".join([question, *readings[:4]])


def _as_read(line: bytes, charset: str) -> str:
    """Return a line by a charset, shortened; empty where it is no text of that charset."""
    try:
        text = line.decode(charset, "replace" if charset == GUESSED else "strict").strip()
    except UnicodeDecodeError:
        return ""
    first = next((at for at, letter in enumerate(text) if not letter.isascii()), 0)
    begin = max(first - 10, 0)
    return text[begin : begin + _SHORTEST]


PLAIN = FileForm()


def charset_of(name: str) -> str:
    """Return the name of a charset that Python knows.

    Raises
    ------
    ValueError
        If there is none of that name; its text says what is allowed.
    """
    try:
        "".encode(name)
        return codecs.lookup(name).name
    except LookupError:
        rule = "allowed is a charset of Python, such as utf-8, cp1252, cp1251, cp949 or shift_jis"
        raise ValueError(rule) from None


def form_of(
    path: str,
    public: int | None,
    seed: int | None = None,
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
        How many of its rows are public; None for all.
    seed : int, optional
        By which public rows are chosen; absent, they are the last ones.
    separator, decimal, charset : str, optional
        As declared.
    """
    if path.endswith(".parquet"):
        return PLAIN
    header, rows = _looked_at(path, public, charset, seed)
    guess = b""
    if charset is None:
        charset = _MARKS.get(header[:2], "utf-8")
        try:
            b"".join([header, *rows]).decode(charset)
        except UnicodeDecodeError:
            charset = GUESSED
            guess = next(line for line in (header, *rows) if not line.isascii())
    lines = [line.decode(charset, "replace").lstrip("\ufeff") for line in (header, *rows)]
    stated = _STATED.fullmatch(lines[0].strip("\r\n"))
    separator = separator or (_separator(lines) if stated is None else stated[1])
    if decimal is None and separator != ",":
        cells = [cell for row in csv.reader(lines[1:], delimiter=separator) for cell in row]
        counted = Counter(_mark(cell) for cell in cells)
        decimal = "," if counted[","] > counted["."] else "."
    form = FileForm(separator, decimal or ".", charset, 0 if stated is None else 1, guess)
    written = Counter(written_names(path, form))
    numbered = [
        name
        for name in column_names(path, form)
        if written[name] > 1 or (name not in written and not name.startswith(UNNAMED))
    ]
    return replace(form, numbered=tuple(numbered))


def _looked_at(
    path: str, public: int | None, charset: str | None, seed: int | None
) -> tuple[bytes, list[bytes]]:
    """Return the header's line and those of the public rows, as far as they are looked at."""
    kept = _MOST if public is None else min(public, _MOST)
    with opened(path) as file:
        first = file.readline(_LONGEST)
        line_end = len("\n\n".encode(charset or "utf-8")) - len("\n".encode(charset or "utf-8"))
        wide = _MARKS.get(first[:2]) or (charset if line_end > 1 else None)
        if seed is not None and public is not None:
            return _chosen(path, public, seed, wide)
        if wide is not None:  # two bytes a letter: a line's end is found by the whole text
            header, *rest = (row.encode(wide) for row in _records(path, wide))
            return header, rest[max(len(rest) - kept, 0) :]
        header = first.splitlines(keepends=True)[0] if first else b""  # lines may end in "\r" alone
        if file.seekable():
            file.seek(len(header))
        return header, list(_last(file, kept))


def _chosen(path: str, public: int, seed: int, wide: str | None) -> tuple[bytes, list[bytes]]:
    """Return the header's line and those of public rows that lie anywhere.

    The private rows are counted, and nothing else is looked at of them.
    """
    count = sum(1 for _ in _records(path, wide))
    first = next(_records(path, wide), "")
    begin = 1 if _STATED.fullmatch(first.lstrip("\ufeffï»¿").strip("\r\n")) is None else 2
    chosen = {0, *(begin + chosen_rows(max(count - begin, 0), public, seed)[:_MOST])}
    records = (text for place, text in enumerate(_records(path, wide)) if place in chosen)
    header, *lines = [text.encode(wide or "latin-1") for text in records] or [b""]
    return header, lines


def _records(path: str, wide: str | None) -> Iterator[str]:
    """Yield the text of each row that is not empty, the header first, a byte for a letter."""
    with opened(path) as file:
        text = io.TextIOWrapper(file, encoding=wide or "latin-1", newline="")
        taken: list[str] = []

        def lines() -> Iterator[str]:
            for line in text:
                taken.append(line)
                yield line

        head = next(iter(text), "")
        yield head
        for row in csv.reader(lines(), delimiter=max(SEPARATORS, key=head.count)):
            if len(row) > 0:
                yield "".join(taken)
            taken.clear()


def chosen_rows(rows: int, public: int, seed: int) -> Ints:
    """Return which rows are public, ascending, where they are chosen among all.

    Which are chosen depends on how many rows there are, and on nothing in them.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.sort(generator.permutation(rows)[: min(public, rows)])


def _last(file: Any, count: int) -> Sequence[bytes]:
    """Return the last lines of a file, without those that are empty."""
    if count == 0:
        return ()
    if not file.seekable():
        return deque((line for line in file if line.strip()), maxlen=count)
    start, end = file.tell(), file.seek(0, 2)
    at = file.seek(max(start, end - _TAIL))
    lines = file.read().splitlines(keepends=True)[int(at > start) :]
    return [line for line in lines if line.strip()][-count:]


def _separator(lines: Sequence[str]) -> str:
    """Return what cuts header and rows alike, into the most cells."""

    def width(separator: str) -> tuple[bool, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=separator) if len(row) > 0]
        return counts[:1] != [1] and len(set(counts)) == 1, counts[0] if counts else 0

    return max(SEPARATORS, key=width)  # the first of equals: the comma


def _mark(cell: str) -> str | None:
    """Return the decimal mark of a cell; None where it is no number with a fraction."""
    word = cell.strip(" \t€$£%")
    if _COMMA.fullmatch(word) is not None:
        return ","
    return "." if _POINT.fullmatch(word) is not None else None


def written_names(path: str, form: FileForm) -> list[str]:
    """Return the names in a CSV's header, unchanged."""
    with opened(path) as file:
        return next(_rows(file, form), [])


def column_names(path: str, form: FileForm) -> list[str]:
    """Return the names of a CSV's columns, each once.

    One that has no name is named by its place, from 0; the second and later ones of a name are
    numbered: x, x (2).
    """
    written = written_names(path, form)
    names: list[str] = []
    for place, name in enumerate(written):
        name = name or f"{UNNAMED}{place}"
        numbered = (f"{name} ({number})" for number in count(2))
        free = (other for other in numbered if other not in written and other not in names)
        names.append(next(free) if name in names else name)
    return names


def misplaced(path: str, form: FileForm) -> str | None:
    """Return in words where a CSV has a cell too many, or bytes that are no text; None if nowhere.

    Only where reading failed is this looked for. Rows count from 1 after the header; no cell is
    quoted, nor a name of the header, which is a row where a file has none.
    """
    with opened(path) as file:
        try:
            names: list[str] = []
            for number, row in enumerate(_rows(file, form, strict=True)):
                names = names or row
                if any("\0" in cell for cell in row):
                    return "the file has null characters: it is no text"
                bad = [place for place, cell in enumerate(row, 1) if _REPLACED in cell]
                if len(bad) > 0:
                    where = f"row {number}, column {bad[0]}," if number > 0 else "the header"
                    return f"{where} is not {form.charset.upper()} text"
                if len(row) > len(names):
                    extra = f"has {len(row)} cells and the header {len(names)}"
                    return f"row {number} {extra}: something stands behind the last column"
        except csv.Error as error:
            return OPEN_QUOTE if "unexpected end" in str(error) else None
    return None


def _rows(file: Any, form: FileForm, *, strict: bool = False) -> Iterator[list[str]]:
    """Yield the header's names, and then the cells of each row that is not empty."""
    text = io.TextIOWrapper(file, encoding=form.charset, errors="replace", newline="")
    lines = islice(text, form.skip, None)
    begun = next(lines, "").lstrip("\ufeff")  # before a quotation mark it would hide that
    cells = csv.reader(chain([begun], lines), delimiter=form.separator, strict=strict)
    yield from (row for row in cells if len(row) > 0)
