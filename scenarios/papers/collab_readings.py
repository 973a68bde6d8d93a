"""Readings of sweeps by which Collab's figures are judged, and reasons why ours may differ."""

import json
from math import isfinite

import numpy as np

from analysis.papers.grids import grid
from analysis.studies.four_cases import Case, cases
from analysis.studies.psi_lines import series_of
from asyncdp_sim.figures.sweep_figure import mean_psi_at_end
from asyncdp_sim.results import Sweep
from scenarios.papers.claims import Range, Reason, cell_of
from scenarios.papers.exact import flattest, quiet
from scenarios.papers.figure import AS_PUBLISHED, SOUND

EPSILON, RECORDS = "privacy.epsilon", "owners.records"
BOUNDED = "bounded"
"""The variant with the Ξ of the sound one, declared: nothing else is other than as published."""

LEFT = (
    "with clipped records there is so little noise that, at large ε or n_i, what 100 rounds leave "
    "of the start decides and no longer the noise"
)
NO_FURTHER = (
    "calculated: what is left is the same at every ε and n_i, so that the exponent is 0 at most"
)
PULL = (
    "calculated: a pull that grows with the distance gives the square of the noise, a constant one "
    "its fourth power"
)
FAR = (
    "a clipped gradient does not grow with the distance: where noise drives models far off, "
    "records pull them back less, and ψ falls faster than the square until few are clipped"
)
HINGE = (
    "the hinge loss is no quadratic: its pull does not grow with the distance, and near θ* records "
    "at the margin add curvature, so that on the way ψ falls faster than the square"
)
NEARLY = 0.1
"""How far from an exponent one counts as the same."""


def clipped_slopes(x: str, by: str) -> Reason:
    """Return why exponents differ where records are clipped."""
    return Reason(
        f"{FAR}; {LEFT}",
        lambda sweep: (-4.0, flattest(sweep, x, by) + NEARLY),
        f"{PULL}; at the other end the flattest line of the exact moments, were nothing clipped",
        AS_PUBLISHED,
    )


HINGED_SLOPES = Reason(HINGE, (-4.0, -1.9), PULL)
CLIPPED_GAIN = Reason(f"{FAR}; {LEFT}", (1.0, 1e4), f"{PULL}; {NO_FURTHER}", AS_PUBLISHED)


def within_bound(sweep: Sweep) -> Range:
    """Return the share of cells in which no record was seen to exceed the declared bound."""
    share = float(np.mean([not cell.result.summary["bound_exceeded"] for cell in sweep.cells]))
    return 0.0, share


DECLARED = Reason(
    "Ξ is declared, and records at models that noise drives off exceed it", within_bound,
    "measured: the cells in which no record exceeded it, at most", SOUND,
)  # fmt: skip


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


ALIKE = Reason(
    "noise falls as 1/(Σ n_i)² whatever the budgets are: n_1 changes ψ by the same factor in both "
    "cases, and by more units of ψ in the first",
    (0.9, 1.1), "calculated: the factor is the same by Theorem 2",
)  # fmt: skip
_SPOILT = (
    "owner 1's noise adds 1/ε_1² to Σ 1/ε_i², whoever the others are: by Theorem 2 one reluctant "
    "owner costs as much beside eager owners as it does elsewhere"
)


def _spoilt(sweep: Sweep) -> Range:
    return 3.0, 1.1 * by_law(cases(sweep)[3])


def _spoilt_end(sweep: Sweep) -> Range:
    case = cases(sweep)[3]
    return 0.1, 2 * float(case.mean[-1, -1]) * by_law(case)


SPOILT = Reason(_SPOILT, _spoilt, "calculated: by Theorem 2, and a tenth more")
SPOILT_END = Reason(
    _SPOILT, _spoilt_end, "calculated: ψ at the largest ε_1 by Theorem 2, and a factor of two"
)


def best(sweep: Sweep) -> float:
    """Return ψ of case (iv) over that of the best other, the most in any cell."""
    case = cases(sweep)
    return float((case[3].mean / np.min([other.mean for other in case[:3]], axis=0)).max())


def _left_over(sweep: Sweep) -> Range:
    """Return up to twice what 100 rounds leave without noise, over ψ of case (i)."""
    case = cases(sweep)
    left = max(value for value in map(quiet(sweep).at, sweep.cells) if isfinite(value))
    return 1e-3, 2 * left / float(case[0].mean[-1, -1])


BEST_LEFT = Reason(
    LEFT, (1.0, 1.1), "calculated: what is left is alike in all cases, within a tenth", AS_PUBLISHED
)
PHENOMENAL_LEFT = Reason(
    LEFT, _left_over, "calculated: twice what is left without noise, over ψ of (i)", AS_PUBLISHED
)
LARGER = 30_000.0
"""Records of the large tables at the paper's size."""


def _taken_to_full(sweep: Sweep) -> Range:
    """Return up to 0.1 at tables of 30,000, by 1/(Σ n_i)² where they are smaller."""
    records = sweep.cells[-1].values[RECORDS]
    given = json.loads(records) if isinstance(records, str) else list(records)
    others = float(given[-1])
    return 0.1, 0.1 * ((1000 + 2 * LARGER) / (1000 + 2 * others)) ** 2


SMALLER = Reason(
    "with the largest record gradient as Ξ this takes large tables of 30,000, and small runs have "
    "less",
    _taken_to_full, "calculated: 0.1 at tables of 30,000, by 1/(Σ n_i)²", SOUND,
)  # fmt: skip
