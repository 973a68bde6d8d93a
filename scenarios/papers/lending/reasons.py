"""Reasons why ours may differ from Async's figures 3 to 7, and by how much."""

from collections.abc import Sequence
from math import isfinite, sqrt

import numpy as np

from analysis.studies.psi_lines import CONSTANT
from asyncdp_sim.results import Cell, Result, Sweep
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.scenario import load
from scenarios.papers.claims import Range, Reason, cell_of
from scenarios.papers.exact import exactly, flattest, quiet
from scenarios.papers.figure import AS_PUBLISHED, SOUND
from scenarios.papers.problem import once

AT_SIZE = 250_000
"""n_i of figure 3, whose end points are the published medians."""
# Read off the plot. The law of figure 5, published beside it, gives 3.4, 0.034 and 0.00034 at the
# same settings: the two disagree.
ENDS = {0.1: 0.4, 1.0: 0.04, 10.0: 0.008}
START = 1.0
"""ψ before the first update, read off figure 3; the text states neither it nor the ends."""
BUDGET, BANKS = "privacy.epsilon", "owners.count"
XI = 5.0
"""The code's noise of Tp/(n_i ε_i) is Theorem 1's with Ξ = p/2, of 10 features."""
RUNS = 100
"""Over which the published ψ is averaged."""
ANSWERS, UPDATES = 400, 1000
"""Of a bank that is private, and in all; the published noise is for as many as in all."""
FEWER = (ANSWERS / UPDATES) ** 2
FEWER_CONSTANT = FEWER * CONSTANT
READ_OFF = 2.0
"""Ours agrees with what is read off figure 3 within this factor."""
ENOUGH_ROWS = 20_000
"""Of each bank, from which a table's second moments are taken."""
PAYS_ABOVE, PAYS_AT = 5.0, 10.0
PAYS_ABOVE_TOO, PAYS_AT_TOO = 100.0, 2.5
MANY, LARGE = 10, 1.0
"""The abstract of 001: more banks than this with budgets of at least this beat a bank alone. The
introduction of 004: they can, with budgets above it."""

BY_DEFINITION = "none is, by the definition of differential privacy"
EXCEEDED = "records exceed the declared bound, so that the true ε is larger than the claim"
ONE_DRAW = Reason(
    f"one draw on all coordinates hides no difference between them; also, {EXCEEDED}",
    (0, 0), BY_DEFINITION, SOUND,
)  # fmt: skip
L2_IN_L1 = Reason(
    f"{EXCEEDED}; also, the bound is in L2 where Laplace noise needs L1",
    (0, 0), BY_DEFINITION, SOUND,
)  # fmt: skip

PULLED_LESS = (
    "a clipped gradient does not grow with the distance: where noise drives models far off, "
    "records pull them back less, and ψ falls faster than the square until few are clipped"
)
PULL = (
    "calculated: a pull that grows with the distance gives the square of the noise, a constant one "
    "its fourth power"
)
FAR = Reason(PULLED_LESS, (-4.0, -1.9), PULL, AS_PUBLISHED)
FAR_A_DECADE = Reason(PULLED_LESS, (100.0, 1e4), PULL, AS_PUBLISHED)


def explained(sweep: Sweep) -> float:
    """Return 1 + ψ(0) = f(0)/f(θ*) of a sweep's table, from its second moments alone."""
    return _explained(sweep.cells[0].result)


@once(8)
def _explained(found: Result) -> float:
    settings = (f"owners.records={ENOUGH_ROWS}", "owners.count=3")
    scenario = load(found.directory / "scenario.toml", settings)[0].base()
    dataset, sigma = build_dataset(scenario), scenario.model.sigma
    x, y = np.concatenate(dataset.features), np.concatenate(dataset.targets)
    moment, cross = x.T @ x / len(y), x.T @ y / len(y)
    optimum = np.linalg.solve(moment + sigma / 2 * np.eye(len(cross)), cross)
    whole = float(y @ y) / len(y)
    return whole / (whole - float(cross @ optimum))


def starts(sweep: Sweep) -> Range:
    """Return where ψ(θ_0) is of a table with these second moments, θ_0 near 0: within 5 %."""
    psi = explained(sweep) - 1
    return 0.95 * psi, 1.05 * psi


OTHER_START = Reason(
    "f(θ_0)/f(θ*) is the table's alone; the start of 1 is read off a plot, of a table of 890,000 "
    "loans that is not at hand; what follows is judged relative to the start",
    starts,
    "calculated: Σ y² over f(θ*) by the twin's second moments, within 5 %",
)


ERROR = 4 * sqrt(2 / RUNS)
"""Four standard errors of a published mean of ψ: of one noise draw for all coordinates, χ²₁."""
LAW_WITHIN = (CONSTANT / (1 + ERROR), CONSTANT * (1 + ERROR) ** 2)
"""Where c may be if the law that is drawn was fitted to means of as many runs as are published.

Means of χ² are skewed: as far as one is below its expectation in so many runs, it may be above.
"""
FEWER_WITHIN = (FEWER * LAW_WITHIN[0], FEWER * LAW_WITHIN[1])
HALF_A_STEP = (LAW_WITHIN[0] / 4, LAW_WITHIN[1] / 2)
"""Where c may be with half the step."""


STEP = (
    "the text's 10⁻⁵θᵀθ is twice the code's regulariser, so that the step Nρ/(T²σ) is half as long "
    "at the same ρ, which the text does not name"
)
SETTLES = "calculated: noise that has settled costs as the step, noise that has not as its square"
OTHER_STEP = Reason(STEP, HALF_A_STEP, SETTLES)


