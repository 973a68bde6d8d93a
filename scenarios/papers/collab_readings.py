"""Readings of sweeps by which Collab's figures are judged, and reasons why ours may differ."""

import json
from math import isfinite

import numpy as np

from analysis.papers.grids import grid
from analysis.studies.four_cases import Case, cases
from analysis.studies.psi_lines import series_of
from asyncdp_sim.figures.sweep_figure import mean_psi_at_end
from asyncdp_sim.results import Sweep
from scenarios.papers.claims import Range, cell_of
from scenarios.papers.exact import flattest, quiet

EPSILON, RECORDS = "privacy.epsilon", "owners.records"
BOUNDED = "bounded"
"""The variant with the Ξ of the sound one, declared: nothing else is other than as published."""

NEARLY = 0.1
"""How far from an exponent one counts as the same."""


def clipped_slopes(sweep: Sweep, x: str, by: str) -> Range:
    """Return exponents in x up to that of the flattest line of the exact moments."""
    return -4.0, flattest(sweep, x, by) + NEARLY


def within_bound(sweep: Sweep) -> Range:
    """Return the share of cells in which no record was seen to exceed the declared bound."""
    share = float(np.mean([not cell.result.summary["bound_exceeded"] for cell in sweep.cells]))
    return 0.0, share


def psi(sweep: Sweep, epsilon: float) -> float:
    """Return mean ψ at the end at one swept ε."""
    return mean_psi_at_end(cell_of(sweep, {EPSILON: epsilon}).result).value


def at_size(sweep: Sweep, epsilon: float, records: float) -> float:
    """Return mean ψ at one ε, taken to n_i = ``records`` by ψ ∝ 1/n_i²."""
    ours = float(sweep.cells[0].result.scenario["owners"]["records"])
    return psi(sweep, epsilon) * (ours / records) ** 2


def over(mine: Sweep, theirs: Sweep) -> float:
    """Return ψ over that of another sweep's cells, the geometric mean."""
    pairs = zip(mine.cells, theirs.cells, strict=True)
    logs = [np.log(mean_psi_at_end(a.result).value / mean_psi_at_end(b.result).value)
            for a, b in pairs]  # fmt: skip
    return float(np.exp(np.mean(logs)))


def slopes(sweep: Sweep, x: str, by: str) -> list[float]:
    """Return the exponents of ψ in x, over all values of by."""
    every = sorted({float(cell.values[by]) for cell in sweep.cells})
    return [each.slope for each in series_of(sweep, x, by, every)]


def steepest(sweep: Sweep, x: str, by: str) -> float:
    """Return the least exponent of ψ in x, over all values of by."""
    return min(slopes(sweep, x, by))


def gentlest(sweep: Sweep, x: str, by: str) -> float:
    """Return the largest exponent of ψ in x, over all values of by."""
    return max(slopes(sweep, x, by))


def worst_step(sweep: Sweep) -> float:
    """Return the largest ratio of ψ to ψ of a neighbour with less records or a smaller ε."""
    mean = grid(sweep, RECORDS, EPSILON).psi[:, :, 0]
    return float(max((mean[1:] / mean[:-1]).max(), (mean[:, 1:] / mean[:, :-1]).max()))


def corner(sweep: Sweep, number: int, n: int, epsilon: int) -> float:
    """Return ψ of one of the cases, at one n_1 and ε_1 by their places."""
    return float(cases(sweep)[number].mean[n, epsilon])


def in_epsilon(sweep: Sweep, number: int) -> float:
    """Return ψ of a case at the least ε_1 over ψ at the largest, n_1 the largest."""
    mean = cases(sweep)[number].mean
    return float(mean[-1, 0] / mean[-1, -1])


def in_records(sweep: Sweep, number: int) -> float:
    """Return ψ of a case at the least n_1 over ψ at the largest, ε_1 the largest."""
    mean = cases(sweep)[number].mean
    return float(mean[0, -1] / mean[-1, -1])


def power(sweep: Sweep, number: int) -> float:
    """Return q of ψ ∝ (√(Σ 1/ε²)/Σ n)^q of a case, least squares of logarithms."""
    case = cases(sweep)[number]
    law = np.log(case.law.ravel()) / 2
    return float(np.polyfit(law, np.log(case.mean.ravel()), 1)[0])


def better(sweep: Sweep) -> float:
    """Return ψ of case (iii) over that of (i), the most in any cell."""
    case = cases(sweep)
    return float((case[2].mean / case[0].mean).max())


def by_law(case: Case) -> float:
    """Return the law's own ratio of ψ at the least ε_1 over ψ at the largest, n_1 the largest."""
    return float(case.law[-1, 0] / case.law[-1, -1])


def spoilt(sweep: Sweep) -> Range:
    """Return ratios of ψ in ε_1 up to a tenth above the law's, beside eager owners."""
    return 3.0, 1.1 * by_law(cases(sweep)[3])


def spoilt_end(sweep: Sweep) -> Range:
    """Return ψ at the least ε_1 up to twice the law's, beside eager owners."""
    case = cases(sweep)[3]
    return 0.1, 2 * float(case.mean[-1, -1]) * by_law(case)


def best(sweep: Sweep) -> float:
    """Return ψ of case (iv) over that of the best other, the most in any cell."""
    case = cases(sweep)
    return float((case[3].mean / np.min([other.mean for other in case[:3]], axis=0)).max())


def left_over(sweep: Sweep) -> Range:
    """Return up to twice what 100 rounds leave without noise, over ψ of case (i)."""
    case = cases(sweep)
    left = max(value for value in map(quiet(sweep).at, sweep.cells) if isfinite(value))
    return 1e-3, 2 * left / float(case[0].mean[-1, -1])


LARGER = 30_000.0
"""Records of the large tables at the paper's size."""


def taken_to_full(sweep: Sweep) -> Range:
    """Return up to 0.1 at tables of 30,000, by 1/(Σ n_i)² where they are smaller."""
    records = sweep.cells[-1].values[RECORDS]
    given = json.loads(records) if isinstance(records, str) else list(records)
    others = float(given[-1])
    return 0.1, 0.1 * ((1000 + 2 * LARGER) / (1000 + 2 * others)) ** 2
