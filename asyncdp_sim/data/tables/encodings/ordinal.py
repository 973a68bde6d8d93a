"""Places of texts in an order."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.data.tables.encodings.kind import Cells, Codes, EncodingKind, by_text
from asyncdp_sim.data.tables.encodings.one_hot import Texts, distinct
from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.notices import Counted, Ends
from asyncdp_sim.spec import about

if TYPE_CHECKING:
    import pandas as pd


class Ordinal(EncodingKind):
    """The place of a text in an order, from 0."""

    as_written = True

    kind: Literal["ordinal"] = "ordinal"
    order: Annotated[
        Texts | None,
        about(
            "Texts as written, from the lowest to the highest: a cell with none of them becomes "
            "the public mean, the middle of the order where no public row has one. Absent, the "
            "texts of the public rows as a dictionary has them: a cell with none of them gets the "
            "place behind the last"
        ),
    ] = None

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if self.order is not None and len(set(self.order)) < len(self.order):
            twice = next(text for text in self.order if self.order.count(text) > 1)
            raise faults_of([Fault("order", f"{twice!r} twice", "allowed is each text once")])
        return self

    @override
    def needs_public(self) -> str | None:
        return "allowed with order = [...] alone" if self.order is None else None

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        order = distinct(public) if self.order is None else list(self.order)
        places = {text: float(place) for place, text in enumerate(order)}

        def read(column: "pd.Series") -> Cells:
            return by_text(column, lambda text: places.get(text, np.nan))

        if self.order is None:
            return _by_dictionary(name, read, len(order))
        [met] = read(public).values
        known = met[~np.isnan(met)]
        middle = float(np.mean(known)) if len(known) > 0 else (len(order) - 1) / 2

        def said(missing: int, _: int) -> str | None:
            if missing == 0:
                return None
            told = "{column}: {missing} missing or unseen values became {middle:g}, "
            whose = "the public mean." if len(known) > 0 else "the middle of the order."
            return Counted(told + whose, column=name, missing=missing, middle=middle)

        return Codes((name,), read, (middle,), said)


def _by_dictionary(name: str, read: Callable[["pd.Series"], Cells], unseen: int) -> Codes:
    def said(missing: int, _: int) -> str:
        return Counted(
            "{column}: text, coded {codes} by the sorted public values, {unseen} for missing and "
            "unseen ones ({rows} rows).",
            column=name,
            codes=Ends(0, unseen - 1),
            unseen=unseen,
            rows=missing,
        )

    return Codes((name,), read, (float(unseen),), said)
