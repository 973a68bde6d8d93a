"""Readings of sweeps by which figures 3 to 7 of Async are judged."""

from dataclasses import replace
from itertools import pairwise
from math import isfinite
from typing import Literal

import numpy as np

from analysis.papers.grids import Grid, grid, ratios, slopes
from analysis.studies.psi_lines import CONSTANT, Reference, series_of
from analysis.studies.psi_lines import LENDING as LAW
from asyncdp_sim.core.words import known
from asyncdp_sim.figures.convergence import quartiles
from asyncdp_sim.results import Cell, Sweep
from scenarios.papers.claims import Range
from scenarios.papers.exact import exactly, quiet
from scenarios.papers.lending.reasons import (
    ANSWERS,
    AT_SIZE,
    BANKS,
    BUDGET,
    ENDS,
    LARGE,
    MANY,
    alone,
    at,
    many_and_eager,
)

RECORDS = "owners.records"
DECIDES = (0.025, 10.0)
"""ψ between these is noise (0.0024 is what has not been learned), and few records are clipped."""
STANDARD_ERRORS = 4.0


def published_end(cell: Cell) -> float:
    """Return figure 3's published end point, by n_i⁻² where the banks hold other numbers."""
    said = cell.result.scenario
    known = ENDS.get(float(said["privacy"]["epsilon"]), np.nan)
    return known * (AT_SIZE / float(said["owners"]["records"])) ** 2


ALONE = Reference("bank 1 alone, ψ(θ_1*)", "psi_alone", alone)


def relative_end(sweep: Sweep, epsilon: float) -> float:
    """Return the median of ψ at the end over 1 + ψ_0, which is free of f(θ*)."""
    return _part(sweep, epsilon, "median") / (1 + start(sweep))


def _part(sweep: Sweep, epsilon: float, part: str) -> float:
    return known(at(sweep, epsilon).result.summary["psi_final"][part])


def cost(sweep: Sweep, epsilon: float) -> float:
    """Return mean ψ at the end, less what is not learned without noise."""
    return _part(sweep, epsilon, "mean") - quiet(sweep).at(at(sweep, epsilon))


def start(sweep: Sweep) -> float:
    """Return the median of ψ before the first update."""
    k, psi = sweep.cells[0].result.columns("curve", "k", "relative_fitness")
    return float(np.median(psi[k == 0]))


def worst_step(sweep: Sweep) -> float:
    """Return the largest ratio of the median of ψ, a tenth of the updates apart, at ε = 10.

    It is 1 or less as long as the median decreases; from the middle on it may have converged.
    """
    result = at(sweep, max(ENDS)).result
    k, (_, middle, _) = quartiles(result, "k")
    tenths = [float(middle[np.searchsorted(k, part * result.updates / 10)]) for part in range(6)]
    return max(later / earlier for earlier, later in pairwise(tenths))


def least_widening(sweep: Sweep) -> float:
    """Return the least ratio of the 25-75 % band's width to that at the next larger budget."""
    widths = []
    for cell in sorted(sweep.cells, key=lambda each: float(each.values[BUDGET])):
        said = cell.result.summary["psi_final"]
        widths.append(float(said["q75"]) - float(said["q25"]))
    pairs = [(wide, narrow) for wide, narrow in pairwise(widths) if narrow > 0]
    return min((wide / narrow for wide, narrow in pairs), default=np.nan)


def run_over_exact(sweep: Sweep) -> float:
    """Return mean ψ at the end over its expectation, the geometric mean over cells inside."""
    exact = exactly(sweep)
    found = [(_part_of(cell) / exact.at(cell)) for cell in sweep.cells if isfinite(exact.at(cell))]
    return float(np.exp(np.mean(np.log(found)))) if len(found) > 0 else np.nan


def _part_of(cell: Cell) -> float:
    return known(cell.result.summary["psi_final"]["mean"])


def by_chance(sweep: Sweep) -> Range:
    """Return where a mean of R draws of χ² with one degree of freedom is, four standard errors.

    ψ is quadratic in the noise: one draw on all coordinates spreads most, √(2/R) of its mean. Cells
    share their draws, so that more of them are no more certain.
    """
    error = STANDARD_ERRORS * np.sqrt(2 / len(sweep.cells[0].result.replicates))
    return float(1 / (1 + error) ** 2), float(1 + error)


def over(found: Grid, reference: Reference) -> float:
    """Return ψ over a reference, the geometric mean over cells inside; NaN where there is none."""
    inside = ratios(found, reference)
    return float(np.exp(np.log(inside).mean())) if len(inside) > 0 else np.nan


