"""Claims of a paper's figure in numbers, held against a run of ours."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from asyncdp_sim.results import Cell, Result, Sweep
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.papers.exact import expected
from scenarios.papers.resampled import Redraws, held, standard_error

Verdict = Literal["agrees", "differs", "fails"]
Measure = Callable[..., float]
Column = npt.NDArray[Any]
Range = tuple[float, float]
"""Both ends included."""

MOVED = "updates that are another owner's than as published"


@dataclass(frozen=True)
class Reason:
    """Reason why ours may differ, and how far that reaches.

    Attributes
    ----------
    says : str
        The cause.
    explains : Range or callable
        Ours differs within it, and fails beyond it; from the sweeps of the claim where it is
        calculated.
    found : str
        How the range was found.
    without : str
        Variant of the figure from which the cause is removed, and where the same quantity is
        claimed without a reason; empty where a calculation or a test of its own removes it.
    """

    says: str
    explains: Range | Callable[..., Range]
    found: str
    without: str = ""

    def reaches(self, swept: Sequence[Sweep]) -> Range:
        """Return the range that is explained."""
        return self.explains(*swept) if callable(self.explains) else self.explains


@dataclass(frozen=True)
class Printed:
    """A statement as its authors printed it.

    Attributes
    ----------
    says : str
        Their words, one sentence at most.
    where : str
        Paper and place.
    """

    says: str
    where: str

    def __str__(self) -> str:
        return f"“{self.says}” ({self.where})"


SENTENCES: Mapping[str, Printed] = {
    name: Printed(says, f"{file}, {place}")
    for file, named in tomllib.loads(
        Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8")
    ).items()
    for name, (place, says) in named.items()
}
OURS = "no sentence: a check of the run itself"


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
    reason : Reason, optional
        Why ours may differ all the same; a claim without one must hold.
    variants : tuple of str
        Of which variants it is a claim.
    beside : tuple of str
        Variants whose sweeps are measured too; where one was not run, neither is the claim judged.
    of_means : bool
        Whether it is about expectations: read from exact moments where these apply, and from runs
        where they do not.
    window : callable, optional
        In the place of ``low`` and ``high``, where they are calculated from the sweeps.
    judges : Printed or str
        The sentence that it judges, where that is not what its figure is held against.
    """

    quantity: str
    measure: Measure
    low: float = -inf
    high: float = inf
    published: float | None = None
    reason: Reason | None = None
    variants: tuple[str, ...] = ("as-published",)
    beside: tuple[str, ...] = ()
    of_means: bool = False
    window: Callable[..., Range] | None = None
    judges: Printed | str = ""

    def agrees_within(self, swept: Sequence[Sweep]) -> Range:
        """Return the range in which ours agrees."""
        return (self.low, self.high) if self.window is None else self.window(*swept)


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
        The reason and its range, or where it must lie; empty where it agrees, but of a variant that
        asks for nothing else than as-published.
    error : float or None
        Standard error of ours over replicates; 0 of exact expectations, None where it is not known.
    within : Range, optional
        Where ours agrees.
    judges : str
        The sentences that are judged, each with the file that has it.
    """

    figure: str
    variant: str
    quantity: str
    published: float | None
    ours: float
    verdict: Verdict
    because: str
    error: float | None = None
    within: Range | None = None
    judges: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours over what was published; None where there is nothing to divide by."""
        if self.published is None or self.published == 0 or not isfinite(self.ours):
            return None
        return self.ours / self.published


def judge(
    figure: str,
    variant: str,
    claims: Sequence[Claim],
    swept: Mapping[str, Sweep],
    printed: Sequence[Printed] = (),
) -> list[Judged]:
    """Return the verdicts on a figure's claims of one variant, from sweeps by variant.

    Claims that name no sentence of their own judge what is ``printed`` of the figure.
    """
    found, kept = [], {name: held(sweep) for name, sweep in swept.items()}
    redraws = Redraws()
    for claim in claims:
        needed = (variant, *claim.beside)
        if variant in claim.variants and all(each in kept for each in needed):
            sweeps = [kept[each] for each in needed]
            ours, error = measured(claim, sweeps, redraws)
            within = claim.agrees_within(sweeps)
            verdict, because = _verdict(claim, ours, within, sweeps)
            judges = str(claim.judges) or "; ".join(map(str, printed))
            told = (claim.quantity, claim.published, ours, verdict, because, error, within, judges)
            found.append(Judged(figure, variant, *told))
    return found


def measured(claim: Claim, swept: Sequence[Sweep], redraws: Redraws) -> tuple[float, float | None]:
    """Return what a claim measures, and its standard error."""
    known = [expected(sweep) for sweep in swept] if claim.of_means else []
    exact = [each for each in known if each is not None]
    if len(exact) == len(swept):
        ours = float(claim.measure(*exact))
        if not isnan(ours):
            return ours, 0.0
    return float(claim.measure(*swept)), standard_error(claim.measure, swept, redraws)


def _verdict(
    claim: Claim, ours: float, within: Range, swept: Sequence[Sweep]
) -> tuple[Verdict, str]:
    low, high = within
    if low <= ours <= high:
        return "agrees", ""
    must = f"must lie within {low:.4g} and {high:.4g}"
    if claim.reason is None or isnan(ours):
        return "fails", must
    least, most = claim.reason.reaches(swept)
    told = f"{claim.reason.says}; explains {least:.4g} to {most:.4g}: {claim.reason.found}"
    if least <= ours <= most:
        return "differs", told
    return "fails", f"{must}, and no reason reaches so far ({told})"


def cell_of(sweep: Sweep, values: Mapping[str, object]) -> Cell:
    """Return the cell of a sweep that has these values, by path."""
    [cell] = [cell for cell in sweep.cells if all(cell.values[p] == v for p, v in values.items())]
    return cell


def result(sweep: Sweep, name: str) -> Result:
    """Return the result of one variant of a sweep."""
    return cell_of(sweep, {VARIANT: name}).result


def moved(mine: Sweep, theirs: Sweep) -> float:
    """Return how many updates of the first cell are another owner's than in another sweep."""
    names = ("updates", "replicate", "k", "owner")
    return unlike(*(sweep.cells[0].result.columns(*names) for sweep in (mine, theirs)))


def unlike(ours: Sequence[Column], others: Sequence[Column]) -> float:
    """Return in how many rows columns differ; infinite where there are more rows of some."""
    pairs = list(zip(ours, others, strict=True))
    if any(a.shape != b.shape for a, b in pairs):
        return inf
    return float(np.count_nonzero(np.any([a != b for a, b in pairs], axis=0)))


def private(sweep: Sweep) -> float:
    """Return the share of cells that are private as claimed."""
    return float(np.mean([cell.result.summary["private"] is True for cell in sweep.cells]))
