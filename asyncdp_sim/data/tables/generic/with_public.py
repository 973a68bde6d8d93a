"""A table with its public rows, which may be in a file of their own, at its end."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.data.dataset import Rows
from asyncdp_sim.data.tables.csv_texts import MISSING
from asyncdp_sim.data.tables.file_form import FileForm
from asyncdp_sim.data.tables.names import FileRows
from asyncdp_sim.data.tables.read import column_names, found_form, read_table
from asyncdp_sim.data.tables.text_columns import cells

if TYPE_CHECKING:
    import pandas as pd


def public_form(public_path: str, found: FileForm, *declared: Any) -> FileForm:
    """Return the form of a table whose public rows are apart, as they show it.

    The private file's own header tells what stands between its cells, and how its bytes are text.
    """
    with _of_public_rows():
        return replace(found, decimal=found_form(public_path, None, *declared).decimal)


@contextmanager
def _of_public_rows() -> Iterator[None]:
    """Say of what is wrong with ``data.path`` that it is of ``data.public_path``."""
    try:
        yield
    except DataError as error:
        faults = [replace(fault, key="data.public_path") for fault in error.faults]
        raise DataError(faults) from None


def with_public_rows(
    path: str,
    public_path: str | None,
    public_records: int,
    form: FileForm,
    spare: Collection[str | None] = (),
    owner: str | None = None,
    unused: Collection[str] = (),
    missing: Collection[str] = MISSING,
    seed: int | None = None,
) -> tuple["pd.DataFrame", FileRows]:
    """Return all rows, public ones last, which may lack columns that are spared; and their places.

    Of the column ``owner`` all texts are names, of others those of ``missing`` are none; columns in
    ``unused`` may hold lists. With a ``seed`` public rows are chosen at random among all.

    Raises
    ------
    DataError
        On ``data.path``; on ``data.public_path``, whose file cannot be read, or lacks columns or
        rows.
    """
    options: Any = {"owner": owner, "unused": unused, "missing": missing}
    if public_path is None:
        frame = read_table(path, form=form, **options)
        frame = frame.iloc[public_last(len(frame), public_records, seed)]
        return frame.reset_index(drop=True), FileRows.from_frame(path, frame)
    with _of_public_rows():
        shown = found_form(public_path, None, None, form.decimal)
        public = read_table(public_path, form=shown, **options)
    if len(public) < public_records:
        rule = f"allowed is at most {len(public)}, the number of rows of data.public_path"
        raise DataError([Fault("data.public_records", str(public_records), rule)])
    names = [name for name in column_names(path, form=form) if name in public.columns]
    public = public[names].tail(public_records)
    private = read_table(path, form=form, **options)
    lacking = [name for name in private.columns if name not in {*names, *spare}]
    if len(lacking) > 0:
        problem = f"{public_path!r}, a table without a column {lacking[0]!r}"
        rule = "allowed is a table with the columns of data.path that are used"
        raise DataError([Fault("data.public_path", problem, rule)])
    rows = (
        *FileRows.from_frame(path, private).parts,
        *FileRows.from_frame(public_path, public).parts,
    )
    return _joined(private, public), FileRows(rows)


def public_last(rows: int, public: int, seed: int | None) -> Rows:
    """Return all rows with the public ones last: the last ones, or as many chosen at random.

    Which are chosen depends on how many rows there are, and on nothing in them.
    """
    if seed is None:
        return np.arange(rows)
    chosen = np.zeros(rows, dtype=np.bool_)
    generator = np.random.Generator(np.random.PCG64(seed))
    chosen[generator.permutation(rows)[: min(public, rows)]] = True
    return np.concatenate([np.flatnonzero(~chosen), np.flatnonzero(chosen)])


def require_one_header(path: str, frame: "pd.DataFrame", public: int, form: FileForm) -> None:
    """Refuse a CSV whose first row is a second header, of names where public rows have numbers.

    Raises
    ------
    DataError
        On ``data.path``.
    """
    if path.endswith(".parquet") or public == 0 or len(frame) <= public:
        return
    cells_of = {name: cells(frame[name].tail(public), form.decimal) for name in frame.columns}
    numbers = [n for n, (x, none) in cells_of.items() if not none.any() and np.isfinite(x).any()]
    first = [frame[name].head(1) for name in numbers]
    names = [str(cell.iloc[0]) for cell in first if cells(cell, form.decimal)[1].all()]
    if len(names) > 1 and len(names) == len(numbers) == len(set(names)):
        problem = f"{path!r}, whose row 1 holds names ({', '.join(names[:3])}) in place of numbers"
        raise DataError([Fault("data.path", problem, "allowed is one header: delete that row")])


def _joined(private: "pd.DataFrame", public: "pd.DataFrame") -> "pd.DataFrame":
    """Return rows one after another; columns of texts stay categories."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    columns: dict[Any, Any] = {}
    for name in private.columns:
        if name not in public.columns:
            columns[name] = private[name].reindex(range(len(private) + len(public)))
            continue
        parts = [private[name], public[name]]
        if all(part.dtype == "category" for part in parts):
            columns[name] = union_categoricals(parts)
        else:
            held = [part.astype("str") if part.dtype == "category" else part for part in parts]
            columns[name] = pd.concat(held, ignore_index=True)
    return pd.DataFrame(columns, copy=False)
