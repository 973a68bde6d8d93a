"""Make the twin's summary statistics from the real table.

``python -m scenarios.twins.lending TABLE`` writes ``lending_twin.json`` and, of the
table's blocks, ``lending_drift.json`` beside the twin. It is run by hand, when an encoding
changes.

Marginals: a least-squares linear spline of the empirical quantile function in normal scores
(which keeps the mean, and nearly the variance, of a heavy-tailed column), or exact steps where a
column has few values. Dependence: the Pearson correlations of the encoded columns.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.data import lending_data
from asyncdp_sim.data.declared_columns import Z_KNOTS, Twin, Variable
from asyncdp_sim.data.lending_data import BLOCK_ROWS, read_loans
from asyncdp_sim.data.tables.rows import Encoded, OnDemand
from scenarios.twins import moments

MADE_BY = "scenarios.twins.lending"
PUBLIC_ROWS = 10_001  # as published
SUMS = {"total_pymnt": ("total_rec_prncp", "total_rec_int", "total_rec_late_fee", "recoveries")}
"""An identity of the bookkeeping, true to a cent in the table and out of reach of a copula."""

GAPS = {"funded_amnt_inv": "funded_amnt", "total_pymnt_inv": "total_pymnt"}
"""What investors fund and get differs in the later loans from the whole by next to nothing.

There what they lack decides the direction in which features vary least, hence where a bank's
optimum is; as a difference of two columns that the copula draws apart it would be lost.
"""

FEW_VALUES = 100
ROUNDS = 40
SAMPLE = 200_000


def calibrate(table: Encoded) -> Twin:
    """Return the twin whose second moments are those of an encoded table."""
    sums = {name: parts for name, parts in SUMS.items() if {name, *parts} <= set(table.columns)}
    variables, real = moments.observed(table, "int_rate", _of_numbers, left_out=sums)
    wanted = moments.correlation(real)
    normals = np.random.default_rng(2007).standard_normal((SAMPLE, len(variables)))

    def made(latent: Array) -> moments.Moments:
        z = np.linalg.cholesky(latent) @ normals.T
        return (moments.correlation(moments.drawn(variables, z)),)

    def corrected(latent: Array, lacking: moments.Moments) -> Array:
        return nearest_correlation(latent + lacking[0])

    best = moments.matched((wanted,), nearest_correlation(wanted), made, corrected, ROUNDS)
    return Twin(table.columns, variables, sums, np.asarray(np.linalg.cholesky(best)))


def to_json(twin: Twin) -> dict[str, Any]:
    """Return the stored form: rounded numbers, nothing but summary statistics."""
    sums = {name: list(parts) for name, parts in twin.sums.items()}
    return moments.law_to_json(twin, {"factor": twin.within}, digits=5, sums=sums)


def main(path: str) -> list[Path]:
    """Calibrate both encodings on the table at ``path`` and write the package's files."""
    frame, _ = read_loans(path)
    tables = {
        "plain": lending_data.encode_plain(frame),
        "as-published": lending_data.encode_as_published(frame),
    }
    parts = {name: _parts(table) for name, table in tables.items()}
    blocks = {name: drift(table) for name, table in tables.items()}
    return [
        _write("lending_twin.json", "", parts),
        _write("lending_drift.json", " in blocks", blocks),
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
    return moments.write_json(lending_data, name, stored)


def _parts(table: OnDemand) -> dict[str, Any]:
    matrix, body = table.matrix, len(table.target) - PUBLIC_ROWS
    return {
        part: to_json(calibrate(Encoded(matrix[rows], table.target[rows], table.columns)))
        for part, rows in (("body", slice(None, body)), ("public", slice(body, None)))
    }


def _of_numbers(names: tuple[str, ...], values: Array) -> Variable:
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= FEW_VALUES:
        return moments.steps(names, distinct, counts)
    from scipy.interpolate import make_lsq_spline
    from scipy.special import ndtri

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


def nearest_correlation(matrix: Array) -> Array:
    """Return a positive definite matrix with unit diagonal near a symmetric one."""
    near = moments.positive(np.clip((matrix + matrix.T) / 2, -1, 1))
    scale = np.sqrt(np.diag(near))
    return np.asarray(near / np.outer(scale, scale))


if __name__ == "__main__":
    sys.stdout.writelines(f"{file}\n" for file in main(sys.argv[1]))
