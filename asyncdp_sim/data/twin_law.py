"""Laws of the rows of synthetic twins: variables are functions of correlated normals."""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.tables.rows import Encoded

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
        Without cuts, the column's non-decreasing values at :data:`Z_KNOTS`. With cuts,
        the steps, one more than there are cuts; for indicators the category's index, −1 for none.
    """

    columns: tuple[str, ...]
    cuts: Array | None
    values: Array

    def write(self, z: Array, into: Array) -> None:
        """Write the columns for latent values ``z`` (n,) into the array (n, columns)."""
        if self.cuts is None:
            into[:, 0] = np.interp(z, Z_KNOTS, self.values)
            return
        chosen = self.values[np.searchsorted(self.cuts, z, side="right")]
        if len(self.columns) == 1:
            into[:, 0] = chosen
            return
        for j in range(len(self.columns)):
            into[:, j] = chosen == j


def lower_triangular(rows: Sequence[Sequence[float]]) -> Array:
    """Return the square matrix of which a file holds the rows up to the diagonal."""
    matrix = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        matrix[i, : i + 1] = row
    return matrix


@cache
def shipped(name: str) -> Any:
    """Return what a file of JSON or TOML holds that ships with this package."""
    text = resources.files("asyncdp_sim.data").joinpath(name).read_text("utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)


CHUNK_ROWS = 8192
"""Rows made at a time. Fixed: the last bits of a matrix product depend on its shape."""


def chunks(n_rows: int, chunk_rows: int = CHUNK_ROWS) -> Iterator[slice]:
    """Yield the rows 0…n_rows−1 of a table in chunks."""
    for first in range(0, n_rows, chunk_rows):
        yield slice(first, min(first + chunk_rows, n_rows))


@dataclass(frozen=True, eq=False)
class Twin:
    """The calibrated law of a row: variables as functions of correlated normals.

    A row's latent values are z = m + W g, g and h iid standard normal; m = B h where rows are
    grouped, as by hospital, and each is of a group of its own.

    Attributes
    ----------
    columns : tuple of str
        Names of the encoded columns in the encoding's order, without the target.
    variables : tuple of Variable
        In that order; the last is the target.
    sums : mapping of str to tuple of str
        Columns that are no variables but the exact sums of others (payments and their parts).
    within, between : NDArray
        W and B, one row and column per variable, lower triangular; the rows of both together have
        unit length. Without groups there is no B.
    shift : NDArray, optional
        m, (variables, 1), where all rows are of one group.
    """

    columns: tuple[str, ...]
    variables: tuple[Variable, ...]
    sums: Mapping[str, tuple[str, ...]]
    within: Array
    between: Array | None = None
    shift: Array | None = None
    chunk_rows: int = CHUNK_ROWS

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Twin":
        """Return a law from its stored form, of which rounding changes no variance of z."""
        variables = tuple(
            Variable(
                tuple(v["columns"]),
                np.array(v["cuts"], dtype=float) if "cuts" in v else None,
                np.array(v["values"], dtype=float),
            )
            for v in stored["variables"]
        )
        sums = {name: tuple(parts) for name, parts in stored.get("sums", {}).items()}
        marginals = tuple(stored["columns"]), variables, sums
        if "factor" in stored:
            factor = lower_triangular(stored["factor"])
            factor /= np.sqrt(np.einsum("ij,ij->i", factor, factor))[:, None]
            return cls(*marginals, factor)
        between, within = lower_triangular(stored["between"]), lower_triangular(stored["within"])
        deviation = np.sqrt(np.sum(between**2 + within**2, axis=1))[:, None]
        return cls(*marginals, within / deviation, between / deviation, chunk_rows=1024)

    def write(self, matrix: Array, target: Array, generator: np.random.Generator) -> None:
        """Draw rows (:data:`Write`)."""
        for rows in chunks(len(target), self.chunk_rows):
            latent = self.latent(self.normals(generator))
            self.place(latent[:, : rows.stop - rows.start], matrix[rows], target[rows])

    def normals(self, generator: np.random.Generator) -> list[Array]:
        """Draw g of a chunk's rows, and h where each row is of a group of its own, a row to a row.

        Each is (chunk_rows, variables).
        """
        own = self.between is not None and self.shift is None
        shape = (self.chunk_rows, len(self.variables))
        return [generator.standard_normal(shape) for _ in range(2 if own else 1)]

    def latent(self, normals: list[Array]) -> Array:
        """Return the latent values of a chunk's rows, (variables, chunk_rows)."""
        latent = self.within @ normals[0].T
        if self.between is not None:
            latent += self.between @ normals[1].T if self.shift is None else self.shift
        return latent

    def place(self, latent: Array, matrix: Array, target: Array) -> None:
        """Write rows, (rows, columns) zeroed and (rows,), from their latent values."""
        place = {name: j for j, name in enumerate(self.columns)}
        for variable, z in zip(self.variables[:-1], latent[:-1], strict=True):
            start = place[variable.columns[0]]
            variable.write(z, matrix[:, start : start + len(variable.columns)])
        for name, parts in self.sums.items():
            for part in parts:
                matrix[:, place[name]] += matrix[:, place[part]]
        self.variables[-1].write(latent[-1], target[:, None])

    def of_one_group(self, generator: np.random.Generator) -> "Twin":
        """Return the law of rows of one group, which is drawn."""
        if self.between is None:
            return self
        shift = self.between @ generator.standard_normal((len(self.variables), 1))
        return replace(self, shift=shift)


Write = Callable[[Array, Array, np.random.Generator], None]
"""Draws rows into zeroed arrays, (rows, columns) and (rows,).

The first rows are the same however many are drawn: a generator is consumed in whole chunks.
"""


def draw(
    columns: tuple[str, ...],
    parts: Sequence[tuple[int, Write, tuple[str | int, ...]]],
    streams: Streams | Scope,
    note: str,
) -> Encoded:
    """Draw a table, part after part.

    Every row depends on the seed, its part and its number there alone, so that adding owners
    changes neither the others' records nor the projection.

    Parameters
    ----------
    columns : tuple of str
        Names of the encoded columns.
    parts : sequence of tuple
        Of each part how many rows it has, ≥ 0, what draws them, and the name of its stream below
        ``("data", "twin")``.
    streams : Streams or Scope
        The run's random streams.
    note : str
        For the user: what the rows are drawn from.
    """
    n_rows = sum(n for n, _, _ in parts)
    matrix, target, start = np.zeros((n_rows, len(columns)), order="F"), np.zeros(n_rows), 0
    for n, write, name in parts:
        rows = slice(start, start + n)
        write(matrix[rows], target[rows], streams.generator("data", "twin", *name))
        start = rows.stop
    return Encoded(matrix, target, columns, (note,))
