"""A CSV as texts: every cell as it is written, so that no cell decides how another is read.

What a text means is decided later, from public rows and the scenario alone. A column is held as
the texts that differ and a place among them for each row.
"""

import csv
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from asyncdp_sim.data.dataset import Rows
from asyncdp_sim.data.tables.file_form import FileForm, column_names, written_names
from asyncdp_sim.data.tables.limits import opened, require_cells

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyarrow.csv import InvalidRow

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
    none = gone.to_numpy(zero_copy_only=False)
    codes = np.where(none, -1, np.cumsum(~none) - 1)[encoded.indices.to_numpy()[order]]
    left = texts.filter(pc.invert(gone))
    if len(left) > len(codes) / 2:
        placed = pa.array(codes, mask=codes < 0)
        return pd.Series(left.take(placed).to_pandas(), dtype="str")
    categories = pd.Index(left.to_pandas(), dtype="str")
    return pd.Series(pd.Categorical.from_codes(codes, categories=categories), copy=False)
