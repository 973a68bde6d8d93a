"""A copy of a table's file in which one row holds something else in every cell.

A guarantee is about what owners have in their files, so that it covers what a loader makes of a
file: the type of a column, the codes of its texts, and which rows there are. A neighbouring file is
therefore read by the same loader as the file itself.
"""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from asyncdp_sim.data.tables.file_form import PLAIN, FileForm, long_cells, opened

if TYPE_CHECKING:
    import pyarrow as pa

Kept = Callable[[str], bool]
"""Tells which columns stay as they are."""
CELLS: dict[str, str | float | None] = {
    "nothing": None,
    "the text maybe": "maybe",
    "the text True": "True",
    "the number 1e153": 1e153,
}
"""What a row may hold in every cell, in words and as it stands: too little, no number, another
type, too much."""


def write_neighbour(
    path: str, copy: Path, row: int, cell: str | float | None, kept: Kept, form: FileForm = PLAIN
) -> Path:
    """Write a copy of a table with one row changed, and return where it is.

    Parameters
    ----------
    path : str
        A CSV, a gzipped CSV or a Parquet file.
    copy : Path
        Where the copy goes, without a suffix: ``.csv`` or ``.parquet`` is added.
    row : int
        From 0, the header not counted; past the end nothing is changed.
    cell : str, float or None
        What its cells hold; None is nothing. A Parquet column of another type becomes one of texts.
    kept : callable
        Tells of columns that stay as they are, such as that which says whose a row is.
    form : FileForm
        Of a CSV.
    """
    if path.endswith(".parquet"):
        return _parquet(path, copy.with_suffix(".parquet"), row, cell, kept)
    written = "" if cell is None else f"{cell:g}" if isinstance(cell, float) else cell
    return _csv(path, copy.with_suffix(".csv"), row, written, kept, form)


def _csv(path: str, copy: Path, row: int, cell: str, kept: Kept, form: FileForm) -> Path:
    # a mark before the header is no part of a column's name
    charset = "utf-8-sig" if form.charset == "utf-8" else form.charset
    with (
        long_cells(),
        opened(path) as packed,
        io.TextIOWrapper(packed, encoding=charset, newline="") as source,
        copy.open("w", encoding=form.charset, newline="") as target,
    ):
        written = csv.writer(target, delimiter=form.separator)
        header: list[str] = []
        at = -1
        for line in csv.reader(source, delimiter=form.separator):
            if len(header) == 0:
                header = line if len(line) > 1 else []  # a title before the header has one cell
            elif len(line) > 0:
                at += 1
            if at == row and len(line) > 0:
                line = [
                    old if kept(name) else cell
                    for name, old in zip(header, [*line, *[""] * len(header)], strict=False)
                ]
            written.writerow(line)
    return copy


def _parquet(path: str, copy: Path, row: int, cell: str | float | None, kept: Kept) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    columns = {
        name: table[name] if kept(name) else _with_cell(table[name], row, cell)
        for name in table.column_names
    }
    pq.write_table(pa.table(columns).replace_schema_metadata(table.schema.metadata), copy)
    return copy


def _with_cell(column: "pa.ChunkedArray", row: int, cell: str | float | None) -> "pa.ChunkedArray":
    """Return a column with one cell replaced, in a type that holds it beside all the others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not any(holds(column.type) for holds in _tests_of_types()):
        return column
    if isinstance(cell, float) and (
        pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    ):
        column = column.cast(pa.float64(), safe=False)
    elif cell is not None:
        if pa.types.is_floating(column.type):
            column = column.cast(pa.float64())  # as text, 0.1 of four bytes is another number
        if pa.types.is_boolean(column.type):  # as the loader spells them; Arrow writes true
            column = pc.if_else(column, "True", "False")
        column = column.cast(pa.string())
        cell = f"{cell:g}" if isinstance(cell, float) else cell
    if row >= len(column):
        return column
    replacement = pa.chunked_array([pa.array([cell], type=column.type)])
    parts = [column.slice(0, row), replacement, column.slice(row + 1)]
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], type=column.type)


def _tests_of_types() -> tuple[Callable[["pa.DataType"], bool], ...]:
    """Return what tells the types of cells whose texts mean the same as they do."""
    from pyarrow import types

    numbers = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    texts = (types.is_string, types.is_large_string)
    return (*numbers, *texts, types.is_date, types.is_timestamp, types.is_null)
