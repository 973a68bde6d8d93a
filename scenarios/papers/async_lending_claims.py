"""What Async's figures 3 to 7 say in numbers, and how ours are read."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite

import numpy as np

from analysis.markers import series_of
from analysis.source import Cell, Sweep
from analysis.surface import Grid, Reference, grid, ratios, slopes
from analysis.words import as_float
from scenarios.papers.claims import MOVED, Claim, moved
from scenarios.papers.exact import exactly
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, SOUND
from scenarios.published import FINAL_PSI

CONSTANT = 2.1536e9
"""c in the law ψ = c/(ε n_i)² that figures 5 and 6 draw, n_i records of each of three banks."""
CONSTANTS = (1.9e9, 3.6e9)
"""What the published settings give on the real table of 2007-2011, and on its twin."""
AT_SIZE = 250_000
"""n_i of figure 3, whose end points are the published medians."""
ENDS = FINAL_PSI["lending-convergence"]
SLOPE = (-2.1, -1.9)
RECORDS, BUDGET, BANKS = "owners.records", "privacy.epsilon", "owners.count"
ANSWERS, UPDATES = 400, 1000
"""Of a bank that is private, and in all; the published noise is for as many as in all."""
FEWER = (ANSWERS / UPDATES) ** 2
DECIDES = (0.025, 10.0)
"""ψ between these is noise (0.0024 is what has not been learned), and few records are clipped."""
PAYS_ABOVE, PAYS_AT = 5.0, 10.0
PAYS_ABOVE_TOO, PAYS_AT_TOO = 100.0, 2.5
NOISY = (AS_PUBLISHED, AS_WRITTEN)
ALL = (*NOISY, SOUND)

CONTRADICTED = (
    "the published figures 3 and 5 contradict each other; at n_i = 250,000 figure 5's law is {:.2g}"
    " and figure 3 ends near {:g}; what T = 1000 updates have not learned yet is in neither"
)
STARTS_LOWER = (
    "the start depends on the data alone: the columns of 2007-2011 explain rates better than those "
    "of all 890,000 loans, so that f(θ*) is a smaller part of f(θ_0)"
)
ALIKE = (
    "the twin's banks are alike, so that one alone learns nearly θ*; on the real table, whose rows "
    "are in order of date, they are not"
)
EXCEEDED = "records exceed the declared bound, so that the true ε is larger than the claim"
ONE_DRAW = f"one draw on all coordinates hides no difference between them; also, {EXCEEDED}"
L2_IN_L1 = f"{EXCEEDED}; also, the bound is in L2 where Laplace noise needs L1"
OTHER_STEP = (
    "the text's 10⁻⁵θᵀθ is twice the code's regulariser, so that the step Nρ/(T²σ) is half as long "
    "at the same ρ, which the text does not name"
)
FAR = (
    "a clipped gradient does not grow with the distance: where noise drives models far off, "
    "records pull them back less, and ψ falls faster than the square until few are clipped"
)
NOT_LEARNED = (
    "where noise is small, ψ is what T = 1000 updates have not learned yet, which no budget and "
    "no further record makes smaller"
)


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


def alone(cell: Cell) -> float:
    """Return ψ(θ_1*), what bank 1 learns alone and without noise."""
    (psi,) = cell.result.columns("owners", "psi_alone")
    return float(psi[0])


ALONE = Reference("bank 1 alone, ψ(θ_1*)", "psi_alone", alone, solid=True)


def _end(epsilon: float, part: str) -> Callable[[Sweep], float]:
    """Return how ψ at the end is read, brought to n_i = 250,000 by n_i⁻²."""

    def measure(sweep: Sweep) -> float:
        [cell] = [each for each in sweep.cells if each.values[BUDGET] == epsilon]
        records = float(cell.result.scenario["owners"]["records"])
        psi = as_float(cell.result.summary["psi_final"][part])
        return np.nan if psi is None else psi * (records / AT_SIZE) ** 2

    return measure


def _start(sweep: Sweep) -> float:
    k, psi = sweep.cells[0].result.columns("curve", "k", "relative_fitness")
    return float(np.median(psi[k == 0]))


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


def _private(sweep: Sweep) -> float:
    """Return the share of cells that are private as claimed."""
    return float(np.mean([cell.result.summary["private"] is True for cell in sweep.cells]))


_PROMISE = "share of cells that are private as claimed"
PROMISE = (
    Claim(_PROMISE, _private, 1, 1, 1.0, ONE_DRAW),
    Claim(_PROMISE, _private, 1, 1, 1.0, L2_IN_L1, (AS_WRITTEN,)),
    Claim(_PROMISE, _private, 1, 1, 1.0, variants=(SOUND,)),
)


def _ends(epsilon: float, published: float) -> tuple[Claim, ...]:
    """Return what was published of ψ at the end: in figure 3, and by the law of figure 5."""
    expected = CONSTANT / (epsilon * AT_SIZE) ** 2
    low, high = (expected * constant / CONSTANT for constant in CONSTANTS)
    at = f"ψ at k = T, ε = {epsilon:g}, by n_i⁻² to n_i = 250,000"
    median, mean = _end(epsilon, "median"), _end(epsilon, "mean")
    of_3, of_5 = f"median {at}: figure 3's end", f"mean {at}: figure 5's law"
    said = CONTRADICTED.format(expected, published)
    return tuple(
        claim
        for variant, because in ((AS_PUBLISHED, said), (AS_WRITTEN, f"{said}; {OTHER_STEP}"))
        for claim in (
            Claim(of_3, median, published / 2, 2 * published, published, because, (variant,)),
            Claim(of_5, mean, low, high, expected, because, (variant,)),
        )
    )


def _end_over_exact(sweep: Sweep) -> float:
    """Return mean ψ at ε = 10 over the forecast as if nothing were clipped."""
    [cell] = [each for each in sweep.cells if each.values[BUDGET] == max(ENDS)]
    psi = as_float(cell.result.summary["psi_final"]["mean"])
    return np.nan if psi is None else psi / exactly(sweep).at(cell)


def _median(values: Sequence[float]) -> float:
    return float(np.median(values))


def _drop(sweep: Sweep) -> float:
    return _end(0.1, "mean")(sweep) / _end(1.0, "mean")(sweep)


C_OF_LAW = "c of c/(ε n_i)², cells inside the box"

OVER_EXACT = "ψ over the exact forecast, were nothing clipped"
SOUND_OVER_EXACT = Claim(
    f"{OVER_EXACT}, cells in which noise decides",
    lambda sweep: _over(_deciding(sweep), exactly(sweep)), 0.8, 1.25, 1.0, variants=(SOUND,),
)  # fmt: skip

CLAIMS_3: tuple[Claim, ...] = (
    Claim("median ψ before the first update", _start, 0.8, 1.2, 1.0, STARTS_LOWER, ALL),
    *(claim for pair in ENDS.items() for claim in _ends(*pair)),
    Claim("mean ψ at ε = 0.1 over that at ε = 1", _drop, 70, 140, 100.0, variants=NOISY),
    Claim("mean ψ at ε = 0.1 over that at ε = 1", _drop, 70, 140, 100.0, FAR, (SOUND,)),
    Claim(f"{OVER_EXACT}, ε = 10", _end_over_exact, 0.8, 1.25, 1.0, variants=(SOUND,)),
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

CLAIMS_5: tuple[Claim, ...] = (
    Claim(C_OF_LAW, _constant, *CONSTANTS, CONSTANT),
    Claim(C_OF_LAW, _constant, *CONSTANTS, CONSTANT, OTHER_STEP, (AS_WRITTEN,)),
    Claim(
        "c of c/(ε n_i)², cells in which noise decides: (400/1000)² of the published",
        _deciding_constant,
        FEWER * CONSTANTS[0], FEWER * CONSTANTS[1], FEWER * CONSTANT, variants=(SOUND,),
    ),
    SOUND_OVER_EXACT,
    *(
        claim
        for axis, sign in enumerate(("n_i", "ε"))
        for claim in (
            Claim(f"exponent of {sign}, cells inside the box", _slope(axis), *SLOPE, -2.0,
                  variants=NOISY),
            Claim(f"exponent of {sign}, cells inside the box", _slope(axis), *SLOPE, -2.0,
                  FAR, (SOUND,)),
            Claim(f"exponent of {sign}, cells in which noise decides", _deciding_slope(axis),
                  *SLOPE, -2.0, variants=(SOUND,)),
        )
    ),
    Claim("share of cells in which the projection never acts", _free, 0.75, variants=(SOUND,)),
    *PROMISE,
)  # fmt: skip

CLAIMS_6: tuple[Claim, ...] = (
    *(
        Claim(f"exponent of {sign}, {which} of the lines", _line(*axes, one), *SLOPE, -2.0, why, of)
        for sign, axes in (("ε", (BUDGET, RECORDS)), ("n_i", (RECORDS, BUDGET)))
        for which, one, why, of in (
            ("median", _median, "", NOISY),
            ("flattest", max, NOT_LEARNED, NOISY),
            ("median", _median, FAR, (SOUND,)),
        )
    ),
    *PROMISE,
)  # fmt: skip

CLAIMS_7: tuple[Claim, ...] = (
    Claim(
        "number of banks from which bank 1 gains, ε = 10", crossing(PAYS_AT), 3, 7,
        PAYS_ABOVE, ALIKE, ALL,
    ),
    Claim(
        "number of banks from which bank 1 gains, ε = 2.5", crossing(PAYS_AT_TOO), 50, 200,
        PAYS_ABOVE_TOO, f"the paper extrapolates beyond its 64 banks; {ALIKE}", NOISY,
    ),
    SOUND_OVER_EXACT,
    *PROMISE,
)  # fmt: skip
