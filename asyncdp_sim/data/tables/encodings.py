"""Encodings of texts: categories, orders and classes; and the union of all encodings."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field, Strict
from typing_extensions import override

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import Ends, FormattedMessage
from asyncdp_sim.core.specification import FAMILY_BY_NAME, trait
from asyncdp_sim.data.tables.quantities import (
    Cells,
    Codes,
    Date,
    EncodingKind,
    Money,
    Number,
    by_text,
)
from asyncdp_sim.data.tables.rows import FROM_PRIVATE
from asyncdp_sim.data.tables.text_columns import cells, map_text, spelled, written

if TYPE_CHECKING:
    import pandas as pd


_WHOLE_BY_COMMA = re.compile(r"(?<=\d),00?$")
"""What is left out of whole numbers such as 1,0; three digits would be thousands."""
Texts = Annotated[tuple[str, ...], Strict(False), Field(min_length=1)]


class OneHot(EncodingKind):
    """A column of 0 and 1 for each value. A cell with another value is 0 in all columns.

    If m of M public rows have a value, its column is scaled to √(M/m), which is large for rare
    values. ``least`` leaves such values out.
    """

    as_written = True

    kind: Literal["one-hot"] = "one-hot"
    values: Texts | None = None
    least: Annotated[int, Field(ge=1)] = 1

    single = False
    needs_public = trait(
        lambda self: "allowed with values = [...] alone" if self.values is None else None
    )

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.values is not None and self.least > 1:
            rule = "allowed is 1 beside values, which have a column each"
            yield Fault("least", str(self.least), rule)

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
        lost = FROM_PRIVATE + f"{{column}}: {{cells}} {kinds} values became 0 in all columns."
        coding = f"{{column}}: {{values}} columns of 0 and 1; 0 in all for {kinds} values."
        return Codes(
            names=tuple(f"{name} = {value}" for value in values),
            read=read,
            unknown=(0.0,) * len(values),
            said=lambda _, misfits: FormattedMessage(lost, column=name, cells=misfits),
            coding=FormattedMessage(coding, column=name, values=len(values)),
        )


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
    """The position of a text in an order, from 0."""

    as_written = True

    kind: Literal["ordinal"] = "ordinal"
    order: Texts | None = None

    needs_public = trait(
        lambda self: "allowed with order = [...] alone" if self.order is None else None
    )

    @override
    def own_faults(self) -> Iterator[Fault]:
        for twice in _repeated(self.order or ()):
            yield Fault("order", f"{twice!r} twice", "allowed is each text once")

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        order = distinct(public) if self.order is None else list(self.order)
        places = {text: float(place) for place, text in enumerate(order)}

        def read(column: "pd.Series") -> Cells:
            return by_text(column, lambda text: places.get(text, np.nan))

        lost = FROM_PRIVATE + "{column}: {missing} missing or unseen values became "
        if self.order is None:  # a dictionary
            unseen, lost = len(order), lost + "{unseen}."
            coding = FormattedMessage(
                "{column}: text, coded {codes} by the sorted public values, {unseen} for missing "
                "and unseen ones.",
                column=name,
                codes=Ends(0, unseen - 1),
                unseen=unseen,
            )
            return Codes(
                names=(name,),
                read=read,
                unknown=(float(unseen),),
                said=lambda n, _: FormattedMessage(lost, column=name, missing=n, unseen=unseen),
                coding=coding,
            )
        [met] = read(public).values
        public_places = met[~np.isnan(met)]
        middle = float(np.mean(public_places)) if len(public_places) > 0 else (len(order) - 1) / 2
        whose = "the public mean." if len(public_places) > 0 else "the middle of the order."
        lost += "{middle:g}, " + whose
        return Codes(
            names=(name,),
            read=read,
            unknown=(middle,),
            said=lambda n, _: FormattedMessage(lost, column=name, missing=n, middle=middle),
        )


class Drop(EncodingKind):
    """No feature."""

    as_written = False
    makes_nothing = True

    kind: Literal["drop"] = "drop"

    single = False

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        def read(column: "pd.Series") -> Cells:
            return Cells([], np.zeros(len(column), dtype=np.bool_))

        return Codes((), read, ())


class ClassLabels(EncodingKind):
    """Labels: −1 and 1 for two classes, 1 to K for more. A cell with another value has no label.

    Of a feature such a cell is 0. Blanks around a name and capitals do not count unless two names
    differ in them alone; 1 and 1.0 are one name, and beside true or false also 1 and true.
    """

    as_written = False

    kind: Literal["classes"] = "classes"
    values: Texts

    @override
    def own_faults(self) -> Iterator[Fault]:
        if len(self.values) < 2:
            yield Fault("values", repr(self.values[0]), "allowed are two classes or more")
        for twice in _repeated(self.values):
            yield Fault("values", f"{twice!r} twice", "allowed is each name once")

    labels = trait(lambda self: self.values)

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        count = len(self.values)
        labels = [-1.0, 1.0] if count == 2 else np.arange(1.0, count + 1).tolist()
        return _labelled(name, dict(zip(self.values, labels, strict=True)))


def _repeated(texts: Sequence[str]) -> list[str]:
    """Return the first text that stands there more than once, if any."""
    return [text for text in texts if texts.count(text) > 1][:1]


def _labelled(name: str, labels: dict[str, float]) -> Codes:
    """Return the codes of a column of classes with these labels, in any spelling."""
    fold = _folding(labels)
    alike = {fold(text): label for text, label in labels.items()}
    if len(alike) < len(labels):  # two names differ in capitals alone
        alike = {}

    def label(text: str) -> float:
        return labels.get(text.strip(), alike.get(fold(text), np.nan))

    def read(column: "pd.Series") -> Cells:
        values = map_text(column, label)
        return Cells([values], np.isnan(values) & column.notna().to_numpy())

    return Codes((name,), read, (0.0,))


def _folding(names: Iterable[str]) -> Callable[[str], str]:
    """Return what says what spellings of a class have in common: true, TRUE, and 1 beside true."""
    truths = any(name.strip().casefold() in ("true", "false") for name in names)

    def fold(text: str) -> str:
        word = text.strip().casefold()
        size = _size(word)
        if np.isfinite(size):
            word = f"{size:.15g}"
        return {"1": "true", "0": "false"}.get(word, word) if truths else word

    return fold


class SeenClasses(EncodingKind):
    """The classes that public cells hold, of which there are to be so many.

    Where public cells hold 1 alone, both 0 and −1 are the other class: whichever a private cell
    has, and no other cell decides.
    """

    as_written = False

    kind: str
    count: int

    labels = ()

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        names = names_in(public)
        if self.count == 2 and names in _ALONE:
            return _labelled(name, _ALONE[names])
        if len(names) != self.count:
            shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
            problem = f"the column {name!r}, with {len(names)} classes in public rows: {shown}"
            values = f'data.columns.{name} = {{ kind = "classes", values = [...] }}'
            rule = f"allowed are {self.count} classes; {values} names them"
            raise DataError([Fault("data.target", problem, rule)])
        return ClassLabels(values=names).learn(public, name, decimal)


def names_in(column: "pd.Series") -> tuple[str, ...]:
    """Return the names of classes in a column: by size where all are numbers, else as texts.

    Of several spellings of a class the most frequent one, of equals the first, is its name.
    """
    return tuple(spellings_in(column))


def spellings_in(column: "pd.Series") -> dict[str, tuple[str, ...]]:
    """Return the names of classes, and the other spellings of each: Yes and YES are one class."""
    filled = column.dropna().astype(object)  # a category's texts are those of all cells
    counts = Counter[str]()
    for value, count in filled.value_counts().items():
        counts[spelled(value).strip()] += int(count)
    ranked = sorted(counts, key=lambda text: (-counts[text], text))
    groups: dict[str, list[str]] = {}
    fold = _folding(ranked)
    for text in ranked:
        groups.setdefault(fold(text), []).append(text)
    names = {texts[0]: tuple(texts[1:]) for texts in groups.values()}
    if all(np.isfinite(_size(name)) for name in names):
        return {name: names[name] for name in sorted(names, key=_size)}
    ordered = sorted(names, key=lambda name: (name.casefold(), name))  # False, true
    return {name: names[name] for name in ordered}


def _size(text: str) -> float:
    """Return a label as a number, also one such as 1,0; NaN for none."""
    try:
        return float(_WHOLE_BY_COMMA.sub("", text))
    except ValueError:
        return np.nan


_ALONE = {
    ("-1",): {"-1": -1.0, "1": 1.0},
    ("0",): {"0": -1.0, "1": 1.0},
    ("1",): {"-1": -1.0, "0": -1.0, "1": 1.0},
}
"""Labels where public rows show one class alone, which may be of two pairs."""


Encoding = Annotated[Number | Money | OneHot | Ordinal | Date | ClassLabels | Drop, FAMILY_BY_NAME]
"""Every encoding; a new one joins by its line here."""


def usual(public: "pd.Series", decimal: str) -> Encoding:
    """Return the encoding of a column of which nothing is declared, by its public cells.

    Numbers where every cell that is there is one, or where none is there; else a dictionary.
    """
    return Ordinal() if cells(public, decimal)[1].any() else Number()
