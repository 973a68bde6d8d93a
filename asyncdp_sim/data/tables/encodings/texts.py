"""Columns of texts: one column to a text, an order of texts, or nothing at all."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field, Strict, model_validator
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.messages import Ends, FormattedMessage
from asyncdp_sim.data.dataset import FROM_PRIVATE
from asyncdp_sim.data.tables.encodings.kind import Cells, Codes, EncodingKind, by_text
from asyncdp_sim.data.tables.text_columns import written
from asyncdp_sim.spec.base import about
from asyncdp_sim.spec.validation import faults_of

if TYPE_CHECKING:
    import pandas as pd

Texts = Annotated[tuple[str, ...], Strict(False), Field(min_length=1)]


class OneHot(EncodingKind):
    """A column of 0 and 1 for each value. A cell with none of them is 0 in all.

    A value that few public rows have is large once columns are scaled by their deviations,
    √(M/m) where m of M rows have it, and private rows may have it as often or hardly ever:
    ``least`` leaves it out.
    """

    as_written = True

    kind: Literal["one-hot"] = "one-hot"
    values: Annotated[
        Texts | None,
        about(
            "The values that have a column, as written; absent, those of the public rows, sorted"
        ),
    ] = None
    least: Annotated[
        int,
        Field(ge=1),
        about("Public rows that have a value, at least, for it to have a column", "rows"),
    ] = 1

    @model_validator(mode="after")
    def _counts_what_is_learned(self) -> Self:
        if self.values is not None and self.least > 1:
            rule = "allowed is 1 beside values, which have a column each"
            raise faults_of([Fault("least", str(self.least), rule)])
        return self

    @property
    @override
    def single(self) -> bool:
        return False

    @override
    def needs_public(self) -> str | None:
        return "allowed with values = [...] alone" if self.values is None else None

    @override
    def without_rare(self, public: "pd.Series", least: int) -> Self:
        rare = self.values is None and len(_frequent(public, least)) < len(distinct(public))
        return self.model_copy(update={"least": least}) if rare else self

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        values = list(dict.fromkeys(self.values or _frequent(public, self.least)))
        places = {value: float(place) for place, value in enumerate(values)}

        def read(column: "pd.Series") -> Cells:
            read_cells = by_text(column, lambda text: places.get(text, np.nan))
            [place] = read_cells.values
            return Cells([(place == j).astype(np.float64) for j in range(len(values))],
                         read_cells.misfits)  # fmt: skip

        kinds = "unseen" if self.least == 1 else "unseen and rare"

        def said(_: int, misfits: int) -> str:
            sentence = (
                FROM_PRIVATE + f"{{column}}: {{cells}} {kinds} values became 0 in all columns."
            )
            return FormattedMessage(sentence, column=name, cells=misfits)

        coding = f"{{column}}: {{values}} columns of 0 and 1; 0 in all for {kinds} values."
        names = tuple(f"{name} = {value}" for value in values)
        coded = FormattedMessage(coding, column=name, values=len(values))
        return Codes(names, read, (0.0,) * len(values), said, coded)


def _frequent(public: "pd.Series", least: int) -> list[str]:
    """Return what is written in so many cells at least, sorted."""
    if least == 1:
        return distinct(public)
    counts = public.dropna().map(written).value_counts()
    return sorted(str(value) for value, count in counts.items() if count >= least)


def distinct(public: "pd.Series") -> list[str]:
    """Return what is written in cells, sorted, once each."""
    return sorted({written(value) for value in public.dropna().unique()})


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
        public_places = met[~np.isnan(met)]
        middle = float(np.mean(public_places)) if len(public_places) > 0 else (len(order) - 1) / 2

        def said(missing: int, _: int) -> str:
            sentence = FROM_PRIVATE
            sentence += "{column}: {missing} missing or unseen values became {middle:g}, "
            whose = "the public mean." if len(public_places) > 0 else "the middle of the order."
            return FormattedMessage(sentence + whose, column=name, missing=missing, middle=middle)

        return Codes((name,), read, (middle,), said)


def _by_dictionary(name: str, read: Callable[["pd.Series"], Cells], unseen: int) -> Codes:
    def said(missing: int, _: int) -> str:
        sentence = FROM_PRIVATE + "{column}: {missing} missing or unseen values became {unseen}."
        return FormattedMessage(sentence, column=name, missing=missing, unseen=unseen)

    coding = FormattedMessage(
        "{column}: text, coded {codes} by the sorted public values, {unseen} for missing and "
        "unseen ones.",
        column=name,
        codes=Ends(0, unseen - 1),
        unseen=unseen,
    )
    return Codes((name,), read, (float(unseen),), said, coding)


class Drop(EncodingKind):
    """No feature."""

    as_written = False

    kind: Literal["drop"] = "drop"

    @property
    @override
    def single(self) -> bool:
        return False

    @property
    @override
    def makes_nothing(self) -> bool:
        return True

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        def read(column: "pd.Series") -> Cells:
            return Cells([], np.zeros(len(column), dtype=np.bool_))

        return Codes((), read, (), lambda _missing, _misfits: None)
