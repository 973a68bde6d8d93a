"""What Collab says of its figures in numbers and sentences, measured in sweeps."""

from collections.abc import Callable, Sequence

import numpy as np

from analysis.four_cases import Case, cases
from analysis.markers import series_of
from analysis.outcomes import mean_psi_at_end
from analysis.source import Sweep
from analysis.surface import grid
from scenarios.papers.claims import Claim
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, EVERY, SOUND

EPSILON, RECORDS = "privacy.epsilon", "owners.records"
Measure = Callable[[Sweep], float]
TEXT = (AS_PUBLISHED, AS_WRITTEN)
LEFT_OVER = (
    "with clipped records there is so little noise that, at large ε or n_i, what 100 rounds leave "
    "of the start decides and no longer the noise"
)

HINGE = (
    "the hinge loss is no quadratic: near θ* records at the margin add curvature, which holds "
    "noise down; far off only the regulariser's is left, so on the way ψ falls faster than the "
    "square"
)


def sound(sweep: Sweep) -> float:
    """Return the share of cells that are private as claimed."""
    return float(np.mean([bool(cell.result.summary["private"]) for cell in sweep.cells]))


PRIVATE = Claim("share of cells that are private as claimed", sound, 1, 1, None, "", (SOUND,))


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


def slope_claims(x: str, by: str, sign: str, steeper: str = "") -> tuple[Claim, ...]:
    """Return that all exponents in x are −2, or why some are steeper, and Theorem 3's bound."""
    least, largest = slopes(x, by)
    each = f"over all {'n_i' if by == RECORDS else 'ε'}"
    return (
        Claim(f"slope of ψ in {sign}, the steepest {each}", least, -2.1, -1.9, -2.0, steeper),
        Claim(f"slope of ψ in {sign}, the gentlest {each}", largest, -2.1, -1.9, -2.0),
        Claim(f"slope of ψ in {sign} against Theorem 3's bound, at most", largest, high=-1,
              published=-1.0),
        Claim(f"slope of ψ in {sign}, the gentlest {each}", largest, -2.1, -1.9, -2.0,
              LEFT_OVER, (SOUND,)),
        PRIVATE,
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


BOUND = (
    "it stands beside Theorem 3, an upper bound; the paper's own figures and Theorem 2 have its "
    "square, which ours follows"
)
ALIKE = (
    "noise falls as 1/(Σ n_i)² whatever the budgets are: n_1 changes ψ by the same factor in both "
    "cases, and by more units of ψ in the first"
)
SPOILT = (
    "owner 1's noise adds 1/ε_1² to Σ 1/ε_i², whoever the others are: by Theorem 2 one reluctant "
    "owner costs as much beside eager owners as it does elsewhere"
)


def _best(case: Sequence[Case]) -> float:
    """Return ψ of case (iv) over that of the best other, the most in any cell."""
    return float((case[3].mean / np.min([other.mean for other in case[:3]], axis=0)).max())


def _phenomenal(case: Sequence[Case]) -> float:
    """Return ψ of case (iv) over that of (i), n_1 and ε_1 largest."""
    return float(case[3].mean[-1, -1] / case[0].mean[-1, -1])


BEST = "(iv): ψ over the best other case, the most in any cell: best"
PHENOMENAL = "(iv): ψ over that of (i), n_1 and ε_1 largest: phenomenal"
FOUR: tuple[Claim, ...] = (
    Claim("(i): ψ over that of (ii), n_1 and ε_1 largest: no point in small reluctant owners",
          _of(lambda c: c[0].mean[-1, -1] / c[1].mean[-1, -1]), 100, variants=EVERY),
    Claim("(i): ψ at the largest n_1 and ε_1 is still large",
          _of(lambda c: c[0].mean[-1, -1]), 1),
    Claim("(i): ε_1 smallest over largest, n_1 largest: not changed significantly (law: 1.5)",
          _of(lambda c: over_epsilon(c[0])), 1, 2),
    Claim("(i): q of ψ ∝ (√(200 + 1/ε_1²)/(2000 + n_1))^q, as printed",
          _of(lambda c: exponent(c[0])), 0.9, 1.1, 1.0, BOUND),
    Claim("(i): q of ψ ∝ (√(200 + 1/ε_1²)/(2000 + n_1))^q, by Theorem 2",
          _of(lambda c: exponent(c[0])), 1.9, 2.1, 2.0),
    Claim("(ii): effect of ε_1 over that in (i): more pronounced",
          _of(lambda c: over_epsilon(c[1]) / over_epsilon(c[0])), 10),
    Claim("(ii): effect of n_1 over that in (i): more pronounced",
          _of(lambda c: over_records(c[1]) / over_records(c[0])), 1.1, because=ALIKE),
    Claim("(iii): ψ over that of (i), the most in any cell: better",
          _of(lambda c: (c[2].mean / c[0].mean).max()), high=1),
    Claim("(iii): ε_1 smallest over largest, n_1 largest: similar to (i)",
          _of(lambda c: over_epsilon(c[2])), 1, 2),
    Claim(BEST, _of(_best), high=1, variants=TEXT),
    Claim(BEST, _of(_best), high=1, because=LEFT_OVER, variants=(SOUND,)),
    Claim(PHENOMENAL, _of(_phenomenal), high=1e-3, variants=TEXT),
    Claim(PHENOMENAL, _of(_phenomenal), high=1e-3, because=LEFT_OVER, variants=(SOUND,)),
    Claim("(iv): n_1 smallest over largest, ε_1 largest: little matter",
          _of(lambda c: over_records(c[3])), high=3),
    PRIVATE,
)  # fmt: skip
WITHOUT_CONSIDERATION = Claim(
    "(iv): ε_1 smallest over largest, n_1 largest: little matter",
    _of(lambda c: over_epsilon(c[3])), high=3, because=SPOILT,
)  # fmt: skip
IDENTICAL = (
    Claim("(iv): ψ at the largest n_1, the smallest ε_1: identical without privacy",
          _of(lambda c: c[3].mean[-1, 0]), high=0.1, because=SPOILT, variants=EVERY),
    Claim("(iv): ψ at the smallest n_1, the largest ε_1: identical without privacy",
          _of(lambda c: c[3].mean[0, -1]), high=0.1,
          because="with the largest record gradient as Ξ this takes large tables of 30,000, "
          "and small runs have less"),
    Claim("(iv): ψ at the smallest n_1, the largest ε_1: identical without privacy",
          _of(lambda c: c[3].mean[0, -1]), high=0.1, variants=(SOUND,)),
)  # fmt: skip
