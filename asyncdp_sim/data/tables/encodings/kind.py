"""The family of encodings: what a cell of a column becomes, learned from public cells alone."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.data.dataset import FROM_PRIVATE, Array
from asyncdp_sim.data.tables.text_columns import Truths, map_text
from asyncdp_sim.spec.base import Variant

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a column as numbers.

    Attributes
    ----------
    values : list of NDArray
        (rows,) each, one per encoded column; NaN where a cell is missing or does not fit.
    misfits : NDArray
        (rows,), which cells are there and do not fit.
    """

    values: list[Array]
    misfits: Truths


@dataclass(frozen=True, eq=False)
class Codes:
    """The numbers for cells of a column, with a code learned from public cells.

    Attributes
    ----------
    names : tuple of str
        Of the encoded columns.
    read : callable
        From the column, public rows and private ones, to its :class:`Cells`. A cell's numbers
        depend on that cell alone.
    unknown : tuple of float
        What stands in each encoded column for cells that are missing or do not fit.
    said : callable
        From the number of such private cells, and of those that do not fit, to a sentence, or
        None.
    coding : str, optional
        What the column became, by public cells alone.
    """

    names: tuple[str, ...]
    read: Callable[["pd.Series"], Cells]
    unknown: tuple[float, ...]
    said: Callable[[int, int], str | None]
    coding: str | None = None


class EncodingKind(Variant):
    """A way from a column of a table to numbers."""

    @property
    def single(self) -> bool:
        """Whether it makes one number of a cell, as of a target."""
        return True

    as_written: ClassVar[bool]
    """It uses the text of a cell, 007 and not 7, so that a CSV's column is kept as text."""

    @property
    def makes_nothing(self) -> bool:
        """Whether no feature is made of the column."""
        return False

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The classes that it makes labels of; empty where public rows say, None of no labels."""
        return None

    def needs_public(self) -> str | None:
        """Return what to give where no public row is to learn from; None for nothing."""
        return None

    def faults(self, key: str, public_records: int) -> list[Fault]:
        """Return a fault where it has nothing to learn from."""
        rule = self.needs_public() if public_records == 0 else None
        return [] if rule is None else [Fault(key, f"{self.kind!r}, without public rows", rule)]

    def without_rare(self, public: "pd.Series", least: int) -> Self:  # noqa: ARG002
        """Return the encoding with no code of its own for what fewer public cells have."""
        return self

    @abstractmethod
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        """Return the codes of a column.

        Parameters
        ----------
        public : Series
            The public cells alone.
        name : str
            The column's.
        decimal : str
            "." or ",": what texts have before their fractions.
        """


class Measured(EncodingKind):
    """An encoding that reads quantities: a cell without one gets the public mean."""

    @property
    def read_apart(self) -> tuple[str, ...]:
        """What is read of a cell, where that is several things; their columns' names end so."""
        return ()

    @abstractmethod
    def quantities(self, column: "pd.Series", decimal: str) -> Cells:
        """Return the value of each cell, read independently."""

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        means = [_mean(values) for values in self.quantities(public, decimal).values]
        public_means = tuple(value for value in means if value is not None)
        return Codes(
            names=tuple(f"{name} {part}" for part in self.read_apart) or (name,),
            read=lambda column: self.quantities(column, decimal),
            unknown=tuple(0.0 if value is None else value for value in means),
            said=lambda missing, misfits: _replaced(name, public_means, missing, misfits),
        )


def _replaced(name: str, means: Sequence[float], missing: int, misfits: int) -> str:
    """Return what private cells without a quantity became, in words."""
    if len(means) == 0:
        reason = (
            "became 0, for no public row tells how to code them: name it in data.drop, or raise "
        )
        cells = "{missing} missing values" + (", {texts} of them texts," if misfits > 0 else "")
        sentence = f"{FROM_PRIVATE}{{column}}: {cells} {reason}public_records."
        return FormattedMessage(sentence, column=name, missing=missing, texts=misfits)
    if len(means) > 1:
        sentence = FROM_PRIVATE + "{column}: {missing} missing values became the public means."
        return FormattedMessage(sentence, column=name, missing=missing)
    sentence = FROM_PRIVATE + "{column}: {missing} missing values became the public mean {mean:g}."
    return FormattedMessage(sentence, column=name, missing=missing, mean=means[0])


def by_text(column: "pd.Series", code: Callable[[str], float]) -> Cells:
    """Return one finite number for each cell by what is written in it; NaN for none."""
    values = map_text(column, code, as_written=True)
    values = np.where(np.isfinite(values), values, np.nan)
    return Cells([values], np.isnan(values) & column.notna().to_numpy())


def _mean(values: Array) -> float | None:
    numbers = values[~np.isnan(values)]
    return float(np.mean(numbers)) if len(numbers) > 0 else None
