"""Make the twin's summary statistics from the real table.

``python -m asyncdp_sim.data.lending.calibrate TABLE`` writes ``twin.json`` and, of the
table's blocks, ``drift.json`` beside this module. It is run by hand, when an encoding
changes.

Marginals: a least-squares linear spline of the empirical quantile function in normal scores
(which keeps the mean, and nearly the variance, of a heavy-tailed column), or exact steps where a
column has few values. Dependence: the latent correlation is adjusted until the *encoded* columns
have the table's Pearson correlations (NORmal To Anything, Cario and Nelson 1997), because the
second moments are what a quadratic loss sees.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.data.dataset import Array, Encoded, OnDemand
from asyncdp_sim.data.lending import encode_as_published, encode_plain
from asyncdp_sim.data.lending.drift import BLOCK_ROWS
from asyncdp_sim.data.lending.recipe import read_loans
from asyncdp_sim.data.lending.twin import Z_KNOTS, Twin, Variable

MADE_BY = "asyncdp_sim.data.lending.calibrate"
PUBLIC_ROWS = 10_001  # as published
SUMS = {
    "total_pymnt": ("total_rec_prncp", "total_rec_int", "total_rec_late_fee", "recoveries"),
}
"""An identity of the bookkeeping, true to a cent in the table and out of reach of a copula."""

GAPS = {"funded_amnt_inv": "funded_amnt", "total_pymnt_inv": "total_pymnt"}
"""What investors fund and get differs in the later loans from the whole by next to nothing.

There what they lack decides the direction in which features vary least, hence where a bank's
optimum is; as a difference of two columns that the copula draws apart it would be lost.
"""

FEW_VALUES = 100
ROUNDS = 40
SAMPLE = 200_000
LEAST_EIGENVALUE = 1e-4


def calibrate(table: Encoded) -> Twin:
    """Return the twin whose second moments are those of an encoded table."""
    sums = {name: parts for name, parts in SUMS.items() if {name, *parts} <= set(table.columns)}
    grouped = groups(tuple(name for name in table.columns if name not in sums))
    values_of = [coded(table, group) for group in grouped] + [table.target]
    variables = tuple(
        _marginal(names, values, table.target)
        for names, values in zip([*grouped, ("int_rate",)], values_of, strict=True)
    )
    wanted = correlation([_rank(v, c) for v, c in zip(variables, values_of, strict=True)])
    normals = np.random.default_rng(2007).standard_normal((SAMPLE, len(variables)))
    latent = best = nearest_correlation(wanted)
    least = np.inf
    for _ in range(ROUNDS):
        z = np.linalg.cholesky(latent) @ normals.T
        error = wanted - correlation([_drawn(v, row) for v, row in zip(variables, z, strict=True)])
        size = float(np.sum(error**2))
        if size < least:
            best, least = latent, size
        latent = nearest_correlation(latent + error)
    factor = np.asarray(np.linalg.cholesky(best), dtype=np.float64)
    return Twin(table.columns, variables, sums, factor)


def to_json(twin: Twin) -> dict[str, Any]:
    """Return the stored form: rounded numbers, nothing but summary statistics."""
    variables = []
    for v in twin.variables:
        stored: dict[str, Any] = {"columns": list(v.columns)}
        if v.cuts is not None:
            stored["cuts"] = [rounded(x) for x in v.cuts]
        stored["values"] = [rounded(x) for x in v.values]
        variables.append(stored)
    factor = [[round(float(x), 5) for x in row[: i + 1]] for i, row in enumerate(twin.factor)]
    sums = {name: list(parts) for name, parts in twin.sums.items()}
    return {
        "columns": list(twin.columns),
        "variables": variables,
        "sums": sums,
        "factor": factor,
    }


def main(path: str) -> list[Path]:
    """Calibrate both encodings on the table at ``path`` and write the package's files."""
    frame, _ = read_loans(path)
    tables = {
        "plain": encode_plain.encode(frame),
        "as-published": encode_as_published.encode(frame),
    }
    parts = {name: _parts(table) for name, table in tables.items()}
    blocks = {name: drift(table) for name, table in tables.items()}
    return [
        _write("twin.json", "", parts),
        _write("drift.json", " in blocks", blocks),
    ]


