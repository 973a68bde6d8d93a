"""Claims of Async's figures 3 to 7 in numbers, and how ours are read."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite

import numpy as np

from asyncdp_sim.figures.kit.numbers import as_float
from asyncdp_sim.figures.kit.source import Cell, Sweep
from asyncdp_sim.figures.runs.convergence import quartiles
from asyncdp_sim.figures.sweeps.psi_lines import series_of
from asyncdp_sim.figures.sweeps.psi_surface import Grid, Reference, grid, ratios, slopes
from scenarios.papers import async_lending_reasons as reasons
from scenarios.papers.async_lending_reasons import (
    ANSWERS,
    AT_SIZE,
    BANKS,
    BUDGET,
    CONSTANT,
    ENDS,
    FAR,
    FAR_A_DECADE,
    FEWER,
    LARGE,
    MANY,
    PAYS_ABOVE,
    PAYS_ABOVE_TOO,
    PAYS_AT,
    PAYS_AT_TOO,
    READ_OFF,
    START,
    alone,
    at,
)
from scenarios.papers.claims import MOVED, Claim, Range, Reason, moved, private
from scenarios.papers.exact import exactly, flattest, quiet
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, SOUND

SLOPE = (-2.1, -1.9)
RECORDS = "owners.records"
DECIDES = (0.025, 10.0)
"""ψ between these is noise (0.0024 is what has not been learned), and few records are clipped."""
STANDARD_ERRORS = 4.0
NOISY = (AS_PUBLISHED, AS_WRITTEN)
ALL = (*NOISY, SOUND)


def law(cell: Cell) -> float:
    """Return c/(ε n_i)² in a cell."""
    said = cell.result.scenario
    return CONSTANT / (float(said["privacy"]["epsilon"]) * float(said["owners"]["records"])) ** 2


LAW = Reference("published law 2.15·10⁹/(ε n_i)²", "law", law)


def published_end(cell: Cell) -> float:
    """Return figure 3's published end point, by n_i⁻² where the banks hold other numbers."""
    said = cell.result.scenario
    known = ENDS.get(float(said["privacy"]["epsilon"]), np.nan)
    return known * (AT_SIZE / float(said["owners"]["records"])) ** 2


ALONE = Reference("bank 1 alone, ψ(θ_1*)", "psi_alone", alone, solid=True)


def _relative_end(epsilon: float) -> Callable[[Sweep], float]:
    """Return how the median of ψ at the end is read over 1 + ψ_0, which is free of f(θ*)."""

    def measure(sweep: Sweep) -> float:
        return _part(sweep, epsilon, "median") / (1 + _start(sweep))

    return measure


def _part(sweep: Sweep, epsilon: float, part: str) -> float:
    psi = as_float(at(sweep, epsilon).result.summary["psi_final"][part])
    return np.nan if psi is None else psi


def _cost(epsilon: float) -> Callable[[Sweep], float]:
    """Return how mean ψ at the end is read, less what is not learned without noise."""
    return lambda sweep: _part(sweep, epsilon, "mean") - quiet(sweep).at(at(sweep, epsilon))


def _start(sweep: Sweep) -> float:
    k, psi = sweep.cells[0].result.columns("curve", "k", "relative_fitness")
    return float(np.median(psi[k == 0]))


def _worst_step(sweep: Sweep) -> float:
    """Return the largest ratio of the median of ψ, a tenth of the updates apart, at ε = 10.

    It is 1 or less as long as the median decreases; from the middle on it may have converged.
    """
    result = at(sweep, max(ENDS)).result
    k, (_, middle, _) = quartiles(result, "k")
    tenths = [float(middle[np.searchsorted(k, part * result.updates / 10)]) for part in range(6)]
    return max(later / earlier for earlier, later in pairwise(tenths))


def _least_widening(sweep: Sweep) -> float:
    """Return the least ratio of the 25-75 % band's width to that at the next larger budget."""
    widths = []
    for cell in sorted(sweep.cells, key=lambda each: float(each.values[BUDGET])):
        said = cell.result.summary["psi_final"]
        widths.append(float(said["q75"]) - float(said["q25"]))
    pairs = [(wide, narrow) for wide, narrow in pairwise(widths) if narrow > 0]
    return min((wide / narrow for wide, narrow in pairs), default=np.nan)


