"""A synthetic twin of ULB's table of card transactions: any number of independent rows.

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

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.data.dataset import Array, Encoded
from asyncdp_sim.data.twin import Law, draw, lower_triangular, stored_beside
from asyncdp_sim.streams import Scope, Streams

COMPONENTS = tuple(f"V{j}" for j in range(1, 29))
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
class Twin(Law):
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

    @override
    def fill(
        self, matrix: Array, target: Array, chunk: tuple[Array, Array], first: int, row: int
    ) -> None:
        rows, labels = chunk
        matrix[:] = rows[first : first + len(target)]
        target[:] = labels[first : first + len(target)]

    @override
    def chunk(self, generator: np.random.Generator) -> tuple[Array, Array]:
        """Return rows, components and Amount, and their labels ±1."""
        fraud = generator.random(self.chunk_rows) < FRAUD_SHARE
        severity = 3 * generator.random(self.chunk_rows)[fraud] ** 2
        size = 1 / np.sqrt(generator.standard_gamma(2, self.chunk_rows))
        z = generator.standard_normal(self.chunk_rows)
        scaled = size[:, None] * generator.standard_normal((self.chunk_rows, len(COMPONENTS)))
        rows = np.empty((self.chunk_rows, len(COMPONENTS) + 1))
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


NOTE = (
    "Synthetic twin: rows drawn from summary statistics of ULB's card transactions of "
    "September 2013; no real record was read."
)


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
    return draw((*COMPONENTS, "Amount"), parts, streams, NOTE)


@cache
def calibrated() -> Twin:
    """Return the law that the package ships."""
    return from_json(stored_beside("asyncdp_sim.data", "fraud_twin.json"))


def from_json(stored: dict[str, Any]) -> Twin:
    """Return the law that the stored moments imply.

    Raises
    ------
    numpy.linalg.LinAlgError
        If no genuine rows can have the covariance that is left for them.
    """
    deviation, mean = np.array(stored["deviation"]), np.array(stored["fraud_mean"])
    half = lower_triangular(stored["fraud_covariance"])
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
