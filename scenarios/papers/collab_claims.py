"""Claims of Collab's figures in numbers and sentences, measured in sweeps."""

import json
from collections.abc import Callable, Sequence
from math import isfinite

import numpy as np

from analysis.papers.four_cases import Case, cases
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end
from asyncdp_sim.figures.sweeps.psi_lines import series_of
from asyncdp_sim.figures.sweeps.psi_surface import grid
from asyncdp_sim.results import Sweep
from scenarios.papers.claims import SENTENCES, Claim, Measure, Range, Reason, private
from scenarios.papers.exact import flattest, quiet
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, EVERY, SOUND

EPSILON, RECORDS = "privacy.epsilon", "owners.records"
TEXT = (AS_PUBLISHED, AS_WRITTEN)
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
_PROMISE = "share of cells that are private as claimed"
PRIVATE = Claim(
    _PROMISE, private, 1, 1, 1.0, variants=(SOUND,), judges=SENTENCES["ANSWERS_PRIVATE"]
)
PRIVATE_AS_DECLARED = Claim(
    _PROMISE, private, 1, 1, 1.0, DECLARED, judges=SENTENCES["ANSWERS_PRIVATE"]
)
PROMISE = (PRIVATE, PRIVATE_AS_DECLARED)


def psi(epsilon: float) -> Measure:
    """Return what measures mean ψ at the end at one swept ε."""

    def measured(sweep: Sweep) -> float:
        [cell] = [cell for cell in sweep.cells if cell.values[EPSILON] == epsilon]
        return mean_psi_at_end(cell.result).value

    return measured


def at_size(epsilon: float, records: float) -> Measure:
    """Return what measures mean ψ at one ε, taken to n_i = ``records`` by ψ ∝ 1/n_i²."""

    def measured(sweep: Sweep) -> float:
        ours = float(sweep.cells[0].result.scenario["owners"]["records"])
        return psi(epsilon)(sweep) * (ours / records) ** 2

    return measured


def gain(low: float, high: float) -> Measure:
    """Return what measures ψ at the lower of two budgets over ψ at the higher."""
    return lambda sweep: psi(low)(sweep) / psi(high)(sweep)


def over(mine: Sweep, theirs: Sweep) -> float:
    """Return ψ over that of another sweep's cells, the geometric mean."""
    pairs = zip(mine.cells, theirs.cells, strict=True)
    logs = [np.log(mean_psi_at_end(a.result).value / mean_psi_at_end(b.result).value)
            for a, b in pairs]  # fmt: skip
    return float(np.exp(np.mean(logs)))


def slopes(x: str, by: str) -> tuple[Measure, Measure]:
    """Return what measures the least and the largest exponent of ψ in x, over all values of by."""

    def found(sweep: Sweep) -> list[float]:
        every = sorted({float(cell.values[by]) for cell in sweep.cells})
        return [each.slope for each in series_of(sweep, x, by, every)]

    return (lambda sweep: min(found(sweep)), lambda sweep: max(found(sweep)))


def worst_step(sweep: Sweep) -> float:
    """Return the largest ratio of ψ to ψ of a neighbour with less records or a smaller ε."""
    mean = grid(sweep, RECORDS, EPSILON).psi[:, :, 0]
    return float(max((mean[1:] / mean[:-1]).max(), (mean[:, 1:] / mean[:, :-1]).max()))


def slope_claims(
    x: str, by: str, sign: str, sound: Reason, why: Reason | None = None
) -> tuple[Claim, ...]:
    """Return that all exponents in x are −2, or why some are steeper, and Theorem 3's bound."""
    least, largest = slopes(x, by)
    each = f"over all {'n_i' if by == RECORDS else 'ε'}"
    steepest = f"slope of ψ in {sign}, the steepest {each}"
    gentlest = f"slope of ψ in {sign}, the gentlest {each}"
    return (
        Claim(steepest, least, -2.1, -1.9, -2.0, why, of_means=True),
        Claim(gentlest, largest, -2.1, -1.9, -2.0, why, of_means=True),
        Claim(f"slope of ψ in {sign} against Theorem 3's bound, at most", largest, high=-1,
              published=-1.0, of_means=True, judges=SENTENCES["LOANS_IMPROVE"]),
        Claim(steepest, least, -2.1, -1.9, -2.0, sound, (SOUND,)),
        Claim(gentlest, largest, -2.1, -1.9, -2.0, sound, (SOUND,)),
        *PROMISE,
    )  # fmt: skip


def _of(change: Callable[[Sequence[Case]], float]) -> Measure:
    return lambda sweep: change(cases(sweep))


def over_epsilon(case: Case) -> float:
    """Return ψ at the least ε_1 over ψ at the largest, n_1 the largest."""
    return float(case.mean[-1, 0] / case.mean[-1, -1])


def over_records(case: Case) -> float:
    """Return ψ at the least n_1 over ψ at the largest, ε_1 the largest."""
    return float(case.mean[0, -1] / case.mean[-1, -1])


