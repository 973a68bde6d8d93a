"""What a paper's figure says in numbers, held against a run of ours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Literal

import numpy as np

from analysis.source import Sweep

Verdict = Literal["agrees", "differs", "fails"]

MOVED = "updates that are another owner's than as published"


@dataclass(frozen=True)
class Claim:
    """A quantity of a figure.

    Attributes
    ----------
    quantity : str
        In words, with the settings at which it stands.
    measure : callable
        Ours, from the sweep that runs the figure, and those of ``beside``.
    low, high : float
        Ours agrees within these, both included.
    published : float, optional
        What was published, or what theory gives where nothing was; None for a mere condition.
    because : str
        Why ours may differ all the same; a claim without such a reason must hold.
    variants : tuple of str
        Of which variants it is a claim.
    beside : tuple of str
        Variants whose sweeps are measured too; where one was not run, neither is the claim judged.
    """

    quantity: str
    measure: Callable[..., float]
    low: float = -inf
    high: float = inf
    published: float | None = None
    because: str = ""
    variants: tuple[str, ...] = ("as-published",)
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict.

    Attributes
    ----------
    figure : str
    variant : str
    quantity : str
    published : float or None
    ours : float
    verdict : str
    because : str
        Empty where it agrees, but of a variant that asks for nothing else than as-published.
    """

    figure: str
    variant: str
    quantity: str
    published: float | None
    ours: float
    verdict: Verdict
    because: str

    @property
    def ratio(self) -> float | None:
        """Ours over what was published; None where there is nothing to divide by."""
        if self.published is None or self.published == 0 or not isfinite(self.ours):
            return None
        return self.ours / self.published


def judge(
    figure: str, variant: str, claims: Sequence[Claim], swept: Mapping[str, Sweep]
) -> list[Judged]:
    """Return the verdicts on a figure's claims of one variant, from sweeps by variant."""
    found = []
    for claim in claims:
        needed = (variant, *claim.beside)
        if variant in claim.variants and all(each in swept for each in needed):
            ours = float(claim.measure(*(swept[each] for each in needed)))
            holds = claim.low <= ours <= claim.high
            excused = claim.because != "" and not isnan(ours)
            verdict: Verdict = "agrees" if holds else "differs" if excused else "fails"
            because = "" if holds else claim.because if excused else _outside(claim)
            told = (claim.quantity, claim.published, ours, verdict, because)
            found.append(Judged(figure, variant, *told))
    return found


def moved(mine: Sweep, theirs: Sweep) -> float:
    """Return how many updates of the first cell are another owner's than in another sweep."""
    ours, others = (
        sweep.cells[0].result.columns("updates", "replicate", "k", "owner")
        for sweep in (mine, theirs)
    )
    if any(a.shape != b.shape for a, b in zip(ours, others, strict=True)):
        return inf
    return float(np.count_nonzero(np.any([a != b for a, b in zip(ours, others, strict=True)], 0)))


def _outside(claim: Claim) -> str:
    return f"must lie within {claim.low:g} and {claim.high:g}"