def drift(table: OnDemand) -> list[dict[str, Any]]:
    """Return the stored laws of a table's blocks, in order."""
    place = {name: j for j, name in enumerate(table.columns)}
    gaps = {name: whole for name, whole in GAPS.items() if {name, whole} <= place.keys()}
    matrix = table.matrix.copy()
    for name, whole in gaps.items():
        matrix[:, place[name]] -= matrix[:, place[whole]]
    laws = []
    for start in range(0, len(matrix), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        law = calibrate(Encoded(matrix[rows], table.target[rows], table.columns))
        sums = {**law.sums, **{name: (whole,) for name, whole in gaps.items()}}
        laws.append(to_json(replace(law, sums=sums)))
    return laws


def _write(name: str, which: str, encodings: dict[str, Any]) -> Path:
    about = f"Summary statistics of LendingClub's 42,535 loans of 2007-2011{which}; "
    stored = {"about": f"{about}made by {MADE_BY}.", "encodings": encodings}
    file = Path(__file__).with_name(name)
    file.write_text(json.dumps(stored, separators=(",", ":")) + "\n", "utf-8")
    return file


def _parts(table: OnDemand) -> dict[str, Any]:
    matrix, body = table.matrix, len(table.target) - PUBLIC_ROWS
    return {
        part: to_json(calibrate(Encoded(matrix[rows], table.target[rows], table.columns)))
        for part, rows in (("body", slice(None, body)), ("public", slice(body, None)))
    }


def groups(columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the columns in order, indicators ("purpose=car") of one raw column together."""
    found: dict[str, list[str]] = {}
    for name in columns:
        found.setdefault(name.split("=")[0], []).append(name)
    return [tuple(group) for group in found.values()]


def coded(table: Encoded, group: tuple[str, ...]) -> Array:
    """Return a column, or the index of the indicator that is set (−1 for none)."""
    block = table.matrix[:, [table.columns.index(name) for name in group]]
    if len(group) == 1:
        return np.asarray(block[:, 0])
    return np.where(block.any(axis=1), block.argmax(axis=1), -1.0)


def _marginal(names: tuple[str, ...], values: Array, target: Array) -> Variable:
    from scipy.special import ndtri

    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= FEW_VALUES:
        if len(names) > 1:  # categories have no order: take that of their mean target
            order = np.argsort([target[values == value].mean() for value in distinct])
            distinct, counts = distinct[order], counts[order]
        return Variable(names, ndtri(np.cumsum(counts)[:-1] / len(values)), distinct)
    from scipy.interpolate import make_lsq_spline

    z = ndtri((np.arange(len(values)) + 0.5) / len(values))
    # In the tails every fourth knot, for each piece needs some records to be fitted to.
    outer = min(OUTER, z[-1])
    inner = Z_KNOTS[(np.abs(Z_KNOTS) < min(INNER, outer)) | ((np.abs(Z_KNOTS) < outer) & TAIL)]
    ends = np.repeat(Z_KNOTS[[0, -1]], 2)
    spline = make_lsq_spline(z, np.sort(values), np.r_[ends[:2], inner, ends[2:]], k=1)
    fitted = np.maximum.accumulate(np.clip(spline(Z_KNOTS), distinct[0], distinct[-1]))
    return Variable(names, None, fitted)


INNER, OUTER = 3.01, 3.8
TAIL = np.arange(len(Z_KNOTS)) % 4 == (len(Z_KNOTS) // 2) % 4


def _rank(variable: Variable, values: Array) -> Array:
    """Return a column as it is, or the place of each category in the variable's order."""
    if len(variable.columns) == 1:
        return values
    order = np.argsort(variable.values)
    return np.asarray(order[np.searchsorted(variable.values, values, sorter=order)], dtype=float)


def _drawn(variable: Variable, z: Array) -> Array:
    if variable.cuts is None:
        return np.interp(z, Z_KNOTS, variable.values)
    place = np.searchsorted(variable.cuts, z, side="right")
    return place.astype(float) if len(variable.columns) > 1 else variable.values[place]


def correlation(columns: list[Array]) -> Array:
    """Return Pearson correlations; a constant column is uncorrelated with all others."""
    stacked = np.stack(columns)
    centred = stacked - stacked.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    centred /= np.where(norm > 0, norm, 1.0)[:, None]
    products = centred @ centred.T
    np.fill_diagonal(products, 1.0)
    return np.asarray(products)


def nearest_correlation(matrix: Array) -> Array:
    """Return a positive definite matrix with unit diagonal near a symmetric one."""
    values, vectors = np.linalg.eigh(np.clip((matrix + matrix.T) / 2, -1, 1))
    positive = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(positive))
    return np.asarray(positive / np.outer(scale, scale))


def rounded(x: float) -> float | int:
    """Return five significant digits: enough for a moment, and a shorter file."""
    short = float(f"{float(x):.5g}")
    return int(short) if short.is_integer() else short


if __name__ == "__main__":
    sys.stdout.writelines(f"{file}\n" for file in main(sys.argv[1]))
