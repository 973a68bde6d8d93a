"""A CSV: its separator, decimal mark and charset, and its cells as texts.

The form is found in the header and the public rows alone: no private row decides how others are
read. Every cell is a text, as it is written, so that no cell decides how another is read; what it
means is decided later, from public rows and the scenario alone. A column is held as the texts that
differ and a place among them for each row.
"""

import codecs
import csv
import io
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.data.tables.limits import opened, require_cells
from asyncdp_sim.data.tables.rows import Rows

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyarrow.csv import InvalidRow

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
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
_WHOLE = re.compile(r"-?[0-9]+")
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
        if self.guess == b"":
            return [*self.renamed()]
        return [*self.renamed(), self._guessed()]

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
    declared, guess = charset is not None, b""
    charset = charset or _charset(header, rows)
    if not declared and charset == GUESSED:
        guess = next(line for line in (header, *rows) if not line.isascii())
    lines = [line.decode(charset, "replace").lstrip("\ufeff") for line in (header, *rows)]
    stated = _STATED.fullmatch(lines[0].strip("\r\n"))
    separator = separator or (_separator(lines) if stated is None else stated[1])
    if decimal is None:
        cells = [cell for row in csv.reader(lines[1:], delimiter=separator) for cell in row]
        counted = Counter(_mark(cell) for cell in cells)
        decimal = "," if separator != "," and counted[","] > counted["."] else "."
    form = FileForm(separator, decimal, charset, 0 if stated is None else 1, guess)
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
        wide = _MARKS.get(first[:2]) or (charset if _wide(charset) else None)
        if seed is not None and public is not None:
            return _chosen(path, public, seed, wide)
        if wide is not None:  # two bytes a letter: a line's end is found by the whole text
            text = io.TextIOWrapper(file, encoding=wide)
            file.seek(0)
            header, *rest = (line.encode(wide) for line in text)
            return header, rest[max(len(rest) - kept, 0) :]
        header = first.splitlines(keepends=True)[0] if first else b""  # lines may end in "\r" alone
        if file.seekable():
            file.seek(len(header))
        return header, list(_last(file, kept))


def _wide(charset: str | None) -> bool:
    """Tell whether a line's end is more than a byte in a charset."""
    return charset is not None and len("\n\n".encode(charset)) - len("\n".encode(charset)) > 1


def _chosen(path: str, public: int, seed: int, wide: str | None) -> tuple[bytes, list[bytes]]:
    """Return the header's line and those of public rows that lie anywhere.

    The private rows are counted, and nothing else is looked at of them.
    """
    count = sum(1 for _ in _records(path, wide)) - 1
    first = next(_records(path, wide), "")
    stated = _STATED.fullmatch(first.lstrip("\ufeffï»¿").strip("\r\n")) is not None
    begin = 2 if stated else 1
    chosen = set(chosen_rows(max(count + 1 - begin, 0), public, seed)[:_MOST].tolist())
    charset = wide or "latin-1"
    lines = [
        record.encode(charset)
        for place, record in enumerate(_records(path, wide))
        if place == 0 or place - begin in chosen
    ]
    return (lines[0] if lines else b""), lines[1:]


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


def chosen_rows(rows: int, public: int, seed: int) -> Rows:
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


def _charset(header: bytes, rows: Sequence[bytes]) -> str:
    if header[:2] in _MARKS:
        return _MARKS[header[:2]]
    try:
        b"".join([header, *rows]).decode("utf-8")
    except UnicodeDecodeError:
        return GUESSED
    return "utf-8"


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
    cells = csv.reader(lines, delimiter=form.separator, strict=strict)
    for number, row in enumerate(row for row in cells if len(row) > 0):
        yield [row[0].lstrip("\ufeff"), *row[1:]] if number == 0 else row


BLOCK = 2**25
"""Bytes that are read at a time, two lines of the greatest length."""
_DECODED = {"utf-8": "utf-8-sig"}
"""By which bytes are decoded before Arrow sees them: its own UTF-8 would meet wrong ones in a row
that is handed back, and print of them."""
MISSING = ("NA", "N/A", "NaN", "null")
"""Words that mean a missing cell, in capitals or not, unless a scenario lists others."""


class OpenQuoteError(ValueError):
    """A quotation mark is never closed, so that what follows it is one cell."""