def constant(sweep: Sweep) -> float:
    """Return c of the law, the geometric mean over cells inside the box of Θ."""
    return CONSTANT * over(grid(sweep, RECORDS, BUDGET), LAW)


def slope(sweep: Sweep, axis: int) -> float:
    """Return the exponent of n_i (0) or of ε (1), of cells inside the box."""
    return slopes(grid(sweep, RECORDS, BUDGET))[axis]


def deciding(sweep: Sweep) -> Grid:
    """Return the grid with those cells inside alone in which noise decides."""
    across = RECORDS if RECORDS in sweep.paths else BANKS
    found, (low, high) = grid(sweep, across, BUDGET), DECIDES
    mean = found.psi[:, :, 0]
    kept = found.inside & (low <= mean) & (mean <= high)
    return replace(found, cells={at: cell for at, cell in found.cells.items() if kept[at]})


def deciding_slope(sweep: Sweep, axis: int) -> float:
    """Return the same of cells in which noise decides."""
    return slopes(deciding(sweep))[axis]


def deciding_constant(sweep: Sweep) -> float:
    """Return c of the law, the geometric mean over cells in which noise decides."""
    return CONSTANT * over(deciding(sweep), LAW)


def free(sweep: Sweep) -> float:
    """Return the share of cells in which the projection onto Θ never acted."""
    return float(np.mean([cell.result.summary["clip_count"] == 0 for cell in sweep.cells]))


def silent(sweep: Sweep) -> float:
    """Return how many owners, in any replicate, gave all the answers that they may."""
    (given,) = sweep.cells[0].result.columns("owners", "answers_released")
    return float(np.count_nonzero(given >= ANSWERS))


def line(sweep: Sweep, x: str, by: str, which: Literal["median", "flattest"]) -> float:
    """Return the exponent of one of the lines that are drawn."""
    found = [each.slope for each in series_of(sweep, x, by) if isfinite(each.slope)] or [np.nan]
    return float(np.median(found)) if which == "median" else max(found)


def crossing(sweep: Sweep, epsilon: float) -> float:
    """Return the number of banks from which bank 1 gains; infinite if it never does.

    Between two counts ln(ψ/ψ(θ_1*)) is taken as linear in ln N.
    """
    cells = [cell for cell in sweep.cells if cell.values[BUDGET] == epsilon]
    cells.sort(key=lambda cell: int(cell.values[BANKS]))
    counts = np.log([float(cell.values[BANKS]) for cell in cells])
    over = np.log([e.result.mean_psi for e in cells]) - np.log(list(map(alone, cells)))
    if over[0] < 0:
        return float(np.exp(counts[0]))
    for (n, a), (m, b) in pairwise(zip(counts, over, strict=True)):
        if a >= 0 > b:
            return float(np.exp(n + (m - n) * a / (a - b)))
    return float("inf")


def sound_over_exact(sweep: Sweep) -> float:
    """Return ψ over the forecast as if nothing were clipped, of cells in which noise decides."""
    return over(deciding(sweep), exactly(sweep))


def summary(sweep: Sweep, name: str) -> float:
    """Return a number of the first cell's summary; NaN where it has none."""
    return known(sweep.cells[0].result.summary[name])


def end_over_exact(sweep: Sweep) -> float:
    """Return mean ψ at ε = 10 over the forecast as if nothing were clipped."""
    return _part(sweep, max(ENDS), "mean") / exactly(sweep).at(at(sweep, max(ENDS)))


def drop(sweep: Sweep) -> float:
    """Return mean ψ at ε = 0.1 over that at ε = 1."""
    return _part(sweep, 0.1, "mean") / _part(sweep, 1.0, "mean")


def a_decade(sweep: Sweep) -> Range:
    """Return 100, and less by what is not learned without noise; a tenth for what is read off."""
    left = quiet(sweep).at(at(sweep, 1.0))
    share = left / exactly(sweep).at(at(sweep, 1.0))
    return 0.9 * (100 * (1 - share) + share), 110.0


def gaining(sweep: Sweep) -> float:
    """Return the share of the abstract's cells in which the first bank gains; NaN without one."""
    found = [
        _part_of(cell) < alone(cell)
        for cell in sweep.cells
        if cell.values[BANKS] > MANY and cell.values[BUDGET] >= LARGE
    ]
    return float(np.mean(found)) if len(found) > 0 else np.nan


def least_over_alone(sweep: Sweep) -> float:
    """Return ψ over what bank 1 learns alone, the least of the introduction's cells."""
    found = [_part_of(cell) / alone(cell) for cell in many_and_eager(sweep)]
    return min(found, default=np.nan)
