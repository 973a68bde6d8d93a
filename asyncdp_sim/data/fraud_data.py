"""ULB's credit card transactions, real or as a synthetic twin: tell frauds from genuine ones.

The twin has any number of independent rows.

The table's components are principal: over *all* its rows their means are 0, their covariance is
diagonal (published deviations D^{1/2}), and Amount correlates with them as published (c). The
moments m, F of the fraud rows are those of the 492 frauds, a share π = 492/284,807 of the rows.
So the genuine rows have mean μ = −πm/(1 − π) and covariance

    G = (D − π(F + mmᵀ))/(1 − π) − μμᵀ.

A genuine row is v = μ + k(A − E A)/sd(A) + τ L g: the amount A is log-normal with the published
mean and deviation, k = D^{1/2}c, LLᵀ = G − kkᵀ, g is standard normal, and τ = Γ(2)^{−1/2}, the same
for all components, makes the rest a multivariate Student t with 4 degrees of freedom: components
are heavy-tailed and large together, as in the table.

A fraud is v = m + u(S − 1)/sd(S) + τ R g. Its severity S = 3U², U uniform on [0, 1], moves it along
the leading eigenvector of F (uuᵀ + RRᵀ = F): many frauds are mild and hard to tell, few extreme.
Amounts of frauds are log-normal, up to the largest seen.

What it does not reproduce: order in time, skewness of single components (rows of small norm are
a quarter too small, the largest components of all are missing), amounts of frauds that depend on
the components. V2's mean and deviation among frauds are published, but its covariance with the
others there is assumed (see :mod:`scenarios.twins.fraud`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data import declared_columns as declared
from asyncdp_sim.data.splits import BuildRequest
from asyncdp_sim.data.tables.read import column_names, read_table
from asyncdp_sim.data.tables.rows import NOTES, Encoded, OnDemand, note_if_any
from asyncdp_sim.data.tables.text_columns import cells

if TYPE_CHECKING:
    import pandas as pd

COMPONENTS = tuple(f"V{j}" for j in range(1, 29))
FEATURES = (*COMPONENTS, "Amount")
"""The features of Collab's section IV-B: 28 principal components and the amount in euros."""
TABLE_ROWS, TABLE_FRAUDS = 284_807, 492
FRAUD_SHARE = TABLE_FRAUDS / TABLE_ROWS

_SEVERITY_SD = np.sqrt(0.8)  # of 3U²


@dataclass(frozen=True)
class Amounts:
    """A law of amounts in euros: A = exp(mean + sd·z) − 1, at least 0 and at most ``largest``.

    Attributes
    ----------
    mean, sd : float
        Of ln(1 + A), before it is bounded.
    largest : float
        The table's largest amount of the class.
    """

    mean: float
    sd: float
    largest: float

    def of(self, z: Array) -> Array:
        """Return the amounts of standard normal values, in cents exactly."""
        return np.round(np.clip(np.expm1(self.mean + self.sd * z), 0, self.largest), 2)

    def standardised(self, amount: Array) -> Array:
        """Return (A − E A)/sd(A), with the moments of the unbounded law."""
        grown = np.exp(self.mean + self.sd**2 / 2)
        spread = grown * np.sqrt(np.expm1(self.sd**2))
        return np.asarray((amount - (grown - 1)) / spread)