def _run_over_exact(sweep: Sweep) -> float:
    """Return mean ψ at the end over its expectation, the geometric mean over cells inside."""
    known = exactly(sweep)
    found = [(_part_of(cell) / known.at(cell)) for cell in sweep.cells if isfinite(known.at(cell))]
    return float(np.exp(np.mean(np.log(found)))) if len(found) > 0 else np.nan


def _part_of(cell: Cell) -> float:
    psi = as_float(cell.result.summary["psi_final"]["mean"])
    return np.nan if psi is None else psi


def by_chance(sweep: Sweep) -> Range:
    """Return where a mean of R draws of χ² with one degree of freedom is, four standard errors.

    ψ is quadratic in the noise: one draw on all coordinates spreads most, √(2/R) of its mean. Cells
    share their draws, so that more of them are no more certain.
    """
    error = STANDARD_ERRORS * np.sqrt(2 / len(sweep.cells[0].result.replicates))
    return float(1 / (1 + error) ** 2), float(1 + error)


def _over(found: Grid, reference: Reference) -> float:
    """Return ψ over a reference, the geometric mean over cells inside; NaN where there is none."""
    known = ratios(found, reference)
    return float(np.exp(np.log(known).mean())) if len(known) > 0 else np.nan


def _constant(sweep: Sweep) -> float:
    """Return c of the law, the geometric mean over cells inside the box of Θ."""
    return CONSTANT * _over(grid(sweep, RECORDS, BUDGET), LAW)


def _slope(axis: int) -> Callable[[Sweep], float]:
    return lambda sweep: slopes(grid(sweep, RECORDS, BUDGET))[axis]


def _deciding(sweep: Sweep) -> Grid:
    """Return the grid with those cells inside alone in which noise decides."""
    across = RECORDS if RECORDS in sweep.paths else BANKS
    found, (low, high) = grid(sweep, across, BUDGET), DECIDES
    mean = found.psi[:, :, 0]
    return replace(found, inside=found.inside & (low <= mean) & (mean <= high))


def _deciding_slope(axis: int) -> Callable[[Sweep], float]:
    return lambda sweep: slopes(_deciding(sweep))[axis]


def _deciding_constant(sweep: Sweep) -> float:
    """Return c of the law, the geometric mean over cells in which noise decides."""
    return CONSTANT * _over(_deciding(sweep), LAW)


def _free(sweep: Sweep) -> float:
    """Return the share of cells in which the projection onto Θ never acted."""
    return float(np.mean([cell.result.summary["clip_count"] == 0 for cell in sweep.cells]))


def _silent(sweep: Sweep) -> float:
    """Return how many owners, in any replicate, gave all the answers that they may."""
    (given,) = sweep.cells[0].result.columns("owners", "answers_released")
    return float(np.count_nonzero(given >= ANSWERS))


def _line(x: str, by: str, choose: Callable[[Sequence[float]], float]) -> Callable[[Sweep], float]:
    """Return how an exponent is read, one of those of the lines that are drawn."""

    def measure(sweep: Sweep) -> float:
        found = [each.slope for each in series_of(sweep, x, by)]
        return choose([slope for slope in found if isfinite(slope)] or [np.nan])

    return measure


def crossing(epsilon: float) -> Callable[[Sweep], float]:
    """Return how the number of banks is read from which bank 1 gains; infinite if it never does.

    Between two counts ln(ψ/ψ(θ_1*)) is taken as linear in ln N.
    """

    def measure(sweep: Sweep) -> float:
        cells = [cell for cell in sweep.cells if cell.values[BUDGET] == epsilon]
        cells.sort(key=lambda cell: int(cell.values[BANKS]))
        counts = np.log([float(cell.values[BANKS]) for cell in cells])
        psi = [as_float(cell.result.summary["psi_final"]["mean"]) for cell in cells]
        over = np.log([np.inf if each is None else each for each in psi]) - np.log(
            [alone(cell) for cell in cells]
        )
        if over[0] < 0:
            return float(np.exp(counts[0]))
        for (n, a), (m, b) in pairwise(zip(counts, over, strict=True)):
            if a >= 0 > b:
                return float(np.exp(n + (m - n) * a / (a - b)))
        return float("inf")

    return measure


