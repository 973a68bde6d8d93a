"""Cells as the numbers that they are."""

from typing import TYPE_CHECKING, Literal

from typing_extensions import override

from asyncdp_sim.data.tables.encodings.kind import Cells, Measured
from asyncdp_sim.data.tables.text_columns import cells

if TYPE_CHECKING:
    import pandas as pd


class Number(Measured):
    """Numbers as they are; true is 1, false 0, and a date (2020-05-17) its days since 1970.

    A time of the day is the part of it that has gone by: 12:00 is 0.5. A cell that is missing,
    infinite or no number becomes the public mean, 0 where no public row has a number.
    """

    as_written = False

    kind: Literal["number"] = "number"

    @override
    def quantities(self, column: "pd.Series", decimal: str) -> Cells:
        values, none = cells(column, decimal)
        return Cells([values], none)
