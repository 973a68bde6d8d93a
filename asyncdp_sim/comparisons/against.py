"""One result against another: pairing, figures, settings."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from asyncdp_sim.comparisons.contrast import Contrast, contrast, pairs
from asyncdp_sim.comparisons.quantities import Quantity, quantities
from asyncdp_sim.comparisons.settings import OtherSetting, changed
from asyncdp_sim.comparisons.together import together
from asyncdp_sim.measures import Ratio
from asyncdp_sim.results import Result
from asyncdp_sim.words import ranges

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of both results.

    Attributes
    ----------
    quantity : Quantity
    first, second : float
        Means over the replicates compared, or ratios of sums over them; infinite or NaN where a
        replicate's value is.
    contrast : Contrast
        The second less the first.
    """

    quantity: Quantity
    first: float
    second: float
    contrast: Contrast

    @property
    def is_nothing(self) -> bool:
        """Whether it is 0 in every replicate of both, so that the screen can do without it."""
        found = self.contrast
        return self.first == self.second == found.low == found.high == 0

    @property
    def wins(self) -> int | None:
        """Replicates in which the second result is the better; None without pairs."""
        return self.contrast.more if self.quantity.more_is_better else self.contrast.less


@dataclass(frozen=True)
class Against:
    """A result compared with the first one.

    Attributes
    ----------
    result : Result
    name : str
        Of the result, as others are told it.
    common : tuple of int
        The replicates that both have of one seed; empty where replicates are not paired.
    pairing : str
        Why they are paired or not, in words, and which interval that gives.
    rows : tuple of ComparedFigure
        Figures that both have.
    settings : tuple of OtherSetting
        Fields of the scenario that differ.
    together : str
        What publishing both costs.
    """

    result: Result
    name: str
    common: tuple[int, ...]
    pairing: str
    rows: tuple[ComparedFigure, ...]
    settings: tuple[OtherSetting, ...]
    together: str

    @property
    def is_paired(self) -> bool:
        """Whether differences are taken within replicates."""
        return len(self.common) > 0


def against(first: Result, second: Result, name: str) -> Against:
    """Compare a result with the first one; replicates of one seed are pairs."""
    common = _common(first, second)
    rows = (_row(quantity, first, second, common) for quantity in quantities(first, second))
    return Against(
        second,
        name,
        common,
        _pairing(first, second, common),
        tuple(row for row in rows if row is not None),
        tuple(changed(first.scenario, second.scenario)),
        together(first, second),
    )


def _common(first: Result, second: Result) -> tuple[int, ...]:
    if first.manifest["seed"] != second.manifest["seed"]:
        return ()
    theirs = set(second.replicates)
    return tuple(number for number in first.replicates if number in theirs)


def _pairing(first: Result, second: Result, common: tuple[int, ...]) -> str:
    """Say which replicates are compared, and by which interval."""
    seeds = [result.manifest["seed"] for result in (first, second)]
    if len(common) == 0:
        why = f"seeds {seeds[0]} and {seeds[1]}" if seeds[0] != seeds[1] else "other replicates"
        return f"not paired ({why}): 95 % intervals by Welch's t, each figure by itself"
    left = len(set(first.replicates) ^ set(second.replicates))
    more = f", {left} of one result alone left out" if left > 0 else ""
    which = f"replicate{'s' * (len(common) > 1)} {ranges(common)} of seed {seeds[0]}{more}"
    if len(common) == 1:
        return f"paired by replicate ({which}): one pair has no interval"
    return f"paired by replicate ({which}): 95 % intervals by Student's t, each figure by itself"


def _row(
    quantity: Quantity, first: Result, second: Result, common: tuple[int, ...]
) -> ComparedFigure | None:
    """Return a figure of both results; None where one of them lacks it, or no value is known."""
    ours, theirs = quantity.of(first), quantity.of(second)
    if ours is None or theirs is None:
        return None
    (ours, each), (theirs, other) = _values(first, ours, common), _values(second, theirs, common)
    if np.isnan(ours).all() or np.isnan(theirs).all():
        return None
    found = contrast(ours, theirs, in_pairs=len(common) > 0)
    if len(common) > 0:
        found = replace(found, **pairs(each, other))
    return ComparedFigure(quantity, float(ours.mean()), float(theirs.mean()), found)


def _values(result: Result, found: Array | Ratio, common: tuple[int, ...]) -> tuple[Array, Array]:
    """Return what has a figure for its mean, and the figure of each of these replicates.

    Of all of the result, where these are none.
    """
    place = {number: index for index, number in enumerate(result.replicates)}
    some = [place[number] for number in common or result.replicates]
    if isinstance(found, Ratio):
        ratio = Ratio(found.part[some], found.whole[some])
        return ratio.linear(), ratio.by_replicate()
    return found[some], found[some]