_PROMISE = "share of cells that are private as claimed"
PROMISE = (
    Claim(_PROMISE, private, 1, 1, 1.0, reasons.ONE_DRAW),
    Claim(_PROMISE, private, 1, 1, 1.0, reasons.L2_IN_L1, (AS_WRITTEN,)),
    Claim(_PROMISE, private, 1, 1, 1.0, variants=(SOUND,)),
)
BY_CHANCE = Claim(
    "mean ψ of the runs over its exact expectation, geometric mean over cells", _run_over_exact,
    published=1.0, variants=NOISY, window=by_chance,
)  # fmt: skip


def _ends(epsilon: float, published: float) -> tuple[Claim, ...]:
    """Return what was published of ψ at the end: in figure 3, and by the law of figure 5."""
    unit = (epsilon * AT_SIZE) ** 2
    relative = published / (1 + START)

    def window(sweep: Sweep) -> Range:
        low, high = reasons.of_any_table(sweep)
        return low / unit, high / unit

    of_3 = f"median ψ over 1 + ψ_0 at k = T, ε = {epsilon:g}: figure 3's end over its start"
    of_5 = f"mean ψ at k = T less that without noise, ε = {epsilon:g}: figure 5's law"
    square = None if epsilon == min(ENDS) else reasons.by_the_square(epsilon)
    within = (relative / READ_OFF, relative * READ_OFF)
    return (
        Claim(of_3, _relative_end(epsilon), *within, relative, square, NOISY),
        *(
            Claim(of_5, _cost(epsilon), published=CONSTANT / unit, reason=why, variants=(variant,),
                  of_means=True, window=window)
            for variant, why in (
                (AS_PUBLISHED, None), (AS_WRITTEN, reasons.other_step_at(epsilon))
            )
        ),
    )  # fmt: skip


def _end_over_exact(sweep: Sweep) -> float:
    """Return mean ψ at ε = 10 over the forecast as if nothing were clipped."""
    return _part(sweep, max(ENDS), "mean") / exactly(sweep).at(at(sweep, max(ENDS)))


def _median(values: Sequence[float]) -> float:
    return float(np.median(values))


def _drop(sweep: Sweep) -> float:
    return _part(sweep, 0.1, "mean") / _part(sweep, 1.0, "mean")


def _gaining(sweep: Sweep) -> float:
    """Return the share of the abstract's cells in which the first bank gains; NaN without one."""
    found = [
        _part_of(cell) < alone(cell)
        for cell in sweep.cells
        if cell.values[BANKS] > MANY and cell.values[BUDGET] >= LARGE
    ]
    return float(np.mean(found)) if len(found) > 0 else np.nan


C_OF_LAW = "c of c/(ε n_i)², cells inside the box"

OVER_EXACT = "ψ over the exact forecast, were nothing clipped"
SOUND_OVER_EXACT = Claim(
    f"{OVER_EXACT}, cells in which noise decides",
    lambda sweep: _over(_deciding(sweep), exactly(sweep)), 0.8, 1.25, 1.0, variants=(SOUND,),
)  # fmt: skip
A_DECADE = "mean ψ at ε = 0.1 over that at ε = 1"


def _a_decade(sweep: Sweep) -> Range:
    """Return 100, and less by what is not learned without noise; a tenth for what is read off."""
    left = quiet(sweep).at(at(sweep, 1.0))
    share = left / exactly(sweep).at(at(sweep, 1.0))
    return 0.9 * (100 * (1 - share) + share), 110.0


CLAIMS_3: tuple[Claim, ...] = (
    Claim("median ψ before the first update", _start, 0.8, 1.2, START, reasons.OTHER_START, ALL),
    *(claim for pair in ENDS.items() for claim in _ends(*pair)),
    Claim("largest ratio of the median of ψ to that of T/10 updates before, ε = 10, k ≤ T/2: "
          "the median decreases", _worst_step, high=1, variants=NOISY),
    Claim("least ratio of the 25-75 % band's width to that at ten times the budget: smaller ε "
          "widens the band", _least_widening, 1, variants=ALL),
    Claim(A_DECADE, _drop, published=100.0, variants=NOISY, of_means=True, window=_a_decade),
    Claim(A_DECADE, _drop, published=100.0, reason=FAR_A_DECADE, variants=(SOUND,),
          window=_a_decade),
    Claim(f"{OVER_EXACT}, ε = 10", _end_over_exact, 0.8, 1.25, 1.0, variants=(SOUND,)),
    BY_CHANCE,
    *PROMISE,
)  # fmt: skip