def read_csv(
    path: str,
    *,
    form: FileForm,
    wanted: Callable[[str], bool] | None = None,
    owner: str | None = None,
    missing: Collection[str] = MISSING,
) -> "pd.DataFrame":
    """Return the wanted columns of a CSV as categories of texts; all where ``wanted`` is None.

    A cell without a text is missing, and one with a word of ``missing``; of the column ``owner``
    all words are names.

    Raises
    ------
    ValueError
        If there is no header.
    pyarrow.ArrowInvalid
        If a row has more cells than the header, or bytes are not text of the charset.
    OpenQuoteError
        If a quotation mark is open at the end.
    """
    import pandas as pd
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

    names = column_names(path, form)
    if len(names) == 0:
        raise ValueError("there is no header")
    taken = [at for at, name in enumerate(names) if wanted is None or wanted(name)]
    kept: list[list[pa.Array]] = [[] for _ in taken]
    short = _ShortRows(form)
    rows, last = 0, ""
    with (
        opened(path) as file,
        open_csv(
            file,
            ReadOptions(
                use_threads=False,
                block_size=BLOCK,
                encoding=_DECODED.get(form.charset, form.charset),
                skip_rows=form.skip,
            ),
            ParseOptions(
                delimiter=form.separator, newlines_in_values=True, invalid_row_handler=short.take
            ),
            ConvertOptions(
                column_types=dict.fromkeys(written_names(path, form), pa.string()),
                strings_can_be_null=False,
            ),
        ) as blocks,
    ):
        for block in blocks:
            rows += len(block)
            require_cells(rows + len(short.cells), len(names))
            if len(block) > 0:
                last = block.column(block.num_columns - 1)[-1].as_py()
            for column, at in zip(kept, taken, strict=True):
                column.append(block.column(at))
    require_cells(rows + len(short.cells), len(names))
    if last.endswith(("\n", "\r")):
        raise OpenQuoteError
    order, words = short.order(rows), {word.lower() for word in missing}
    columns = {}
    for at in reversed(taken):  # one after another, and then its texts are no longer needed
        parts = [*kept.pop(), pa.array(short.column(at), pa.string())]
        columns[names[at]] = _column(parts, order, () if names[at] == owner else words)
    pa.default_memory_pool().release_unused()  # as much as the file, where its texts differ
    return pd.DataFrame({names[at]: columns[names[at]] for at in taken}, copy=False)


class _ShortRows:
    """Rows with fewer cells than the header, such as sums at the end: the others are missing."""

    def __init__(self, form: FileForm) -> None:
        self._form = form
        self._places: list[int] = []
        self.cells: list[list[str]] = []

    def take(self, row: "InvalidRow") -> Literal["skip", "error"]:
        """Take a row out of those that Arrow reads; one with more cells is an error."""
        if row.actual_columns > row.expected_columns:
            return "error"
        self._places.append(row.number - 2 - self._form.skip)  # from 1, with the header
        try:
            [cells] = csv.reader([row.text], delimiter=self._form.separator, strict=True)
        except csv.Error:
            return "error"
        self.cells.append(cells)
        return "skip"

    def order(self, rows: int) -> Rows:
        """Return where each row is among the others, followed by the short ones."""
        order = np.full(rows + len(self._places), -1)
        order[self._places] = rows + np.arange(len(self._places))
        order[order < 0] = np.arange(rows)
        return order

    def column(self, at: int) -> list[str]:
        """Return their cells of a column."""
        return [cells[at] if at < len(cells) else "" for cells in self.cells]


def _column(parts: "Sequence[pa.Array]", order: Rows, missing: Collection[str]) -> "pd.Series":
    """Return texts in order, None where a cell is missing: as categories where few differ."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = pa.chunked_array(parts).combine_chunks().dictionary_encode()
    texts = encoded.dictionary
    words = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    gone = pc.or_(pc.equal(texts, ""), pc.is_in(words, pa.array([*missing], pa.string())))
    for number in (word for word in missing if _WHOLE.fullmatch(word) is not None):
        gone = pc.or_(gone, pc.match_substring_regex(words, rf"^{number}\.0+$"))  # -999.0 is -999
    none = gone.to_numpy(zero_copy_only=False)
    codes = np.where(none, -1, np.cumsum(~none) - 1)[encoded.indices.to_numpy()[order]]
    left = texts.filter(pc.invert(gone))
    if len(left) > len(codes) / 2:
        placed = pa.array(codes, mask=codes < 0)
        return pd.Series(left.take(placed).to_pandas(), dtype="str")
    categories = pd.Index(left.to_pandas(), dtype="str")
    return pd.Series(pd.Categorical.from_codes(codes, categories=categories), copy=False)
