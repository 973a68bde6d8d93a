"""Encodings: how a column of a table becomes numbers."""

from typing import TYPE_CHECKING, Annotated

from asyncdp_sim.data.tables.encodings.kind import Date, Money, Number
from asyncdp_sim.data.tables.encodings.texts import ClassLabels, Drop, OneHot, Ordinal
from asyncdp_sim.data.tables.text_columns import cells
from asyncdp_sim.spec.registry import FAMILY_BY_NAME

if TYPE_CHECKING:
    import pandas as pd

Encoding = Annotated[Number | Money | OneHot | Ordinal | Date | ClassLabels | Drop, FAMILY_BY_NAME]
"""Every encoding; a new one joins by its line here."""


def usual(public: "pd.Series", decimal: str) -> Encoding:
    """Return the encoding of a column of which nothing is declared, by its public cells.

    Numbers where every cell that is there is one, or where none is there; else a dictionary.
    """
    return Ordinal() if cells(public, decimal)[1].any() else Number()
