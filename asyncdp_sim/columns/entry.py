"""An entry of the dictionary of columns: name, meaning, unit, domain, and what null means."""

from collections.abc import Iterator
from dataclasses import dataclass

from asyncdp_sim.measures.scores import Score

NEVER = "never null"
UNITLESS = "none"
TIME = "time units"
TICKS = "ticks (10⁻⁹ time units)"
LOSS = "of the objective"
MODEL = "of the model"

ANY = "any number"
COUNT = "whole numbers ≥ 0"
NUMBER = "whole numbers ≥ 1"
SHARE = "0 to 1"
SIZE = "≥ 0"
TEXT = "text"
YES = "true or false"
OR_INFINITE = " or ∞"


@dataclass(frozen=True)
class Column:
    """The meaning of a column of a table, or of a key of a summary.

    Attributes
    ----------
    name : str
    meaning : str
    unit : str
        "none" of names, numbers of things, shares and whatever else has no unit.
    domain : str
        Which values it may have; "or ∞" where infinity is one.
    null : str
        When it is null.
    """

    name: str
    meaning: str
    unit: str = UNITLESS
    domain: str = ANY
    null: str = NEVER

    @property
    def metadata(self) -> dict[str, str]:
        """What its field in a Parquet file says."""
        return {"unit": self.unit, "meaning": self.meaning}


@dataclass(frozen=True)
class Table:
    """A table of a directory, and its columns.

    Attributes
    ----------
    name : str
        Of its file, without ``.parquet``; with the folder before it where that is another.
    meaning : str
        What a row is, and in which order rows are.
    columns : tuple of Column
        All that it may have.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]


def of_score(score: Score, name: str, rows: str, model: str, *, diverges: bool) -> Iterator[Column]:
    """Yield the column of a score of held-out rows.

    Parameters
    ----------
    score : Score
    name : str
        Of the column.
    rows, model : str
        Which rows are predicted, and by what, in words.
    diverges : bool
        Whether the model may have diverged.
    """
    infinite = OR_INFINITE if diverges and not score.more_is_better else ""
    alike = ", or all their labels are alike" if score.name == "auc" else ""
    yield Column(
        name,
        f"{score.words} of {model} on {rows}: {score.meaning}",
        "of the target" if score.in_units else UNITLESS,
        (SHARE if score.more_is_better else SIZE) + infinite,
        f"none of these rows has a target{alike}",
    )