def by_law(epsilon: float) -> float:
    """Return ψ by the law, at figure 3's size."""
    return CONSTANT / (epsilon * AT_SIZE) ** 2


def within_law(epsilon: float) -> Range:
    """Return where ψ may be if the law that is drawn was fitted."""
    unit = (epsilon * AT_SIZE) ** 2
    return LAW_WITHIN[0] / unit, LAW_WITHIN[1] / unit


def other_step_at(epsilon: float) -> Reason:
    """Return why ψ at the end of figure 3 is smaller as written, by the law."""
    unit = (epsilon * AT_SIZE) ** 2
    low, high = HALF_A_STEP
    return Reason(STEP, (low / unit, high / unit), SETTLES)


def at(sweep: Sweep, epsilon: float) -> Cell:
    """Return the cell of a budget."""
    return cell_of(sweep, {BUDGET: epsilon})


def by_the_square(epsilon: float) -> Reason:
    """Return why ours ends lower than figure 3 does at one of its larger budgets."""
    anchor = min(ENDS)

    def range_of(sweep: Sweep) -> Range:
        noise = ENDS[anchor] / (1 + START) * (anchor / epsilon) ** 2
        left = quiet(sweep).at(at(sweep, epsilon)) / explained(sweep)
        return (noise + left) / READ_OFF, (noise + left) * READ_OFF

    accident = (
        "; that ψ itself is within a factor of two of the plot at ε = 1 is an accident: the start "
        "is higher and the noise lower by about as much"
    )
    return Reason(
        "figure 3's ends fall as 1/ε where figure 5's law and noise fall as 1/ε² (they contradict "
        "each other)" + (accident if epsilon == 1 else ""),
        range_of,
        f"calculated: the published end at ε = {anchor:g}, where noise decides, by 1/ε², and what "
        "T updates do not learn without noise; within a factor of two",
    )


def alone(cell: Cell) -> float:
    """Return ψ(θ_1*), what bank 1 learns alone and without noise."""
    (psi,) = cell.result.columns("owners", "psi_alone")
    return float(psi[0])


def _worth(sweep: Sweep, cells: Sequence[Cell]) -> float:
    """Return the share of cells in which bank 1 gains by exact moments; NaN where it is unknown."""
    known = exactly(sweep)
    expected = [known.at(each) for each in cells]
    if len(cells) == 0 or not all(map(isfinite, expected)):
        return np.nan
    return float(np.mean([e < alone(each) for e, each in zip(expected, cells, strict=True)]))


def too_noisy(epsilon: float) -> Reason:
    """Return why no number of banks that is run is worth joining at a budget."""

    def range_of(sweep: Sweep) -> Range:
        known, without = exactly(sweep), quiet(sweep)
        cells = [each for each in sweep.cells if each.values[BUDGET] == epsilon]
        costs = [known.at(each) - without.at(each) > alone(each) for each in cells]
        return (np.inf, np.inf) if len(cells) > 0 and all(costs) else (np.nan, np.nan)

    return Reason(
        "what noise costs is above ψ(θ_1*) at every number of banks that is run; of 64, the most "
        "at full size, so is what T = 1000 updates leave to learn without noise",
        range_of,
        "calculated: exact E ψ less that without noise, against ψ(θ_1*), at every N",
    )


def not_learned(x: str, by: str) -> Reason:
    """Return why lines in x are flatter than the square."""
    return Reason(
        "where noise is small, ψ is what T = 1000 updates have not learned yet, which no budget "
        "and no further record makes smaller",
        lambda sweep: (-2.1, flattest(sweep, x, by) + 0.1),
        "calculated: the flattest line of the exact moments, which is within 0.1",
    )


def those_that_gain(sweep: Sweep) -> Range:
    """Return up to the share of the abstract's cells in which bank 1 gains by exact moments."""
    cells = [
        each for each in sweep.cells if each.values[BANKS] > MANY and each.values[BUDGET] >= LARGE
    ]
    return 0.0, _worth(sweep, cells)


def many_and_eager(sweep: Sweep) -> list[Cell]:
    """Return the cells of which the introduction speaks."""
    return [e for e in sweep.cells if e.values[BANKS] > MANY and e.values[BUDGET] > LARGE]


def _unlearned_over_alone(sweep: Sweep) -> Range:
    """Return up to the most by which E ψ is above a bank's own, if that without noise always is."""
    known, without, cells = exactly(sweep), quiet(sweep), many_and_eager(sweep)
    if not all(without.at(each) > alone(each) for each in cells):
        return np.nan, np.nan
    return 1.0, min((1.01 * known.at(each) / alone(each) for each in cells), default=np.nan)


HALF_LEARNED = Reason(
    "with the text's regulariser the step is half as long at the same ρ, which the text does not "
    "name: what T = 1000 updates leave of more than 10 banks without any noise is above ψ(θ_1*)",
    _unlearned_over_alone,
    "calculated: exact E ψ without noise against ψ(θ_1*) at every N, and E ψ over it",
)
HEADLINE = Reason(
    "the paper's own figures contradict the abstract of its other version: figure 7 needs more "
    "than 5 banks at ε = 10 and more than 100 at ε = 2.5, and in figure 11 no hospital gains at "
    "ε = 1",
    those_that_gain,
    "calculated: at most the cells in which a bank gains by exact moments",
)
