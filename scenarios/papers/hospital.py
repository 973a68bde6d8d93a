"""Async's figures 8 to 11: hospitals learn how long patients stay."""

from collections.abc import Sequence
from math import hypot, sqrt
from pathlib import Path

import numpy as np

from analysis.papers import by_size, of_owners
from analysis.studies.psi_lines import HOSPITAL, hospital_law, markers
from asyncdp_sim.figures import convergence, traces
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.results import Cell, Sweep
from asyncdp_sim.runs.problem import build_dataset
from scenarios.papers.claims import SENTENCES, Range
from scenarios.papers.exact import exactly, quiet
from scenarios.papers.figure import EVERY, read_figures
from scenarios.papers.problem import scenario
from scenarios.papers.replayed import replay_claims, scale_claims

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
    return float(np.count_nonzero(of_owners(line(sweep.cells[0]))[1] > psi))


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


READ_OFF = 1.5
"""Ours agrees with what is read off a plot within this factor."""
LEFT_THERE = 0.12
"""Figure 10's marker at ε = 10, which is at least what the published runs left without noise."""
XI = 4.5
"""As of the banks: p/2, of 9 features."""


def left_unlearned(sweep: Sweep, published: float) -> Range:
    """Return what agrees with a published ψ, and by what is not learned without noise above it."""
    more = max(0.0, quiet(sweep).at(sweep.cells[0]) - LEFT_THERE)
    return published / READ_OFF, published * READ_OFF + more


def names(sweep: Sweep) -> Sequence[str]:
    """Return the hospitals' names in a real table, in the order of owners; none of the twin."""
    said = scenario(sweep.cells[0].result)
    real = getattr(said.data, "path", None) is not None
    return build_dataset(said).owner_names if real else ()


def curves(sweep: Sweep) -> Sequence[Picture]:
    """Draw figure 8."""
    return [convergence.by_update([line(cell) for cell in sweep.cells])]


def order(sweep: Sweep) -> Sequence[Picture]:
    """Draw figure 9."""
    return [traces.BY_UPDATE.of(sweep.cells[0].result)]


def by_budget(sweep: Sweep) -> Sequence[Picture]:
    """Draw figure 10."""
    return [markers(sweep, EPSILON, references=(HOSPITAL, exactly(sweep)))]


def against_size(sweep: Sweep) -> Sequence[Picture]:
    """Draw figure 11."""
    exact, lines = exactly(sweep), [line(cell) for cell in sweep.cells]
    expected = [exact.at(cell) for cell in sweep.cells]
    return [by_size(lines, names(sweep), expected, exact.name)]


PUBLISHED_LINE = 0.13
"""ψ of figure 11's line at ε = 10."""


def above_the_line(sweep: Sweep) -> Range:
    """Return up to how many hospitals' own models are above the published line."""
    return 0.0, gaining(sweep, PUBLISHED_LINE)


SCALE = scale_claims(dict.fromkeys(EVERY, XI), SENTENCES["SCALE"])
THE_RUN = replay_claims(dict.fromkeys(EVERY, XI))
FIGURES = read_figures(Path(__file__).with_suffix(".toml"), globals())
"""Figures 8 to 11, in their order."""
