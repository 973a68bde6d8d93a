"""Collab's figures 2 to 6 (interest rates) and 7 to 11 (card frauds), all by Algorithm 2.

The authors' code is not published: ``as-published`` is what the text says of its figures, with Ξ,
c_1 and the start, of which it says nothing, declared in the catalogue. Of the number of updates the
text says two things: captions have T = 100 of them, and so has ``as-published``; Algorithm 2 loops
over k = 1 … T − 1, while its owners pay for T answers, and so does ``as-written``. (Its 1/√T in the
average is then 1/√99, which changes no weight by more than a thousandth of itself.) ``sound``
enforces its bound: it clips record gradients (lending) or scales rows down (frauds).
"""

import json
from collections.abc import Sequence
from math import exp, isfinite, log
from pathlib import Path

import numpy as np

from analysis.papers import by_iteration, grid
from analysis.studies import four_cases
from analysis.studies.four_cases import Case, cases
from analysis.studies.psi_lines import Reference, markers, series_of, surface
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.sweep_figure import mean_psi_at_end
from asyncdp_sim.results import Cell, Sweep
from scenarios.papers.claims import SENTENCES, Range, cell_of
from scenarios.papers.exact import flattest, quiet
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, SOUND, TEXT, Settings, read_figures
from scenarios.papers.replayed import replay_claims, scale_claims

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


DECLARED, CLIP_BOUND = 700.0, 5.0
"""Ξ of figures 2 to 6: chosen for what section I reports; and enforced."""
CLIPPED = f'privacy.sensitivity={{ kind = "clip", bound = {CLIP_BOUND} }}'
ROWS = 'privacy.sensitivity={ kind = "domain", row_norm = 30.0, target_max = 1.0 }'
LOOP = ('privacy.budget={ kind = "per-owner-cap", answers = 100 }', "run.updates=99")
AS_SAID: dict[str, Settings] = {AS_PUBLISHED: (), AS_WRITTEN: LOOP}
LENDING = {**AS_SAID, SOUND: (CLIPPED, "run.replicates=20")}
FRAUD = {**AS_SAID, SOUND: (ROWS,)}
LARGEST, DOMAIN_BOUND = 417.0, 31.0
"""Ξ of figures 7 to 11: the twin's largest record gradient, and that of rows scaled down to 30."""
FRAUD_CURVED = {**FRAUD, BOUNDED: (f"privacy.sensitivity.bound={DOMAIN_BOUND}",)}
FOUR_LENDING = {**AS_SAID, SOUND: (CLIPPED, "run.replicates=8")}
"""Clipped gradients go through every record and not through moments: fewer replicates of them."""


def boxes(sweep: Sweep) -> Sequence[Picture]:
    """Draw figures 2 and 7."""
    lines = [CurveLine(cell.result, cell.label([EPSILON])) for cell in sweep.cells]
    return [by_iteration(lines)]


def theorem_2(sweep: Sweep) -> Reference:
    """Return ψ = C/(ε n_i)², C the geometric mean of ψ (ε n_i)² over all cells."""

    def factor(cell: Cell) -> float:
        return (float(cell.values[RECORDS]) * float(cell.values[EPSILON])) ** 2

    logs = [log(mean_psi_at_end(cell.result).value * factor(cell)) for cell in sweep.cells]
    constant = exp(float(np.mean(logs)))
    rounded = float(f"{constant:.3g}")
    name = f"Theorem 2: {number(rounded)}/(ε n_i)², fitted"
    return Reference(name, "theorem_2", lambda cell: constant / factor(cell))


def surfaces(sweep: Sweep) -> Sequence[Picture]:
    """Draw figures 3 and 8."""
    return [surface(sweep, RECORDS, EPSILON, references=[theorem_2(sweep)])]


def against_epsilon(sweep: Sweep) -> Sequence[Picture]:
    """Draw figures 4 and 9."""
    return [markers(sweep, EPSILON, RECORDS, references=[theorem_2(sweep)])]


def against_records(sweep: Sweep) -> Sequence[Picture]:
    """Draw figures 5 and 10."""
    return [markers(sweep, RECORDS, EPSILON, references=[theorem_2(sweep)])]


def panels(sweep: Sweep) -> Sequence[Picture]:
    """Draw figures 6 and 11."""
    return [four_cases.FIGURE.picture(sweep)]


BY_THE_BOUND = (0.1, 0.1 * (LARGEST / DOMAIN_BOUND) ** 2)
SCALE = SENTENCES["COLLAB_SCALE"]
BOUNDS = {
    "LENDING": dict.fromkeys(TEXT, DECLARED) | {SOUND: CLIP_BOUND},
    "FRAUD": dict.fromkeys(TEXT, LARGEST) | {SOUND: DOMAIN_BOUND},
    "CURVED": dict.fromkeys(TEXT, LARGEST) | dict.fromkeys((SOUND, BOUNDED), DOMAIN_BOUND),
}
SCALES = {f"{name}_SCALE": scale_claims(xi, SCALE) for name, xi in BOUNDS.items()}
RUNS = {f"{name}_RUN": replay_claims(xi) for name, xi in BOUNDS.items()}
FIGURES = read_figures(Path(__file__).with_suffix(".toml"), {**globals(), **SCALES, **RUNS})
"""In the paper's order."""
