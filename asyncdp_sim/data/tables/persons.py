"""Persons and times of a table's rows: rows of one person belong together."""

from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.data.dataset import Rows

if TYPE_CHECKING:
    import pandas as pd


def codes_of(column: "pd.Series") -> Rows:
    """Return whose each row is, from 0; a row without a name is a person of its own."""
    import pandas as pd

    codes, names = pd.factorize(column.astype(object).where(column.notna(), None))
    nobody = codes < 0
    codes = np.array(codes, dtype=np.int64)
    codes[nobody] = len(names) + np.arange(np.count_nonzero(nobody))
    return codes


def ranks_of(column: "pd.Series") -> Array:
    """Return how late each row is, from 0: equal values rank alike, rows without one first.

    Numbers are ordered as numbers; where any value is none, all are ordered as texts, as dates such
    as 2024-05-17 may be.
    """
    import pandas as pd

    numbers = pd.to_numeric(column.astype(object), errors="coerce")
    as_numbers = numbers.notna().eq(column.notna()).all()
    values = numbers if as_numbers else column.astype(object).map(str, na_action="ignore")
    codes, _ = pd.factorize(values, sort=True)
    return np.asarray(codes, dtype=np.float64)
