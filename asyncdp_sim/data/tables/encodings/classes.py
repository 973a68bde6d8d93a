"""Classes of a target: labels by name, whatever the classes are called."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.data.tables.encodings.kind import Cells, Codes, EncodingKind
from asyncdp_sim.data.tables.encodings.texts import Texts
from asyncdp_sim.data.tables.text_columns import map_text
from asyncdp_sim.spec.base import about
from asyncdp_sim.spec.validation import faults_of

if TYPE_CHECKING:
    import pandas as pd


class ClassLabels(EncodingKind):
    """Labels: −1 and 1 of two classes, 1 to K of more. A cell with none of them has no label.

    Of a feature such a cell is 0. Blanks around a name do not count, and 1 and 1.0 are one name.
    """

    as_written = False

    kind: Literal["classes"] = "classes"
    values: Annotated[
        Texts,
        about("Names of the classes; of two the last is the positive one, of more the reference"),
    ]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(self.values) < 2:
            rule = "allowed are two classes or more"
            raise faults_of([Fault("values", repr(self.values[0]), rule)])
        for value in self.values:
            if self.values.count(value) > 1:
                raise faults_of([Fault("values", f"{value!r} twice", "allowed is each name once")])
        return self

    @property
    @override
    def labels(self) -> tuple[str, ...] | None:
        return self.values

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        count = len(self.values)
        labels = [-1.0, 1.0] if count == 2 else np.arange(1.0, count + 1).tolist()
        return _labelled(name, dict(zip(self.values, labels, strict=True)))


def _labelled(name: str, labels: dict[str, float]) -> Codes:
    def read(column: "pd.Series") -> Cells:
        values = map_text(column, lambda text: labels.get(text.strip(), np.nan))
        return Cells([values], np.isnan(values) & column.notna().to_numpy())

    return Codes((name,), read, (0.0,), lambda _missing, _misfits: None)


class SeenClasses(EncodingKind):
    """The classes that public cells hold, of which there are to be so many.

    Where public cells hold 1 alone, both 0 and −1 are the other class: whichever a private cell
    has, and no other cell decides.
    """

    as_written = False

    kind: str
    count: int

    @property
    @override
    def labels(self) -> tuple[str, ...] | None:
        return ()

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
    """Return the names of classes in a column: by size where all are numbers, else as texts."""
    size_of: dict[str, float] = {}
    filled = column.dropna().astype(object)  # a category's texts are those of all cells
    map_text(filled, lambda text: size_of.setdefault(text.strip(), _size(text)))
    by_size = all(np.isfinite(size) for size in size_of.values())
    return tuple(sorted(size_of, key=size_of.__getitem__ if by_size else None))


def _size(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


_ALONE = {
    ("-1",): {"-1": -1.0, "1": 1.0},
    ("0",): {"0": -1.0, "1": 1.0},
    ("1",): {"-1": -1.0, "0": -1.0, "1": 1.0},
}
"""Labels where public rows show one class alone, which may be of two pairs."""