@dataclass(frozen=True, eq=False)
class Twin:
    """The calibrated law of a row.

    Attributes
    ----------
    genuine_mean, genuine_factor, amount_slope : NDArray
        μ (28,), L (28, 28), k (28,).
    fraud_mean, fraud_severity, fraud_factor : NDArray
        m (28,), u (28,), R (28, 27).
    genuine_amounts, fraud_amounts : Amounts
        Amounts per class.
    """

    genuine_mean: Array
    genuine_factor: Array
    amount_slope: Array
    fraud_mean: Array
    fraud_severity: Array
    fraud_factor: Array
    genuine_amounts: Amounts
    fraud_amounts: Amounts

    def write(self, matrix: Array, target: Array, generator: np.random.Generator) -> None:
        """Draw rows (:data:`~asyncdp_sim.data.declared_columns.Write`)."""
        for rows in declared.chunks(len(target)):
            drawn, labels = self.chunk(generator)
            matrix[rows] = drawn[: rows.stop - rows.start]
            target[rows] = labels[: rows.stop - rows.start]

    def chunk(self, generator: np.random.Generator) -> tuple[Array, Array]:
        """Return rows, components and Amount, and their labels ±1."""
        fraud = generator.random(declared.CHUNK_ROWS) < FRAUD_SHARE
        severity = 3 * generator.random(declared.CHUNK_ROWS)[fraud] ** 2
        size = 1 / np.sqrt(generator.standard_gamma(2, declared.CHUNK_ROWS))
        z = generator.standard_normal(declared.CHUNK_ROWS)
        scaled = size[:, None] * generator.standard_normal((declared.CHUNK_ROWS, len(COMPONENTS)))
        rows = np.empty((declared.CHUNK_ROWS, len(COMPONENTS) + 1))
        amount = self.genuine_amounts.of(z)
        pull = self.genuine_amounts.standardised(amount)
        rows[:, :-1] = self.genuine_mean + pull[:, None] * self.amount_slope
        rows[:, :-1] += scaled @ self.genuine_factor.T
        rows[:, -1] = amount
        away = ((severity - 1) / _SEVERITY_SD)[:, None] * self.fraud_severity
        rest = scaled[fraud, : self.fraud_factor.shape[1]] @ self.fraud_factor.T
        rows[fraud, :-1] = self.fraud_mean + away + rest
        rows[fraud, -1] = self.fraud_amounts.of(z[fraud])
        return rows, np.where(fraud, 1.0, -1.0)


def twin_table(body_rows: int, public_rows: int, streams: Streams | Scope) -> Encoded:
    """Draw a table, unscaled: body rows, then public rows, all of the same law.

    Parameters
    ----------
    body_rows, public_rows : int
        ≥ 0; from the streams ``("data", "twin")`` and ``("data", "twin", "public")``.
    streams : Streams or Scope
        The run's random streams.
    """
    law = calibrated()
    parts = [(body_rows, law.write, ()), (public_rows, law.write, ("public",))]
    return declared.draw(FEATURES, parts, streams, NOTES["fraud-twin"])


@cache
def calibrated() -> Twin:
    """Return the law that the package ships."""
    return from_json(declared.shipped("fraud_twin.json"))


def from_json(stored: dict[str, Any]) -> Twin:
    """Return the law that the stored moments imply.

    Raises
    ------
    numpy.linalg.LinAlgError
        If no genuine rows can have the covariance that is left for them.
    """
    deviation, mean = np.array(stored["deviation"]), np.array(stored["fraud_mean"])
    half = declared.lower_triangular(stored["fraud_covariance"])
    covariance = half + np.tril(half, -1).T
    share = FRAUD_SHARE
    left = np.diag(deviation**2) - share * (covariance + np.outer(mean, mean))
    centre = -share * mean / (1 - share)
    slope = deviation * np.array(stored["amount_correlation"])
    genuine = left / (1 - share) - np.outer(centre, centre) - np.outer(slope, slope)
    values, vectors = np.linalg.eigh(covariance)
    columns = vectors * np.sqrt(values)
    worst = columns[:, -1] * np.sign(columns[:, -1] @ mean)
    return Twin(
        genuine_mean=centre,
        genuine_factor=np.asarray(np.linalg.cholesky(genuine), dtype=np.float64),
        amount_slope=slope,
        fraud_mean=mean,
        fraud_severity=worst,
        fraud_factor=columns[:, :-1],
        genuine_amounts=Amounts(*stored["genuine_amounts"]),
        fraud_amounts=Amounts(*stored["fraud_amounts"]),
    )