CLAIMS_4: tuple[Claim, ...] = (
    Claim(
        "P(i_(k+1) = i_k), 1/N if i_k is uniform and independent",
        lambda sweep: float(sweep.cells[0].result.summary["p_repeat"]),
        1 / 3 - 0.06, 1 / 3 + 0.06, 1 / 3, variants=ALL,
    ),
    Claim(
        "Jain's index of the owners' updates, 1 if all are alike",
        lambda sweep: float(sweep.cells[0].result.summary["fairness"]), 0.98, 1.0, 1.0,
        variants=ALL,
    ),
    Claim(MOVED, moved, 0, 0, 0.0, variants=(AS_WRITTEN, SOUND), beside=(AS_PUBLISHED,)),
    Claim("banks that have given all their answers", _silent, 0, 0, 0.0, variants=(SOUND,)),
    *PROMISE,
)  # fmt: skip


def _of_fewer(sweep: Sweep) -> Range:
    low, high = reasons.of_any_table(sweep)
    return FEWER * low, FEWER * high


CLAIMS_5: tuple[Claim, ...] = (
    Claim(C_OF_LAW, _constant, published=CONSTANT, of_means=True, window=reasons.of_any_table),
    Claim(C_OF_LAW, _constant, published=CONSTANT, reason=reasons.OTHER_STEP,
          variants=(AS_WRITTEN,), of_means=True, window=reasons.of_any_table),
    Claim(
        "c of c/(ε n_i)², cells in which noise decides: (400/1000)² of the published",
        _deciding_constant, published=FEWER * CONSTANT, variants=(SOUND,), window=_of_fewer,
    ),
    SOUND_OVER_EXACT,
    BY_CHANCE,
    *(
        claim
        for axis, sign in enumerate(("n_i", "ε"))
        for claim in (
            Claim(f"exponent of {sign}, cells inside the box", _slope(axis), *SLOPE, -2.0,
                  variants=NOISY, of_means=True),
            Claim(f"exponent of {sign}, cells inside the box", _slope(axis), *SLOPE, -2.0,
                  FAR, (SOUND,)),
            Claim(f"exponent of {sign}, cells in which noise decides", _deciding_slope(axis),
                  *SLOPE, -2.0, variants=(SOUND,)),
        )
    ),
    Claim("share of cells in which the projection never acts", _free, 0.75, variants=(SOUND,)),
    *PROMISE,
)  # fmt: skip


def _not_learned(x: str, by: str) -> Reason:
    return Reason(
        "where noise is small, ψ is what T = 1000 updates have not learned yet, which no budget "
        "and no further record makes smaller",
        lambda sweep: (-2.1, flattest(sweep, x, by) + 0.1),
        "calculated: the flattest line of the exact moments, which is within 0.1",
    )


CLAIMS_6: tuple[Claim, ...] = (
    *(
        Claim(f"exponent of {sign}, {which} of the lines", _line(*axes, one), *SLOPE, -2.0, why, of,
              of_means=of == NOISY)
        for sign, axes in (("ε", (BUDGET, RECORDS)), ("n_i", (RECORDS, BUDGET)))
        for which, one, why, of in (
            ("median", _median, None, NOISY),
            ("flattest", max, _not_learned(*axes), NOISY),
            ("median", _median, FAR, (SOUND,)),
        )
    ),
    *PROMISE,
)  # fmt: skip

CLAIMS_7: tuple[Claim, ...] = (
    Claim(
        "number of banks from which bank 1 gains, ε = 10", crossing(PAYS_AT), 3, 7,
        PAYS_ABOVE, variants=ALL, of_means=True,
    ),
    Claim(
        "number of banks from which bank 1 gains, ε = 2.5", crossing(PAYS_AT_TOO), 50, 200,
        PAYS_ABOVE_TOO, reasons.too_noisy(PAYS_AT_TOO), NOISY, of_means=True,
    ),
    Claim(
        f"share of cells with more than {MANY} banks and ε ≥ {LARGE:g} in which bank 1 gains: all, "
        "by the abstract", _gaining, 1, 1, 1.0, reasons.HEADLINE, ALL, of_means=True,
    ),
    SOUND_OVER_EXACT,
    BY_CHANCE,
    *PROMISE,
)  # fmt: skip
