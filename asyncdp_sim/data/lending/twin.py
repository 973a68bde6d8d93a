"""A synthetic twin of the lending table: any number of rows with its second moments.

Each row is z = L g with g iid standard normal, then every variable is a monotone function of its
z: a piecewise linear quantile table (amounts), a step function (counts), or a choice among
indicators (purpose, state). The tables and the factor L are in ``twin.json``, made by
:mod:`scenarios.twins.lending` so that means, variances and pairwise covariances of the
encoded columns and the target match those of the 42,535 loans of 2007–2011.

There are two laws, because the real table's rows run from 2011 down to 2007 and its last rows,
the public ones, differ from the others: ``body`` (rows 1…32,534) and ``public`` (the last 10,001).
This is what slows learning in the directions where the public rows vary more than the owners'.

Where drift is asked for, who holds the first rows learns something else than who holds the last.
The real table's rows run from 2011 down to 2007, and after row 39,786 once more, over loans that
do not meet the credit policy. Row j of the drifting twin has the law of that block of
:data:`BLOCK_ROWS` rows of the table, as long as a published bank, that holds row j, with the
block's own marginals and correlations; the table's last block is shorter, and row 42,536 is of the
first block again. Within a block rows are exchangeable. ``drift.json`` is made by the same script.

What it does not reproduce: dependence beyond pairs, and, without drift, any within the body.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

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


@dataclass(frozen=True, eq=False)
class Twin(Marginals, Law):
    """The calibrated law of a row of one part of the table.

    Attributes
    ----------
    factor : NDArray
        L, lower triangular with rows of unit length: L Lᵀ is the latent correlation.
    """

    factor: Array

    @override
    def chunk(self, generator: np.random.Generator) -> Array:
        """Return normals, one row of them to a row."""
        return generator.standard_normal((self.chunk_rows, len(self.variables)))

    @override
    def fill(self, matrix: Array, target: Array, chunk: Array, first: int, row: int) -> None:
        latent = self.factor @ chunk.T
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


TABLE_ROWS = 42_535
"""Of the table that the twin is made from; after so many rows its blocks recur."""
BLOCK_ROWS = 10_000
"""Records of a bank, as published."""


@dataclass(frozen=True, eq=False)
class Drift(Law):
    """The law of rows that depends on where in the table they are.

    Attributes
    ----------
    blocks : tuple of Twin
        Laws of the table's blocks, in its order.
    """

    blocks: tuple[Twin, ...]

    @override
    def chunk(self, generator: np.random.Generator) -> Array:
        """Return normals, those of no drift."""
        return self.blocks[0].chunk(generator)

    @override
    def fill(self, matrix: Array, target: Array, chunk: Array, first: int, row: int) -> None:
        done = 0
        while done < len(target):
            block, left = located(row + done)
            rows = slice(done, min(done + left, len(target)))
            self.blocks[block].fill(matrix[rows], target[rows], chunk, first + done, row + done)
            done = rows.stop


def located(row: int) -> tuple[int, int]:
    """Return a row's block, and how many of the block's rows are left from it on."""
    place = row % TABLE_ROWS
    block = place // BLOCK_ROWS
    return block, min((block + 1) * BLOCK_ROWS, TABLE_ROWS) - place


@cache
def drifting(encoding: Encoding) -> Drift:
    """Return the drift that the package ships."""
    stored = stored_beside("asyncdp_sim.data.lending", "drift.json")["encodings"][encoding]
    return Drift(tuple(map(from_json, stored)))