def transactions(
    frame: "pd.DataFrame", columns: Sequence[str] | None = None, public_records: int | None = None
) -> OnDemand:
    """Return the features that a table has, in file order, and its labels, nothing scaled.

    A private cell that no transaction has becomes 0, the mean of a component and the least amount;
    one of Class makes a record without a target.

    Parameters
    ----------
    frame : pandas.DataFrame
        At least the columns that are used.
    columns : sequence of str, optional
        All columns of the file, where ``frame`` has some only.
    public_records : int, optional
        How many of the last rows are public; all of them where absent.

    Raises
    ------
    DataError
        On ``data.path``: without Class, Amount or any component, or with public cells that are
        not numbers, amounts below 0, or classes other than 0 and 1.
    """
    names = tuple(name for name in frame.columns if name in FEATURES)
    require_columns(frame.columns)
    private = 0 if public_records is None else max(len(frame) - public_records, 0)
    wrong = {name: np.isnan(_numbers(name, frame[name])) for name in (*names, "Class")}
    lost = sum(int(np.count_nonzero(cells[:private])) for cells in wrong.values())
    faults = [
        _bad_cell(frame[name], private, cells[private:])
        for name, cells in wrong.items()
        if cells[private:].any()
    ]
    if len(faults) > 0:
        raise DataError(faults)
    notes = (
        *declared.lacking("Components missing from the table, left out", COMPONENTS, names),
        *declared.lacking(
            "Columns not used as features", map(str, columns or frame.columns), (*names, "Class")
        ),
        *note_if_any("fraud-invalid", cells=lost),
    )
    used = [declared.EncodedColumn(name, (name,), partial(_numbers, name)) for name in names]

    labels = 2 * _numbers("Class", frame["Class"]) - 1
    return declared.encoded(frame, used, labels, notes)


T = TypeVar("T", Encoded, OnDemand)


def _numbers(name: str, column: "pd.Series") -> Array:
    """Return a column's cells as numbers; NaN for what no transaction has."""
    values, _ = cells(column)
    if name == "Class":
        values[~np.isin(values, (0, 1))] = np.nan
    if name == "Amount":
        values[values < 0] = np.nan
    return values


def require_columns(columns: Collection[str]) -> None:
    """Refuse a table that lacks columns without which it is none of transactions.

    Raises
    ------
    DataError
        On ``data.path``, one fault per missing column.
    """
    rule = "allowed is a table of card transactions with Class, Amount and some of V1 to V28"
    missing = [f"a column {name!r}" for name in ("Class", "Amount") if name not in columns]
    if not any(name in columns for name in COMPONENTS):
        missing.append("any column 'V1' to 'V28'")
    if missing:
        raise DataError([Fault("data.path", f"a table without {x}", rule) for x in missing])


def _bad_cell(column: "pd.Series", first_public: int, bad: Bools) -> Fault:
    """Return a fault that names the first bad public cell of a column; rows count from 1."""
    row, count = first_public + int(np.argmax(bad)), int(np.count_nonzero(bad))
    more = f" ({count} such cells in all)" if count > 1 else ""
    problem = f"{str(column.iloc[row])[:40]!r} in column {column.name!r}, row {row + 1}{more}"
    rules = {"Class": "0 (genuine) or 1 (fraud)", "Amount": "a number ≥ 0 in every row"}
    rule = rules.get(str(column.name), "a number in every row")
    return Fault("data.path", problem, f"allowed is {rule}")


class FraudData(declared.DeclaredData):
    """Card transactions: features V1…V28 and Amount, label 1 for a fraud and −1 for any other.

    Time is not a feature. In file order frauds come in bursts; ``split = "shuffled"`` makes owners
    alike. Labels stay ±1 with every preprocessing.
    """

    table_rows = TABLE_ROWS
    kind: Literal["fraud"] = "fraud"
    path: str | None = None
    encoding: declared.Encoding = "plain"

    target_column = "Class"
    target_labels = (-1.0, 1.0)
    _of_labels = True

    @override
    def _read(self, path: str) -> tuple["pd.DataFrame", declared.Encode, tuple[str, ...]]:
        columns = column_names(path)
        require_columns(columns)
        frame = read_table(path, wanted=self._wanted((*FEATURES, "Class"), columns))
        return frame, lambda raw: self._scaled(transactions(raw, columns, self.public_records)), ()

    @override
    def _twin(self, request: BuildRequest) -> tuple[Encoded, Sequence[object]]:
        rows = self._body_rows_for(request)
        return self._scaled(twin_table(rows, self.public_records, request.streams)), ()

    def _scaled(self, table: T) -> T:
        """Return a table with log10(1 + Amount) in Amount's place, if it is encoded plainly."""
        if self.encoding != "plain":
            return table
        amount = table.columns.index("Amount")

        def shorten(block: Array, _: Ints) -> None:
            block[:, amount] = np.log1p(block[:, amount]) / np.log(10)

        notes = (*table.notes, "Amount became log10(1 + Amount).")
        return replace(table.changed(shorten), notes=notes)
