"""A synthetic twin of the lending table: any number of rows with its second moments.

Each row is z = L g with g iid standard normal, then every variable is a monotone function of its
z: a piecewise linear quantile table (amounts), a step function (counts), or a choice among
indicators (purpose, state). The tables and the factor L are in ``twin.json``, made by
:mod:`asyncdp_sim.data.lending.calibrate` so that means, variances and pairwise covariances of the
encoded columns and the target match those of the 42,535 loans of 2007–2011.

There are two laws, because the real table's rows run from 2011 down to 2007 and its last rows,
the public ones, differ from the others: ``body`` (rows 1…32,534) and ``public`` (the last 10,001).
This is what slows learning in the directions where the public rows vary more than the owners'.

What it does not reproduce: dependence beyond pairs, and drift within the body, which
:mod:`asyncdp_sim.data.lending.drift` has where it is asked for.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, Protocol

import numpy as np

from asyncdp_sim.data.dataset import Array, Encoded
from asyncdp_sim.streams import Scope, Streams

Encoding = Literal["plain", "as-published"]

CHUNK_ROWS = 8192
"""Rows made at a time. Fixed: the last bits of a matrix product depend on its shape."""

Z_KNOTS: Array = np.linspace(-4.5, 4.5, 151)
"""Where quantile tables are tabulated; beyond the ends a variable keeps its end value."""


@dataclass(frozen=True, eq=False)
class Variable:
    """One latent normal and the encoded columns that it decides.

    Attributes
    ----------
    columns : tuple of str
        One column, or the indicators of a category.
    cuts : NDArray or None
        Increasing thresholds of z, between the steps of a step function or the categories; None
        for a quantile table.
    values : NDArray
        Without cuts, the column's non-decreasing values at :data:`Z_KNOTS`. With cuts, the steps,
        one more than there are cuts; for indicators the category's index, −1 for none.
    """

    columns: tuple[str, ...]
    cuts: Array | None
    values: Array

    def write(self, z: Array, into: Array) -> None:
        """Write the columns for latent values ``z`` (n,) into the zeroed array (n, columns)."""
        if self.cuts is None:
            into[:, 0] = np.interp(z, Z_KNOTS, self.values)
            return
        chosen = self.values[np.searchsorted(self.cuts, z, side="right")]
        if len(self.columns) == 1:
            into[:, 0] = chosen
            return
        for j in range(len(self.columns)):
            into[:, j] = chosen == j


class Law(Protocol):
    """What draws a table's rows."""

    def write(self, matrix: Array, target: Array, generator: np.random.Generator) -> None:
        """Draw rows into zeroed arrays; the first rows are the same however many are drawn."""


@dataclass(frozen=True, eq=False)
class Twin:
    """The calibrated law of a row of one part of the table.

    Attributes
    ----------
    columns : tuple of str
        Names of the encoded columns in the encoding's order, without the target.
    variables : tuple of Variable
        In that order; the last is the target.
    sums : mapping of str to tuple of str
        Columns that are no variables but the exact sums of others (payments and their parts).
    factor : NDArray
        L, lower triangular with rows of unit length: L Lᵀ is the latent correlation.
    """

    columns: tuple[str, ...]
    variables: tuple[Variable, ...]
    sums: Mapping[str, tuple[str, ...]]
    factor: Array

    def write(self, matrix: Array, target: Array, generator: np.random.Generator) -> None:
        """Draw rows into zeroed arrays; the first rows are the same however many are drawn.

        Parameters
        ----------
        matrix, target : NDArray
            (rows, columns) and (rows,), filled in place.
        generator : numpy.random.Generator
            Consumed in whole chunks of :data:`CHUNK_ROWS`.
        """
        for start, normals in chunks(generator, len(target), len(self.variables)):
            rows = slice(start, min(start + CHUNK_ROWS, len(target)))
            self.fill(matrix[rows], target[rows], normals, 0)

    def fill(self, matrix: Array, target: Array, normals: Array, first: int) -> None:
        """Make rows of a chunk's normals, from that numbered ``first`` on.

        Parameters
        ----------
        matrix, target : NDArray
            (rows, columns), zeroed, and (rows,), filled in place.
        normals : NDArray
            (:data:`CHUNK_ROWS`, variables).
        first : int
            0…CHUNK_ROWS − rows.
        """
        place = {name: j for j, name in enumerate(self.columns)}
        firsts = [place[variable.columns[0]] for variable in self.variables[:-1]]
        latent = (self.factor @ normals.T)[:, first : first + len(target)]
        for variable, column, z in zip(self.variables[:-1], firsts, latent[:-1], strict=True):
            variable.write(z, matrix[:, column : column + len(variable.columns)])
        for name, parts in self.sums.items():
            for part in parts:
                matrix[:, place[name]] += matrix[:, place[part]]
        self.variables[-1].write(latent[-1], target[:, None])


def chunks(
    generator: np.random.Generator, n_rows: int, n_variables: int
) -> Iterator[tuple[int, Array]]:
    """Yield each chunk's first row and its normals, (:data:`CHUNK_ROWS`, variables)."""
    for start in range(0, n_rows, CHUNK_ROWS):
        yield start, generator.standard_normal((CHUNK_ROWS, n_variables))


NOTE = (
    "Synthetic twin: rows drawn from summary statistics of LendingClub's loans of 2007-2011; "
    "no real record was read."
)


def twin_table(
    encoding: Encoding,
    body_rows: int,
    public_rows: int,
    streams: Streams | Scope,
    law: Law | None = None,
) -> Encoded:
    """Draw a table: body rows, then public rows.

    Body row j and public row m each depend on the seed and their number alone, so that adding
    owners changes neither the others' records nor the projection.

    Parameters
    ----------
    encoding : {"plain", "as-published"}
        Whose columns and moments to reproduce.
    body_rows, public_rows : int
        ≥ 0; from the streams ``("data", "twin")`` and ``("data", "twin", "public")``.
    streams : Streams or Scope
        The run's random streams.
    law : Law, optional
        Of the body's rows; the encoding's, the same for all of them, where absent.
    """
    body = calibrated(encoding, "body") if law is None else law
    public = calibrated(encoding, "public")
    matrix = np.zeros((body_rows + public_rows, len(public.columns)), order="F")
    target = np.zeros(body_rows + public_rows)
    body.write(matrix[:body_rows], target[:body_rows], streams.generator("data", "twin"))
    generator = streams.generator("data", "twin", "public")
    public.write(matrix[body_rows:], target[body_rows:], generator)
    return Encoded(matrix, target, public.columns, (NOTE,))


@cache
def calibrated(encoding: Encoding, part: Literal["body", "public"]) -> Twin:
    """Return one of the laws that the package ships."""
    text = resources.files("asyncdp_sim.data.lending").joinpath("twin.json").read_text("utf-8")
    return from_json(json.loads(text)["encodings"][encoding][part])


def from_json(stored: dict[str, Any]) -> Twin:
    """Return a twin from its stored form."""
    variables = tuple(
        Variable(
            tuple(v["columns"]),
            np.array(v["cuts"], dtype=float) if "cuts" in v else None,
            np.array(v["values"], dtype=float),
        )
        for v in stored["variables"]
    )
    factor = np.zeros((len(variables), len(variables)))
    for i, row in enumerate(stored["factor"]):
        factor[i, : i + 1] = row
    # Rounding in the file must not change the variance of z.
    factor /= np.sqrt(np.einsum("ij,ij->i", factor, factor))[:, None]
    sums = {name: tuple(parts) for name, parts in stored["sums"].items()}
    return Twin(tuple(stored["columns"]), variables, sums, factor)