def exponent(case: Case) -> float:
    """Return q of ψ ∝ (√(Σ 1/ε²)/Σ n)^q, least squares of logarithms."""
    law = np.log(case.law.ravel()) / 2
    return float(np.polyfit(law, np.log(case.mean.ravel()), 1)[0])


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


def _best(case: Sequence[Case]) -> float:
    """Return ψ of case (iv) over that of the best other, the most in any cell."""
    return float((case[3].mean / np.min([other.mean for other in case[:3]], axis=0)).max())


def _phenomenal(case: Sequence[Case]) -> float:
    """Return ψ of case (iv) over that of (i), n_1 and ε_1 largest."""
    return float(case[3].mean[-1, -1] / case[0].mean[-1, -1])


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
BEST = "(iv): ψ over the best other case, the most in any cell: best"
PHENOMENAL = "(iv): ψ over that of (i), n_1 and ε_1 largest: phenomenal"
FOUR: tuple[Claim, ...] = (
    Claim("(i): ψ over that of (ii), n_1 and ε_1 largest: no point in small reluctant owners",
          _of(lambda c: c[0].mean[-1, -1] / c[1].mean[-1, -1]), 100, variants=EVERY, of_means=True,
          judges=SENTENCES["NO_POINT"]),
    Claim("(i): ψ at the largest n_1 and ε_1 is still large",
          _of(lambda c: c[0].mean[-1, -1]), 1, of_means=True, judges=SENTENCES["STILL_LARGE"]),
    Claim("(i): ε_1 smallest over largest, n_1 largest: not changed significantly (law: 1.5)",
          _of(lambda c: over_epsilon(c[0])), 1, 2, of_means=True, judges=SENTENCES["NOT_CHANGED"]),
    Claim("(i): q of ψ ∝ (√(200 + 1/ε_1²)/(2000 + n_1))^q, at least 1 by Theorem 3's bound",
          _of(lambda c: exponent(c[0])), 1.0, published=1.0, of_means=True,
          judges=SENTENCES["PROPORTIONAL"]),
    Claim("(i): q of ψ ∝ (√(200 + 1/ε_1²)/(2000 + n_1))^q, by Theorem 2",
          _of(lambda c: exponent(c[0])), 1.9, 2.1, 2.0, of_means=True, judges=SENTENCES["SQUARED"]),
    Claim("(ii): effect of ε_1 over that in (i): more pronounced",
          _of(lambda c: over_epsilon(c[1]) / over_epsilon(c[0])), 10, of_means=True,
          judges=SENTENCES["PRONOUNCED"]),
    Claim("(ii): effect of n_1 over that in (i): more pronounced",
          _of(lambda c: over_records(c[1]) / over_records(c[0])), 1.1, reason=ALIKE, of_means=True,
          judges=SENTENCES["PRONOUNCED"]),
    Claim("(iii): ψ over that of (i), the most in any cell: better",
          _of(lambda c: (c[2].mean / c[0].mean).max()), high=1, of_means=True,
          judges=SENTENCES["THIRD"]),
    Claim("(iii): ε_1 smallest over largest, n_1 largest: similar to (i)",
          _of(lambda c: over_epsilon(c[2])), 1, 2, of_means=True, judges=SENTENCES["THIRD"]),
    Claim(BEST, _of(_best), high=1, variants=TEXT, of_means=True),
    Claim(BEST, _of(_best), high=1, reason=BEST_LEFT, variants=(SOUND,)),
    Claim(PHENOMENAL, _of(_phenomenal), high=1e-3, variants=TEXT, of_means=True),
    Claim(PHENOMENAL, _of(_phenomenal), high=1e-3, reason=PHENOMENAL_LEFT, variants=(SOUND,)),
    Claim("(iv): n_1 smallest over largest, ε_1 largest: little matter",
          _of(lambda c: over_records(c[3])), high=3, of_means=True),
    *PROMISE,
)  # fmt: skip
WITHOUT_CONSIDERATION = Claim(
    "(iv): ε_1 smallest over largest, n_1 largest: little matter",
    _of(lambda c: over_epsilon(c[3])), high=3, reason=SPOILT, of_means=True,
)  # fmt: skip
IDENTICAL = (
    Claim("(iv): ψ at the largest n_1, the smallest ε_1: identical without privacy",
          _of(lambda c: c[3].mean[-1, 0]), high=0.1, reason=SPOILT_END, variants=EVERY,
          judges=SENTENCES["IDENTICAL"]),
    Claim("(iv): ψ at the smallest n_1, the largest ε_1: identical without privacy",
          _of(lambda c: c[3].mean[0, -1]), high=0.1, reason=SMALLER, judges=SENTENCES["IDENTICAL"]),
    Claim("(iv): ψ at the smallest n_1, the largest ε_1: identical without privacy",
          _of(lambda c: c[3].mean[0, -1]), high=0.1, variants=(SOUND,),
          judges=SENTENCES["IDENTICAL"]),
)  # fmt: skip
