"""Make the fraud twin's summary statistics from the real table and what is published of it.

``python -m scenarios.twins.fraud TABLE`` writes ``fraud_twin.json`` beside the twin.
It is run by hand. TABLE may hold more frauds than their share, or only some genuine rows: all that
is taken from it are moments of its frauds. What concerns all 284,807 rows is below, as printed by
the usual summaries of the public table (standard deviations, correlations with Amount, amounts).
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.data import fraud_data
from asyncdp_sim.data.fraud_data import COMPONENTS, transactions
from asyncdp_sim.data.tables.read import read_table
from asyncdp_sim.data.tables.rows import Encoded, OnDemand
from scenarios.twins.moments import triangle_to_json, write_json

DEVIATION = """1.9587 1.6513 1.5163 1.4159 1.3802 1.3323 1.2371 1.1944 1.0986 1.0888 1.0207 0.9992
0.9953 0.9586 0.9153 0.8763 0.8493 0.8382 0.8140 0.7709 0.7345 0.7257 0.6245 0.6056 0.5213 0.4822
0.4036 0.3301"""
"""Standard deviations of V1…V28 over all rows."""

AMOUNT_CORRELATION = """-0.2277 -0.5314 -0.2109 0.0987 -0.3864 0.2160 0.3973 -0.1031 -0.0442 -0.1015
0.0001 -0.0095 0.0053 0.0338 -0.0030 -0.0039 0.0073 0.0357 -0.0562 0.3394 0.1060 -0.0648 -0.1126
0.0051 -0.0478 -0.0032 0.0288 0.0103"""
"""Correlations of V1…V28 with Amount over all rows: together they explain 92 % of its variance."""

AMOUNT_MEAN, AMOUNT_DEVIATION, AMOUNT_LARGEST = 88.35, 250.12, 25_691.16  # euros, over all rows

V2_MEAN, V2_DEVIATION = 3.6238, 4.2912  # among the frauds
V2_SEVERITY = 0.85
"""Assumed where the table lacks V2: its correlation, among the frauds, with their severity; beyond
that it varies on its own. V1, V3, V7 and V10 have 0.88 to 0.93, in size."""


def calibrate(table: Encoded | OnDemand) -> dict[str, Any]:
    """Return the stored form: rounded numbers, nothing but summary statistics."""
    frauds = table.matrix[table.target > 0]
    amount = frauds[:, table.columns.index("Amount")]
    held = [j for j, name in enumerate(COMPONENTS) if name in table.columns]
    values = frauds[:, [table.columns.index(COMPONENTS[j]) for j in held]]
    if sorted({*held, 1}) != list(range(len(COMPONENTS))):
        raise ValueError("only V2 may be absent from the table")
    mean, covariance = np.full(len(COMPONENTS), V2_MEAN), np.zeros((len(COMPONENTS),) * 2)
    mean[held] = values.mean(axis=0)
    covariance[np.ix_(held, held)] = np.cov(values.T, bias=True)
    if 1 not in held:
        eigenvalues, vectors = np.linalg.eigh(covariance[np.ix_(held, held)])
        severity = vectors[:, -1] * np.sqrt(eigenvalues[-1])
        along = V2_SEVERITY * V2_DEVIATION * severity * np.sign(severity @ mean[held])
        covariance[1, held] = covariance[held, 1] = along
        covariance[1, 1] = V2_DEVIATION**2
    logs, grown = np.log1p(amount), 1 + AMOUNT_MEAN
    variance = np.log1p((AMOUNT_DEVIATION / grown) ** 2)  # of ln(1 + Amount), were it normal
    genuine = [np.log(grown) - variance / 2, np.sqrt(variance), AMOUNT_LARGEST]
    return {
        "about": "Summary statistics of ULB's 284,807 card transactions of September 2013 and "
        "their 492 frauds; made by scenarios.twins.fraud.",
        "deviation": [float(x) for x in DEVIATION.split()],
        "amount_correlation": [float(x) for x in AMOUNT_CORRELATION.split()],
        "genuine_amounts": _rounded(genuine),
        "fraud_amounts": _rounded([logs.mean(), logs.std(), amount.max()]),
        "fraud_mean": _rounded(mean),
        "fraud_covariance": triangle_to_json(covariance, digits=4),
    }


def main(path: str) -> Path:
    """Calibrate on the table at ``path`` and write the package's file."""
    stored = calibrate(transactions(read_table(path)))
    return write_json(fraud_data, "fraud_twin.json", stored)


def _rounded(numbers: Any) -> list[float]:
    """Return numbers to four decimals: enough for a moment, and a shorter file."""
    return [round(float(x), 4) for x in numbers]


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1])}\n")
