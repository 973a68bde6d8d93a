"""Make the hospital twin's summary statistics from the real table.

``python -m scenarios.twins.hospital TABLE`` writes ``hospital_twin.json`` beside the
twin. It is run by hand, when an encoding changes.

Marginals: steps with the table's frequencies; neighbouring values that fewer than ten rows share
are one step, at their mean, so that no step is a record. Dependence: the Pearson correlations of
the encoded columns, and their covariances between hospitals (analysis of variance, one-way and
unbalanced), both measured on drawn rows.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.data import hospital_data
from asyncdp_sim.data.declared_columns import Twin, Variable
from asyncdp_sim.data.hospital_data import HOSPITAL, TARGET, read_discharges
from asyncdp_sim.data.tables.rows import Encoded, OnDemand
from scenarios.twins import moments

PUBLIC_ROWS = 10_001
LARGEST = 86  # hospitals with 10,000 records of the full table
FEWEST = 10
ROUNDS = 30
HOSPITALS, ROWS = 2000, 100  # drawn to measure what the encoding makes of a latent covariance

ADMISSIONS = (0.65, 0.08, 0.27)
"""Assumed shares of emergencies, urgent and elective admissions, independent of all else: the
table does not tell."""


def calibrate(table: Encoded, hospital: Ints) -> Twin:
    """Return the twin with the moments of an encoded table, hospitals numbered from 0."""
    variables, real = moments.observed(table, TARGET, _of_numbers)
    wanted = _moments(real, hospital)
    generator = np.random.default_rng(2015)
    rows = generator.standard_normal((len(variables), HOSPITALS * ROWS))
    shifts = generator.standard_normal((len(variables), HOSPITALS))
    drawn_from = np.repeat(np.arange(HOSPITALS), ROWS)

    def made(latent: moments.Moments) -> moments.Moments:
        between, within = latent
        z = within @ rows + np.repeat(between @ shifts, ROWS, axis=1)
        return _moments(moments.drawn(variables, z), drawn_from)

    def corrected(latent: moments.Moments, lacking: moments.Moments) -> moments.Moments:
        between, within = (factor @ factor.T for factor in latent)
        return _admissible(between + lacking[1], within + lacking[0] - lacking[1])

    start = _admissible(wanted[1], wanted[0] - wanted[1])
    between, within = moments.matched(wanted, start, made, corrected, ROUNDS)
    return Twin(table.columns, variables, {}, within, between)


def _moments(columns: Array, hospital: Ints) -> moments.Moments:
    """Return the correlations of columns (q, n), and their covariance between hospitals."""
    return moments.correlation(columns), between_hospitals(columns, hospital)


def between_hospitals(columns: Array, hospital: Ints) -> Array:
    """Return the covariance between hospitals, columns (q, n) scaled to unit variance: (q, q).

    (MS_between − MS_within)/n_0, which is unbiased however many rows a hospital has.
    """
    deviation = columns.std(axis=1, keepdims=True)
    x = (columns - columns.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1)
    sizes = np.bincount(hospital).astype(float)
    means = np.stack([np.bincount(hospital, weights=row) for row in x]) / sizes
    among = (means * sizes) @ means.T
    n, k = len(hospital), len(sizes)
    alike = (n - np.sum(sizes**2) / n) / (k - 1)
    return np.asarray((among / (k - 1) - (x @ x.T - among) / (n - k)) / alike)


def to_json(twin: Twin) -> dict[str, Any]:
    """Return the stored form: rounded numbers, nothing but summary statistics."""
    if twin.between is None:
        raise ValueError("hospitals are groups of rows")
    return moments.law_to_json(twin, {"between": twin.between, "within": twin.within}, digits=4)


def with_admissions(twin: Twin) -> Twin:
    """Return a twin of all the published columns, with types of admission as assumed."""
    from scipy.special import ndtri

    name = "Type of Admission"
    admission = Variable((name,), ndtri(np.cumsum(ADMISSIONS)[:-1]), np.arange(1.0, 4.0))
    at = hospital_data.COLUMNS.index(name)
    variables = (*twin.variables[:at], admission, *twin.variables[at:])
    between, within = (
        np.insert(np.insert(factor, at, 0.0, axis=0), at, 0.0, axis=1)
        for factor in (twin.between, twin.within)
        if factor is not None
    )
    within[at, at] = 1.0
    return Twin(hospital_data.COLUMNS, variables, {}, within, between)


def main(path: str) -> Path:
    """Calibrate both encodings on the table at ``path`` and write the package's file."""
    frame, _ = read_discharges(path)
    hospital = frame[HOSPITAL].factorize()[0]
    sizes = np.sort(np.bincount(hospital))[-LARGEST:]
    complete, _ = hospital_data.complete(frame)
    plain = calibrate(_whole(hospital_data.encode_plain(frame, PUBLIC_ROWS)), hospital)
    published = calibrate(
        _whole(hospital_data.encode_as_published(complete)), complete[HOSPITAL].factorize()[0]
    )
    stored = {
        "about": "Summary statistics of 36,631 discharges from New York's hospitals in 2020; "
        "made by scenarios.twins.hospital.",
        "sizes": [moments.rounded(x) for x in np.quantile(sizes / sizes[0], np.linspace(0, 1, 21))],
        "encodings": {"plain": to_json(plain), "as-published": to_json(with_admissions(published))},
    }
    return moments.write_json(hospital_data, "hospital_twin.json", stored)


def _whole(table: OnDemand) -> Encoded:
    return Encoded(table.matrix, table.target, table.columns)


def _of_numbers(names: tuple[str, ...], values: Array) -> Variable:
    distinct, counts = np.unique(values, return_counts=True)
    return moments.steps(names, *_merged(distinct, counts.astype(float)))


def _merged(distinct: Array, counts: Array) -> tuple[Array, Array]:
    """Return values and counts, each count at least :data:`FEWEST`; whole numbers stay whole."""
    ends, held = [], 0.0
    for place, count in enumerate(counts):
        held += count
        if held >= FEWEST:
            ends.append(place + 1)
            held = 0.0
    ends[-1] = len(counts)
    starts = [0, *ends[:-1]]
    rows = np.add.reduceat(counts, starts)
    means = np.add.reduceat(distinct * counts, starts) / rows
    return np.rint(means) if np.array_equal(distinct, np.rint(distinct)) else means, rows


def _admissible(between: Array, within: Array) -> moments.Moments:
    """Return lower triangular B and W of covariances near the given, with unit diagonal in all."""
    parts = [moments.positive(between), moments.positive(within)]
    scale = np.sqrt(np.diag(parts[0] + parts[1]))
    factors = [np.linalg.cholesky(part / np.outer(scale, scale)) for part in parts]
    return np.asarray(factors[0]), np.asarray(factors[1])


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1])}\n")
