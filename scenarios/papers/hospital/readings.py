"""Readings of sweeps by which figures 8 to 11 of Async are judged."""

from math import hypot, sqrt

import numpy as np

from analysis.papers import alone_against_size
from analysis.studies.psi import hospital_law
from asyncdp_sim.figures import convergence
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.results import Cell, Sweep
from scenarios.papers.claims import Range

EPSILON = "privacy.epsilon"
MEDIAN_OF_ONE = 0.4549
"""Median over mean of χ² with one degree of freedom: ψ of one noise draw for all coordinates."""


def over_law(sweep: Sweep, epsilon: float) -> float:
    """Return mean ψ after the last update over the law."""
    return end(sweep, epsilon) / hospital_law(epsilon)


def epsilon_of(cell: Cell) -> float:
    """Return the budget of a cell."""
    return float(cell.values[EPSILON])


def at(sweep: Sweep, epsilon: float) -> Cell:
    """Return the cell whose budget is nearest, in ratio, to this one."""
    return min(sweep.cells, key=lambda cell: abs(np.log(epsilon_of(cell) / epsilon)))


def end(sweep: Sweep, epsilon: float, part: str = "mean") -> float:
    """Return a part of the spread of ψ after the last update."""
    return float(at(sweep, epsilon).result.summary["psi_final"][part])


def late(sweep: Sweep, epsilon: float) -> float:
    """Return the median over the last tenth of the updates of the median of ψ, as read off."""
    result = at(sweep, epsilon).result
    k, (_, middle, _) = convergence.quartiles(result, "k")
    return float(np.median(middle[k > 0.9 * result.updates]))


def start(sweep: Sweep) -> float:
    """Return the median of ψ before the first update."""
    return float(convergence.quartiles(sweep.cells[0].result, "k")[1][1, 0])


def of_a_median(sweep: Sweep, degrees: int) -> Range:
    """Return where the median over the mean of R draws of χ² is, four standard errors.

    Of the median 1/(2 f √R), of the mean √(2/(k R)) of itself, k the degrees of freedom.
    """
    from scipy.stats import chi2

    runs, middle = len(sweep.cells[0].result.replicates), float(chi2.median(degrees))
    of_median = 1 / (2 * float(chi2.pdf(middle, degrees)) * sqrt(runs) * middle)
    error = 4 * hypot(of_median, sqrt(2 / (degrees * runs)))
    return middle / degrees / (1 + error), middle / degrees * (1 + error)


def median_of_one(sweep: Sweep, epsilon: float) -> float:
    """Return what the median of ψ at the end is by its mean: of one noise draw, χ²₁."""
    return MEDIAN_OF_ONE * end(sweep, epsilon)


def exponent(sweep: Sweep, below: float, least: float | None = None) -> float:
    """Return a of E ψ ∝ εᵃ, least squares of logarithms over the budgets below a number.

    Of what ψ is above its value at the budget ``least``, if there is one.
    """
    floor = 0.0 if least is None else end(sweep, least)
    epsilons = [each for each in map(epsilon_of, sweep.cells) if each < below]
    means = [end(sweep, each) - floor for each in epsilons]
    if not min(means) > 0:
        return float("nan")
    return float(np.polyfit(np.log(epsilons), np.log(means), 1)[0])


def gaining(sweep: Sweep, psi: float) -> float:
    """Return how many hospitals' own optima have a larger ψ than this."""
    return float(np.count_nonzero(alone_against_size.of_owners(line(sweep.cells[0]))[1] > psi))


def gaining_at(sweep: Sweep, epsilon: float) -> float:
    """Return how many hospitals' own optima have a larger ψ than the model of a budget."""
    return gaining(sweep, end(sweep, epsilon))


def owners(sweep: Sweep) -> float:
    """Return how many hospitals there are."""
    return float(sweep.cells[0].result.n_owners)


def line(cell: Cell) -> CurveLine:
    """Return the line of a cell."""
    return CurveLine(cell.result, cell.label([EPSILON]))


def cheaper(mine: Sweep, theirs: Sweep) -> float:
    """Return ψ at ε = 0.1 as published over that of another variant."""
    return end(theirs, 0.1) / end(mine, 0.1)
