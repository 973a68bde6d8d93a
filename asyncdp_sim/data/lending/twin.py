"""A synthetic twin of the lending table: any number of rows with its second moments.

Each row is z = L g with g iid standard normal, then every variable is a monotone function of its
z: a piecewise linear quantile table (amounts), a step function (counts), or a choice among
indicators (purpose, state). The tables and the factor L are in ``twin.json``, made by
:mod:`scenarios.twins.lending` so that means, variances and pairwise covariances of the
encoded columns and the target match those of the 42,535 loans of 2007–2011.

There are two laws, because the real table's rows run from 2011 down to 2007 and its last rows,
the public ones, differ from the others: ``body`` (rows 1…32,534) and ``public`` (the last 10,001).
This is what slows learning in the directions where the public rows vary more than the owners'.

What it does not reproduce: dependence beyond pairs, and drift within the body, which
:mod:`asyncdp_sim.data.lending.drift` has where it is asked for.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from asyncdp_sim.data.dataset import Array, Encoded
from asyncdp_sim.data.declared.twin import (
    Encoding,
    Marginals,
    Write,
    draw,
    lower_triangular,
    marginals_of,
    stored_beside,
)
from asyncdp_sim.data.lending.rows import RowsOfLaw
from asyncdp_sim.streams import Scope, Streams


@dataclass(frozen=True, eq=False)
class Twin(Marginals):
    """The calibrated law of a row of one part of the table.

    Attributes
    ----------
    factor : NDArray
        L, lower triangular with rows of unit length: L Lᵀ is the latent correlation.
    """

    factor: Array

    def write(self, matrix: Array, target: Array, generator: np.random.Generator) -> None:
        """Draw rows (:data:`~asyncdp_sim.data.declared.twin.Write`)."""
        RowsOfLaw(self, generator).write(matrix, target)

    @property
    def n_variables(self) -> int:
        """Normals to a row."""
        return len(self.variables)

    def fill(
        self,
        matrix: Array,
        target: Array,
        normals: Array,
        first: int,
        row: int,  # noqa: ARG002
    ) -> None:
        """Make rows, of the same law wherever they are; see :class:`~.rows.Law`."""
        latent = self.factor @ normals.T
        self.decode(latent[:, first : first + len(target)], matrix, target)


NOTE = (
    "Synthetic twin: rows drawn from summary statistics of LendingClub's loans of 2007-2011; "
    "no real record was read."
)


def twin_table(
    encoding: Encoding,
    body_rows: int,
    public_rows: int,
    streams: Streams | Scope,
    write: Write | None = None,
) -> Encoded:
    """Draw a table: body rows, then public rows.

    Parameters
    ----------
    encoding : {"plain", "as-published"}
        Whose columns and moments to reproduce.
    body_rows, public_rows : int
        ≥ 0; from the streams ``("data", "twin")`` and ``("data", "twin", "public")``.
    streams : Streams or Scope
        The run's random streams.
    write : callable, optional
        Draws the body's rows; by the encoding's law, the same for all of them, where absent.
    """
    body, public = calibrated(encoding, "body"), calibrated(encoding, "public")
    parts = [
        (body_rows, body.write if write is None else write, ()),
        (public_rows, public.write, ("public",)),
    ]
    return draw(public.columns, parts, streams, NOTE)


def public_table(encoding: Encoding, rows: int, streams: Streams | Scope) -> Encoded:
    """Draw the public rows alone; see :func:`twin_table`."""
    law = calibrated(encoding, "public")
    return draw(law.columns, [(rows, law.write, ("public",))], streams, NOTE)


@cache
def calibrated(encoding: Encoding, part: Literal["body", "public"]) -> Twin:
    """Return one of the laws that the package ships."""
    return from_json(stored_beside("asyncdp_sim.data.lending")["encodings"][encoding][part])


def from_json(stored: dict[str, Any]) -> Twin:
    """Return a twin from its stored form."""
    factor = lower_triangular(stored["factor"])
    # Rounding in the file must not change the variance of z.
    factor /= np.sqrt(np.einsum("ij,ij->i", factor, factor))[:, None]
    return Twin(*marginals_of(stored), factor)
