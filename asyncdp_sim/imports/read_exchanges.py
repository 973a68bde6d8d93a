"""A measured table, read: a row per request."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.imports.exchanges import COLUMNS, MeasuredTrace
from asyncdp_sim.imports.fitted import Floats
from asyncdp_sim.network.contents import columns_of, shortened, time_of

KIND = f"allowed is a CSV or .parquet with the columns {','.join(COLUMNS)}"


def read_trace(file: Path) -> MeasuredTrace:
    """Read a measured table.

    Raises
    ------
    DataError
        With the rows that are wrong.
    """
    columns = columns_of(str(file), COLUMNS, "", KIND)
    wrong = list(columns.wrong)
    times = {name: _times(columns.cells[name]) for name in COLUMNS[1:]}
    for place, line in enumerate(columns.lines):
        row = [times[name][place] for name in COLUMNS[1:]]
        known = [value for value in row if not np.isnan(value)]
        stood = ",".join(str(columns.cells[name][place]) for name in COLUMNS)
        gap = np.isnan(row).tolist() != sorted(np.isnan(row).tolist())
        if len(known) == 0 or gap or -1.0 in known or known != sorted(known):
            allowed = "allowed are times ≥ 0 in this order, empty from where it did not go on"
            where = f"{file.name}, {columns.place} {line}"
            wrong.append((line, Fault("", f"{stood} ({where})", allowed)))
    if len(wrong) > 0:
        wrong.sort(key=lambda pair: pair[0])
        raise DataError(shortened([fault for _, fault in wrong], file.name), str(file))
    texts = [str(cell) for cell in columns.cells["owner"]]
    names = tuple(sorted(set(texts), key=lambda text: (len(text), text)))
    numbers = {name: place for place, name in enumerate(names)}
    owner = np.array([numbers[text] for text in texts])
    order = np.argsort(times["request"], kind="stable")
    return MeasuredTrace(names, owner[order], *(times[name][order] for name in COLUMNS[1:]))


def _times(cells: Sequence[str] | npt.NDArray[np.generic]) -> Floats:
    """Return times; NaN of an empty cell, −1 of one that holds no time."""
    texts = ["" if str(cell) == "nan" else str(cell) for cell in cells]
    told = (np.nan if text == "" else time_of(text) for text in texts)
    return np.array([-1.0 if each is None else each for each in told], np.float64)
