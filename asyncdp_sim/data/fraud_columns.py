"""The columns of ULB's table of card transactions, read and checked."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data.dataset import Array, Encoded
from asyncdp_sim.data.fraud_twin import COMPONENTS
from asyncdp_sim.errors import DataError, Fault

if TYPE_CHECKING:
    import pandas as pd

FEATURES = (*COMPONENTS, "Amount")
"""The features of Collab's section IV-B: 28 principal components and the amount in euros."""


def transactions(frame: "pd.DataFrame") -> Encoded:
    """Return the features that a table has, in file order, and its labels, nothing scaled.

    Raises
    ------
    DataError
        On ``data.path``: without Class, Amount or any component, or with cells that are not
        numbers, amounts below 0, or classes other than 0 and 1.
    """
    names = [name for name in frame.columns if name in FEATURES]
    _require_columns(frame)
    values = {name: _numbers(frame[name]) for name in (*names, "Class")}
    bad = {name: ~np.isfinite(x) for name, x in values.items()}
    bad["Amount"] |= values["Amount"] < 0
    bad["Class"] |= ~np.isin(values["Class"], (0, 1))
    faults = [_bad_cell(frame[name], wrong) for name, wrong in bad.items() if wrong.any()]
    if faults:
        raise DataError(faults)
    matrix = np.empty((len(frame), len(names)), order="F")
    for j, name in enumerate(names):
        matrix[:, j] = values[name]
    absent = [name for name in COMPONENTS if name not in names]
    others = [str(name) for name in frame.columns if name not in values]
    notes = [f"Components that the table lacks, left out: {', '.join(absent)}."] if absent else []
    if others:
        notes.append(f"Columns that are no features: {', '.join(others)}.")
    return Encoded(matrix, 2 * values["Class"] - 1, tuple(names), tuple(notes))


def with_log_amount(table: Encoded) -> Encoded:
    """Return a table with log10(1 + Amount) in Amount's place."""
    matrix, amount = table.matrix.copy(order="F"), table.columns.index("Amount")
    matrix[:, amount] = np.log1p(matrix[:, amount]) / np.log(10)
    return replace(table, matrix=matrix, notes=(*table.notes, "Amount became log10(1 + Amount)."))


def _numbers(column: "pd.Series") -> Array:
    """Return a column of numbers or of texts that are numbers; NaN for all else."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    if not is_numeric_dtype(column):
        column = pd.to_numeric(column.astype(object), errors="coerce")
    return np.array(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _require_columns(frame: "pd.DataFrame") -> None:
    allowed = "allowed is a table of card transactions with Class, Amount and some of V1 to V28"
    missing = [f"a column {name!r}" for name in ("Class", "Amount") if name not in frame.columns]
    if not any(name in frame.columns for name in COMPONENTS):
        missing.append("any column 'V1' to 'V28'")
    if missing:
        raise DataError([Fault("data.path", f"a table without {x}", allowed) for x in missing])


def _bad_cell(column: "pd.Series", bad: npt.NDArray[np.bool_]) -> Fault:
    """Return a fault that names the first bad cell of a column; rows count from 1."""
    row, count = int(np.argmax(bad)), int(np.count_nonzero(bad))
    more = f" ({count} such cells in all)" if count > 1 else ""
    given = f"{str(column.iloc[row])[:40]!r} in column {column.name!r}, row {row + 1}{more}"
    allowed = {"Class": "0 (genuine) or 1 (fraud)", "Amount": "a number ≥ 0 in every row"}
    return Fault(
        "data.path", given, f"allowed is {allowed.get(str(column.name), 'a number in every row')}"
    )
