"""Marginals and moments of an encoded table, and the latent moments that give them.

Dependence: latent moments are adjusted until the *encoded* columns have the table's (NORmal To
Anything, Cario and Nelson 1997), because the second moments are what a quadratic loss sees.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.data.declared_columns import Z_KNOTS, Twin, Variable
from asyncdp_sim.data.tables.rows import Encoded

LEAST_EIGENVALUE = 1e-4

OfNumbers = Callable[[tuple[str, ...], Array], Variable]
"""From a column that is no category to its variable."""


def observed(
    table: Encoded, target: str, of_numbers: OfNumbers, left_out: Collection[str] = ()
) -> tuple[tuple[Variable, ...], Array]:
    """Return a table's variables, the target last, and what they are in every row, (q, n).

    Indicators ("purpose=car") of one raw column are one variable. It is the place of the indicator
    that is set, or of none, in the order of the mean target, for categories have no other.
    """
    groups: dict[str, list[str]] = {}
    for name in table.columns:
        if name not in left_out:
            groups.setdefault(name.split("=")[0], []).append(name)
    names = [*map(tuple, groups.values()), (target,)]
    values = [*(_coded(table, group) for group in names[:-1]), table.target]
    variables = tuple(
        of_numbers(group, x) if len(group) == 1 else _category(group, x, table.target)
        for group, x in zip(names, values, strict=True)
    )
    return variables, np.stack([_ranked(v, x) for v, x in zip(variables, values, strict=True)])


def _coded(table: Encoded, names: tuple[str, ...]) -> Array:
    """Return a column, or the index of the indicator that is set, −1 for none."""
    block = table.matrix[:, [table.columns.index(name) for name in names]]
    if len(names) == 1:
        return np.asarray(block[:, 0])
    return np.where(block.any(axis=1), block.argmax(axis=1), -1.0)


def _category(names: tuple[str, ...], values: Array, target: Array) -> Variable:
    distinct, counts = np.unique(values, return_counts=True)
    order = np.argsort([target[values == value].mean() for value in distinct])
    return steps(names, distinct[order], counts[order])


def steps(names: tuple[str, ...], values: Array, counts: Any) -> Variable:
    """Return a step function that takes each value as often as it was counted."""
    from scipy.special import ndtri

    return Variable(names, ndtri(np.cumsum(counts)[:-1] / np.sum(counts)), values)


def _ranked(variable: Variable, values: Array) -> Array:
    if len(variable.columns) == 1:
        return values
    order = np.argsort(variable.values)
    return np.asarray(order[np.searchsorted(variable.values, values, sorter=order)], dtype=float)


def drawn(variables: Sequence[Variable], latent: Array) -> Array:
    """Return what latent values (q, n) give, categories as :func:`observed` has them."""
    return np.stack([_drawn(v, z) for v, z in zip(variables, latent, strict=True)])


def _drawn(variable: Variable, z: Array) -> Array:
    if variable.cuts is None:
        return np.interp(z, Z_KNOTS, variable.values)
    place = np.searchsorted(variable.cuts, z, side="right")
    return place.astype(float) if len(variable.columns) > 1 else variable.values[place]


Moments = tuple[Array, ...]
Latent = TypeVar("Latent")


def matched(
    wanted: Moments,
    latent: Latent,
    made: Callable[[Latent], Moments],
    corrected: Callable[[Latent, Moments], Latent],
    rounds: int,
) -> Latent:
    """Return the latent moments, of so many rounds, whose rows come nearest to those wanted.

    Parameters
    ----------
    wanted : tuple of NDArray
        The table's moments.
    latent
        Where to begin.
    made : callable
        The moments of rows that are drawn with latent moments.
    corrected : callable
        The next latent moments, given the last and what their rows lack.
    rounds : int
        ≥ 1.
    """
    best, least = latent, np.inf
    for _ in range(rounds):
        errors = tuple(w - m for w, m in zip(wanted, made(latent), strict=True))
        size = sum(float(np.sum(error**2)) for error in errors)
        if size < least:
            best, least = latent, size
        latent = corrected(latent, errors)
    return best


def correlation(columns: Array) -> Array:
    """Return Pearson correlations of (q, n); a constant column is uncorrelated with all others."""
    centred = columns - columns.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    centred /= np.where(norm > 0, norm, 1.0)[:, None]
    products = centred @ centred.T
    np.fill_diagonal(products, 1.0)
    return np.asarray(products)


def positive(matrix: Array) -> Array:
    """Return a positive definite matrix near one that is symmetric but for rounding."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T)


def rounded(x: float) -> float | int:
    """Return five significant digits: enough for a moment, and a shorter file."""
    short = float(f"{float(x):.5g}")
    return int(short) if short.is_integer() else short


def law_to_json(
    law: Twin, factors: Mapping[str, Array], digits: int, **more: object
) -> dict[str, Any]:
    """Return the stored form: rounded numbers, nothing but summary statistics.

    Parameters
    ----------
    law : Twin
    factors : mapping of str to NDArray
        Lower triangular matrices by name, to so many ``digits`` behind the point.
    digits : int
    **more
        What is stored beside them.
    """
    variables = []
    for v in law.variables:
        cuts = {} if v.cuts is None else {"cuts": [rounded(x) for x in v.cuts]}
        values = [rounded(x) for x in v.values]
        variables.append({"columns": list(v.columns), **cuts, "values": values})
    triangles = {name: triangle_to_json(factor, digits) for name, factor in factors.items()}
    return {"columns": list(law.columns), "variables": variables, **more, **triangles}


def triangle_to_json(matrix: Array, digits: int) -> list[list[float]]:
    """Return the rows of a lower triangular or symmetric matrix up to the diagonal, rounded."""
    return [[round(float(x), digits) for x in row[: i + 1]] for i, row in enumerate(matrix)]


def write_json(twin: ModuleType, name: str, stored: dict[str, Any]) -> Path:
    """Write what ships beside a twin, and return the file."""
    file = Path(str(twin.__file__)).with_name(name)
    file.write_text(json.dumps(stored, separators=(",", ":")) + "\n", "utf-8")
    return file
