"""A column for each of a column's values."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field, Strict
from typing_extensions import override

from asyncdp_sim.data.tables.encodings.kind import Cells, Codes, EncodingKind, by_text
from asyncdp_sim.data.tables.text_columns import written
from asyncdp_sim.notices import Counted
from asyncdp_sim.spec import about

if TYPE_CHECKING:
    import pandas as pd

Texts = Annotated[tuple[str, ...], Strict(False), Field(min_length=1)]


class OneHot(EncodingKind):
    """A column of 0 and 1 for each value. A cell with none of them is 0 in all."""

    as_written = True

    kind: Literal["one-hot"] = "one-hot"
    values: Annotated[
        Texts | None,
        about(
            "The values that have a column, as written; absent, those of the public rows, sorted"
        ),
    ] = None

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(), cls(values=("a", "c")))

    @property
    @override
    def single(self) -> bool:
        return False

    @override
    def needs_public(self) -> str | None:
        return "allowed with values = [...] alone" if self.values is None else None

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        values = distinct(public) if self.values is None else list(dict.fromkeys(self.values))
        places = {value: float(place) for place, value in enumerate(values)}

        def read(column: "pd.Series") -> Cells:
            found = by_text(column, lambda text: places.get(text, np.nan))
            [place] = found.values
            return Cells([(place == j).astype(np.float64) for j in range(len(values))],
                         found.misfits)  # fmt: skip

        def said(_: int, misfits: int) -> str:
            told = "{column}: {values} columns of 0 and 1; 0 in all for unseen values ({rows} rows)"
            return Counted(f"{told}.", column=name, values=len(values), rows=misfits)

        names = tuple(f"{name} = {value}" for value in values)
        return Codes(names, read, (0.0,) * len(values), said)


def distinct(public: "pd.Series") -> list[str]:
    """Return what is written in cells, sorted, once each."""
    return sorted({written(value) for value in public.dropna().unique()})
