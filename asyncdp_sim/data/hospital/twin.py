"""A synthetic twin of the hospital table: any number of hospitals with any number of rows.

Row r of hospital i has latent values z = m_i + W g_r with its hospital's shift m_i = B h_i, where
h_i and g_r are iid standard normal and BBᵀ + WWᵀ has unit diagonal. Every variable is a step
function of its z, or a choice among indicators (age group, race), the length of stay too. The steps
and the factors B and W are in ``twin.json``, made by
:mod:`scenarios.twins.hospital` so that frequencies, pairwise covariances and the part
of these covariances that lies between hospitals match those of the real table. So hospitals differ
in their patients and in how long similar ones stay.

Sizes of hospitals are 10,000 r records, r ≥ 1 drawn from the sizes of the 86 largest hospitals of
that table relative to the smallest of these: the published experiment kept the 86 hospitals that
have 10,000 records.

What it does not reproduce: patients other than the real table's (musculoskeletal, 18 to 69 years
old), dependence beyond pairs, a relation between a hospital's size and its patients, slopes that
differ between hospitals. Of ``as-published`` columns the type of admission is assumed (see
:mod:`scenarios.twins.hospital`), and the MDC is nearly always the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Array, Encoded
from asyncdp_sim.data.twin import (
    Encoding,
    Law,
    Marginals,
    Write,
    draw,
    lower_triangular,
    marginals_of,
    stored_beside,
)

PACKAGE = "asyncdp_sim.data.hospital"
LEAST_RECORDS = 10_000


@dataclass(frozen=True, eq=False)
class Twin(Marginals, Law):
    """The calibrated law of a row.

    Attributes
    ----------
    between, within : NDArray
        B and W, one row and column per variable.
    shift : NDArray, optional
        m_i, (variables, 1), where all rows are of one hospital; else each is of one of its own.
    """

    between: Array
    within: Array
    shift: Array | None = None

    chunk_rows = 1024

    @override
    def chunk(self, generator: np.random.Generator) -> Array:
        """Return latent values, (variables, chunk_rows)."""
        shape = (self.chunk_rows, len(self.variables))
        z = self.within @ generator.standard_normal(shape).T
        z += self.between @ generator.standard_normal(shape).T if self.shift is None else self.shift
        return z

    @override
    def fill(self, matrix: Array, target: Array, chunk: Array, first: int, row: int) -> None:
        self.decode(chunk[:, first : first + len(target)], matrix, target)

    def write_hospital(self, matrix: Array, target: Array, generator: np.random.Generator) -> None:
        """Draw rows of one hospital (:data:`~asyncdp_sim.data.twin.Write`)."""
        shift = self.between @ generator.standard_normal((len(self.variables), 1))
        replace(self, shift=shift).write(matrix, target, generator)


NOTE = (
    "Synthetic twin: rows drawn from summary statistics of 36,631 discharges from New York's "
    "hospitals in 2020 (SPARCS, one diagnostic category); no real record was read."
)


def twin_table(
    encoding: Encoding,
    hospitals: Sequence[int],
    other_rows: int,
    public_rows: int,
    streams: Streams | Scope,
) -> Encoded:
    """Draw a table: hospital after hospital, then rows of other hospitals, then public rows.

    Parameters
    ----------
    encoding : {"plain", "as-published"}
        Whose columns and moments to reproduce.
    hospitals : sequence of int
        Rows of hospital i = 1…N, ≥ 0; from the streams ``("data", "twin", "hospital", i)``.
    other_rows, public_rows : int
        ≥ 0, each of a hospital of its own; from the streams ``("data", "twin")`` and
        ``("data", "twin", "public")``.
    streams : Streams or Scope
        The run's random streams.
    """
    twin = calibrated(encoding)
    write_one = twin.write_hospital
    parts: list[tuple[int, Write, tuple[str | int, ...]]] = [
        *((rows, write_one, ("hospital", i)) for i, rows in enumerate(hospitals, start=1)),
        (other_rows, twin.write, ()),
        (public_rows, twin.write, ("public",)),
    ]
    return draw(twin.columns, parts, streams, NOTE)


def twin_sizes(n_hospitals: int, streams: Streams | Scope) -> tuple[int, ...]:
    """Draw the hospitals' numbers of records, ≥ :data:`LEAST_RECORDS`.

    Hospital i's is from the stream ``("data", "twin", "hospital", i, "size")``.
    """
    quantiles = stored_beside(PACKAGE)["sizes"]
    at = np.linspace(0, 1, len(quantiles))
    sizes = []
    for i in range(1, n_hospitals + 1):
        draw = streams.generator("data", "twin", "hospital", i, "size").random()
        sizes.append(round(LEAST_RECORDS * float(np.interp(draw, at, quantiles))))
    return tuple(sizes)


@cache
def calibrated(encoding: Encoding) -> Twin:
    """Return one of the laws that the package ships."""
    return from_json(stored_beside(PACKAGE)["encodings"][encoding])


def from_json(stored: dict[str, Any]) -> Twin:
    """Return a twin from its stored form."""
    between, within = lower_triangular(stored["between"]), lower_triangular(stored["within"])
    # Rounding in the file must not change the variance of z.
    deviation = np.sqrt(np.sum(between**2 + within**2, axis=1))[:, None]
    return Twin(*marginals_of(stored), between / deviation, within / deviation)
