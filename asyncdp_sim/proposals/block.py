"""The proposed ``[data]`` and ``[model]`` blocks of a table, a comment a line."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.words import agreed
from asyncdp_sim.data.column_profile import ColumnLook, key_of, percent, toml_of
from asyncdp_sim.data.table_profile import TableLook
from asyncdp_sim.data.tables.encoded_columns import encoded
from asyncdp_sim.data.tables.encodings import Encoding
from asyncdp_sim.data.tables.file_form import MISSING

MOST_FEATURES = 10
HELD_OUT = 0.2


def block(look: TableLook, folder: Path | None = None) -> list[str]:
    """Return the lines of ``[data]`` and ``[model]`` blocks and what they were chosen from.

    Raises
    ------
    DataError
        If no feature is left, or the target has no numbers.
    """
    return [*commented(chosen_from(look)), "", *data_lines(look, folder), "", *model_lines(look)]


def chosen_from(look: TableLook) -> tuple[str, str]:
    """Return the line above all tables that says what settings were chosen from."""
    return f"chosen_from = {text(look.basis)}", "rows from which these settings were chosen"


def data_lines(look: TableLook, folder: Path | None = None) -> list[str]:
    """Return the lines of a ``[data]`` block, whose paths load from ``folder``.

    Raises
    ------
    DataError
        If no feature is left, or the target has no numbers.
    """
    return [*_commented(_fields(look, folder)), "", "[data.columns]", *_commented(_columns(look))]


def model_lines(look: TableLook) -> list[str]:
    """Return the lines of a ``[model]`` block, by what the target is."""
    count = len(look.classes)
    last = look.classes[-1] if count > 0 else ""
    kinds = {
        0: [('kind = "ridge"', "least squares")],
        2: [('kind = "logistic"', f"of two classes; {last!r} is the positive one")],
    }
    several = [
        ('kind = "softmax"', f"multinomial logistic regression; {last!r} is the reference"),
        (f"classes = {count}", "of the target"),
    ]
    shared = [
        ("intercept = true", "a column of ones, one of the features"),
        ("regularisation = 1e-3", "σ, a choice"),
    ]
    return ["[model]", *commented(*kinds.get(count, several), *shared)]


def _fields(look: TableLook, folder: Path | None) -> Iterator[tuple[str, str]]:
    path, public = (
        p if p is None or folder is None else os.path.relpath(p, folder)
        for p in (look.path, look.public_path)
    )
    yield "[data]", ""
    yield 'kind = "table"', ""
    yield f"path = {text(path)}", f"{look.rows} rows"
    if public is not None:
        yield f"public_path = {text(public)}", f"{look.public} rows, no owner's"
    yield f"target = {text(look.target)}", "the column to predict"
    if len(look.classes) == 0:
        yield '# unit = "days"', "its unit, used when errors are reported: please fill in"
    if not look.path.endswith(".parquet"):
        yield f"separator = {text(look.form.separator)}", "between cells"
        yield f"decimal = {text(look.form.decimal)}", "decimal mark"
        yield f"charset = {text(look.form.charset)}", "text encoding"
    if look.owner is not None:
        left = len(look.owners) - look.with_records(look.least)
        least = f", least = {look.least}" if left > 0 else ""
        out = f"; {left} with fewer records are left out" if left > 0 else ""
        yield f"split = {{ column = {text(look.owner)}{least} }}", f"owner of each row{out}"
    if len(look.missing) > 0:
        words = toml_of([*MISSING, *look.missing])
        yield f"missing = {words}", "texts that mean a missing cell"
    where = "the last of the file" if public is None else "the rows of public_path"
    if look.public_seed is not None:
        where = "chosen at random"
    yield f"public_records = {look.public}", f"{where}; they are not private"
    if look.public_seed is not None:
        yield f"public_seed = {look.public_seed}", "seed of that choice"
    yield 'preprocessing = "pca"', "columns centred and scaled by public rows"
    features, most = n_features(look)
    comment = f"{most} independent columns of the public rows, and a column of ones"
    yield f"features = {features + 1}", comment
    yield f"held_out = {HELD_OUT}", "share of every owner's rows on which models are scored"


def _columns(look: TableLook) -> Iterator[tuple[str, str]]:
    for column in look.columns:
        comments = [
            column.type,
            *([f"{percent(column.missing)} missing"] if column.missing > 0 else []),
        ]
        if column.name != look.target:
            yield f"{key_of(column.name)} = {_inline(column.encoding)}", _told(column, comments)
        elif column.type != "number" or len(column.suspicious) > 0:
            yield (
                f"{key_of(column.name)} = {_inline(column.encoding)}",
                _told(column, ["the target", *comments]),
            )


def _told(each: ColumnLook, said: Sequence[str]) -> str:
    return "; ".join([*said, f"{each.distinct} distinct", *each.suspicious])


def n_features(look: TableLook) -> tuple[int, int]:
    """Return how many features are proposed, and how many columns are independent."""
    matrix = matrix_of(look)
    rank = int(np.linalg.matrix_rank(matrix - matrix.mean(axis=0))) if matrix.size > 0 else 0
    if rank == 0:
        raise DataError([Fault("", "a table", "no column of it can be a feature")], look.path)
    return min(MOST_FEATURES, rank), rank


def matrix_of(look: TableLook) -> Array:
    """Return the public rows as numbers, scaled."""
    public = look.seen.tail(look.public).reset_index(drop=True)
    declared: dict[str, Encoding] = {column.name: column.encoding for column in look.columns}
    names = [column.name for column in look.columns if column.name != look.target]
    matrix, _, _ = encoded(public, names, declared, 0, look.form.decimal)
    scale = matrix.std(axis=0)
    return np.asarray(matrix[:, scale > 0] / scale[scale > 0])


def _inline(encoding: Encoding) -> str:
    """Return an encoding as TOML has it in one line."""
    fields: dict[str, Any] = encoding.model_dump(exclude_defaults=True, exclude={"kind"})
    return text(encoding.kind) if len(fields) == 0 else toml_of({"kind": encoding.kind, **fields})


def text(value: str | None) -> str:
    """Return a text as TOML has it."""
    return toml_of(value or "")


def _commented(lines: Iterator[tuple[str, str]]) -> list[str]:
    pairs = [(line, agreed(" ".join(comment.split()))) for line, comment in lines]
    width = min(max((len(line) for line, comment in pairs if comment), default=0), 48)
    return [f"{line:<{width}}  # {comment}" if comment else line for line, comment in pairs]


def commented(*lines: tuple[str, str]) -> list[str]:
    """Return TOML lines, each with what is said of it."""
    return _commented(iter(lines))
