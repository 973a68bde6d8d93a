"""Reading a large CSV piece by piece, into the smallest types that hold its values exactly.

Whole-file reading needs several times the file's size. Here texts become categories and numbers
the shortest type in which none of them changes, and columns that nobody asked for are not kept.
The types are those that the whole file implies: a column with one text in it is a column of texts,
as they stand in the file. Which type a column has is no more than how it is held: what its cells
mean is told by :mod:`~asyncdp_sim.data.tables.text_columns`, cell by cell.
"""

import re
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from asyncdp_sim.data.tables.file_form import PLAIN, FileForm, column_names
from asyncdp_sim.data.tables.limits import (
    BYTES,
    ROWS,
    most,
    opened,
    require_at_most,
)

if TYPE_CHECKING:
    import pandas as pd

PIECE_ROWS = 50_000
PIECE_CELLS = 50_000_000
"""Cells of a piece at most: of very many columns few rows are read at a time."""
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What stands for a missing cell: pandas's own list, of whichever version."""
_WHOLE = re.compile(r"0|-?[1-9]\d{0,6}")

Kind = Literal["number", "text", "mixed"]


def read_csv(
    path: str,
    *,
    skip_first_lines: int,
    wanted: Callable[[str], bool] | None,
    form: FileForm = PLAIN,
    texts: Collection[str] = (),
) -> "pd.DataFrame":
    """Return the wanted columns of a CSV; all where ``wanted`` is None.

    Columns named in ``texts``, and with decimal commas all of them, are held as they are written,
    but whole numbers. Errors are those of :func:`pandas.read_csv`.
    """
    import pandas as pd

    width = max(1, len(column_names(path, form, skip_first_lines)))
    lines = _lines(path)
    require_at_most(BYTES, lines * width)
    how: dict[str, Any] = {"sep": form.separator, "encoding": form.charset}
    how["chunksize"] = max(1, min(PIECE_ROWS, PIECE_CELLS // width))
    types = str if form.decimal == "," else dict.fromkeys(texts, str)
    # Not pandas's usecols, with which a row with more fields than the header goes unnoticed.
    columns = _columns(path, lines, skip_first_lines, wanted, dtype=types, **how)
    mixed = [name for name, column in columns.items() if column.kind == "mixed"]
    if mixed:
        columns |= _columns(path, lines, skip_first_lines, None, usecols=mixed, dtype=str, **how)
    found = pd.DataFrame({name: c.series() for name, c in columns.items()}, copy=False)
    if form.decimal == ",":
        found = found.apply(_whole_numbers)
    return found


def _columns(
    path: str,
    lines: int,
    skip_first_lines: int,
    wanted: Callable[[str], bool] | None,
    **options: object,
) -> dict[str, "_Column"]:
    import pandas as pd

    rows = 0
    columns: dict[str, _Column] = {}
    with (
        opened(path) as file,
        pd.read_csv(
            file,
            skiprows=skip_first_lines,
            index_col=False,
            low_memory=False,  # else pandas guesses types within a piece, and warns
            na_values=MISSING,
            keep_default_na=False,
            **options,
        ) as pieces,
    ):
        for piece in pieces:
            rows += len(piece)
            require_at_most(ROWS, rows)
            for name in piece.columns:
                if wanted is None or wanted(str(name)):
                    columns.setdefault(name, _Column(lines)).add(piece[name])
    return columns


def _whole_numbers(column: "pd.Series") -> "pd.Series":
    """Return texts as whole numbers where all of them are, and are spelled as these would be."""
    import pandas as pd

    known = column.dropna().unique()
    if len(known) == 0 or not all(_WHOLE.fullmatch(str(text)) for text in known):
        return column
    return pd.to_numeric(column.astype(object), downcast="float" if column.hasnans else "integer")


def _lines(path: str) -> int:
    """Return the number of lines of a file that may be read: at least its rows, as a rule."""
    with opened(path) as file:
        blocks: Iterator[bytes] = iter(lambda: file.read(1 << 20), b"")
        return min(1 + sum(block.count(b"\n") for block in blocks), most(ROWS))


class _Column:
    """A column as far as it is read: one array, for pieces that are joined take room twice.

    Parameters
    ----------
    room : int
        Rows to make room for; more are taken too.
    """

    def __init__(self, room: int) -> None:
        self.kind: Kind | None = None  # None as long as all values are missing
        self._room = room
        self._rows = 0
        self._values: np.ndarray = np.empty(0)  # numbers; or places in the texts, −1 if missing
        self._texts: dict[object, int] = {}

    def add(self, piece: "pd.Series") -> None:
        kind = _kind(piece)
        if kind is not None and kind != self.kind:
            self._begin(kind)
        if self.kind == "mixed":
            self._values = np.empty(0)
        elif self.kind == "text":
            self._append(self._places(piece))
        else:
            self._append(_smallest(piece))

    def _begin(self, kind: Kind) -> None:
        """Note what a column is, which so far had no value, or values of another kind."""
        self.kind = kind if self.kind is None else "mixed"
        if self.kind == "text":
            self._values = np.full(self._rows, -1, dtype=np.int8)

    def series(self) -> "pd.Series":
        import pandas as pd

        values = self._values[: self._rows]
        if self.kind == "text":
            values = pd.Categorical.from_codes(values, categories=pd.Index(list(self._texts)))
        return pd.Series(values, copy=False)

    def _places(self, piece: "pd.Series") -> np.ndarray:
        codes, distinct = piece.factorize()
        known = [self._texts.setdefault(text, len(self._texts)) for text in distinct]
        places = np.array([*known, -1], dtype=np.min_scalar_type(-len(self._texts) - 1))
        return np.asarray(places[codes])  # a missing text has code −1: the last entry

    def _append(self, values: np.ndarray) -> None:
        dtype = np.result_type(self._values, values) if self._rows > 0 else values.dtype
        end = self._rows + len(values)
        if dtype != self._values.dtype or end > len(self._values):
            grown = np.empty(self._room if end <= self._room else 2 * end, dtype=dtype)
            grown[: self._rows] = self._values[: self._rows]
            self._values = grown
        self._values[self._rows : end] = values
        self._rows = end


def _kind(piece: "pd.Series") -> Kind | None:
    from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype

    if piece.isna().all():
        return None
    if is_numeric_dtype(piece) and not is_bool_dtype(piece):
        return "number"
    # TRUE, or a whole number of 30 digits, is read a second time: as it is written. So is a piece
    # in which pandas looked for whole numbers and met one of 20 digits: "" and NA stay texts there
    strings = infer_dtype(piece, skipna=True) == "string"
    lost = strings and not piece.isna().any() and piece.isin(MISSING).any()
    return "text" if strings and not lost else "mixed"


def _smallest(piece: "pd.Series") -> np.ndarray:
    """Return numbers in the shortest type that changes none; a column of none as NaN."""
    import pandas as pd
    from pandas.api.types import is_integer_dtype

    if is_integer_dtype(piece):
        return np.asarray(pd.to_numeric(piece, downcast="integer"))
    values = piece.to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(over="ignore"):
        short = values.astype(np.float32)
    same = np.array_equal(short.astype(np.float64), values, equal_nan=True)
    return short if same else np.asarray(values)
