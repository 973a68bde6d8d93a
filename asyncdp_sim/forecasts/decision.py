"""The decision that a forecast begins with: who should join, how good, how soon, how sure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from asyncdp_sim.forecasts import Forecast
from asyncdp_sim.forecasts.benefit import FACTORS, Errors, intervals
from asyncdp_sim.forecasts.changes import BEYOND, Change
from asyncdp_sim.units import in_unit
from asyncdp_sim.words import number, numbers

NAMED, LEVERS = 3, 3
"""Owners that are named, and changes that are listed, on the first screen."""
DIVERGED = 1e3
"""Times ψ of the start, or 1: a model without noise beyond that is no slow or biased one."""
UNKNOWN = "not known: this model has no ψ of an owner alone; add --set data.held_out=0.2"
SUBSTITUTE = "substitute rows leave no owner's gain or loss certain"
TO_KNOW = (
    "the owners' own rows: --private (its output is not for release)",
    "more public rows, drawn at random, with the owners' column",
)
"""What would make a forecast from substitute rows certain."""


@dataclass(frozen=True)
class Decision:
    """A decision in words.

    Attributes
    ----------
    decision : str
        Which owners should join.
    break_even : str
        From which ε on.
    how_good, how_soon, privacy, how_sure : str
    would_change_it : tuple of str
        At most three changes, with what they would do.
    gain, do_worse, undecided : tuple of int
        Owners by number.
    """

    decision: str
    break_even: str
    how_good: str
    how_soon: str
    privacy: str
    how_sure: str
    would_change_it: tuple[str, ...]
    gain: tuple[int, ...]
    do_worse: tuple[int, ...]
    undecided: tuple[int, ...]

    def rows(self) -> list[tuple[str, str]]:
        """Return its lines, at most nine, each with its name."""
        names = ["What would change it", *[""] * LEVERS]
        return [
            ("Decision", self.decision),
            ("Break-even ε", self.break_even),
            ("How good", self.how_good),
            ("How soon", self.how_soon),
            ("At what privacy", self.privacy),
            ("How sure", self.how_sure),
            *zip(names, self.would_change_it, strict=False),
        ]


def decide(found: Forecast, changes: Sequence[Change] = ()) -> Decision:
    """Return the decision of a forecast.

    Parameters
    ----------
    found : Forecast
    changes : sequence of Change
        What was tried besides.
    """
    pairs = list(zip(found.participants.numbers, found.verdicts, strict=False))
    return Decision(
        decision=_decision(found),
        break_even=_break_even(found),
        how_good=_how_good(found),
        how_soon=f"after {time_words(found)}",
        privacy=_privacy(found),
        how_sure=_how_sure(found),
        would_change_it=tuple(_levers(found, changes))[:LEVERS],
        gain=tuple(owner for owner, gains in pairs if gains is True),
        do_worse=tuple(owner for owner, gains in pairs if gains is False),
        undecided=tuple(owner for owner, gains in pairs if gains is None),
    )


def time_words(found: Forecast) -> str:
    """Return when the last update is expected, with its ± and unit."""
    half = f" ± {found.time_half_width:.2g}" if found.time_half_width > 0 else ""
    return in_unit(f"{number(found.time)}{half} units", found.time_unit)


def divergence(found: Forecast) -> str | None:
    """Return how ψ grows without noise, where steps are too long; else None."""
    start = float(found.curve[0])
    if found.noise_free <= DIVERGED * max(1.0, start):
        return None
    return f"without noise ψ grows from {number(start)} to {number(found.noise_free)}"


def counts(found: Forecast) -> tuple[int, int, int]:
    """Return how many owners gain, how many do worse, and how many are undecided."""
    gain, worse, undecided = (found.verdicts.count(each) for each in (True, False, None))
    return gain, worse, undecided


def _decision(found: Forecast) -> str:
    (gain, worse, undecided), at = counts(found), _at(found)
    total = gain + worse + undecided
    if total == 0:
        return UNKNOWN
    if undecided == total:
        within = "every difference is within its 95 % interval"
        return f"not known {at}: {within if found.may_be_off is None else SUBSTITUTE}"
    rest = f"{worse} of {total} do worse than alone" + f", {undecided} are undecided" * (
        undecided > 0
    )
    if gain == 0:
        return f"no owner should join {at}: {rest}"
    if gain == total:
        return f"all owners should join {at}: {gain} of {total} gain"
    owners = found.participants
    labels = owners.shown or tuple(f"owner {number}" for number in owners.numbers)
    joining = [label for label, gains in zip(labels, found.verdicts, strict=True) if gains is True]
    names = ", ".join(joining[:NAMED]) + ", …" * (gain > NAMED)
    return f"{gain} of {total} owners should join {at} ({names}); {rest}"


def _budgets(found: Forecast) -> list[float]:
    """Return the finite budgets of the owners."""
    budgets = found.scenario.privacy.epsilons(found.scenario.owners.count).tolist()
    return [each for each in budgets if isfinite(each)]


def _at(found: Forecast) -> str:
    budgets = _budgets(found)
    return f"at ε = {numbers(budgets)}" if len(budgets) > 0 else "without privacy"


def _break_even(found: Forecast) -> str:
    """Return from which ε on owners gain, by the criterion of the decision."""
    every = found.break_even
    some = sorted(each for each in every if each is not None)
    if len(every) == 0 or len(_budgets(found)) == 0:
        return "–"
    if len(some) == 0:
        if found.worth is not None:
            largest = found.worth.factors[-1] * max(_budgets(found))
            return f"none up to ε = {number(largest)}, the largest tried"
        return f"none: without noise ψ is {number(found.noise_free)}, above every owner's alone"
    low = 0.0 if found.worth is None else found.worth.factors[0] * min(_budgets(found))
    first, middle = ("below the least tried" if each < low else number(each)
                     for each in (some[0], some[len(some) // 2]))  # fmt: skip
    without = len(every) - len(some)
    none = f"; {without} of {len(every)} owners have none" if without > 0 else ""
    if len(some) == 1:
        return f"{first} for one owner{none}"
    return f"{first} for the first owner, {middle} for the median one{none}"


def _how_good(found: Forecast) -> str:
    if found.worth is not None:
        return _errors(found, found.worth)
    half = f" ± {found.psi_half_width:.2g}" if found.psi_half_width > 0 else ""
    alone = [owner.alone for owner in found.owners]
    own = f", {number(float(np.median(alone)))} alone (median owner)" if len(alone) > 0 else ""
    return (
        f"excess loss ψ {number(found.psi)}{half} together{own}, "
        f"{number(float(found.curve[0]))} untrained"
    )


def _errors(found: Forecast, worth: Errors) -> str:
    score, half = worth.score, intervals(worth, found.may_be_off).joined
    joined = worth.joined[worth.given].mean(axis=0)
    unit = f" ({worth.unit})" if worth.unit else ""
    values = [float(np.nanmedian(each)) for each in (joined, half, worth.alone, worth.guessing)]
    together, off, alone, guess = (
        f"{value:.1%}" if score.more_is_better else number(value) for value in values
    )
    return (
        f"{score.words}{unit} of the median owner: {together} ± {off} together, {alone} alone, "
        f"{guess} guessing"
    )


def _privacy(found: Forecast) -> str:
    privacy, budgets = found.scenario.privacy, _budgets(found)
    if found.unsound is not None or found.timing is not None:
        return "NO finite ε: --details says why"
    if len(budgets) == 0:
        return "none: nothing is hidden"
    if privacy.noise == "scalar-as-published":
        return "NO finite ε: one draw of noise for all coordinates, as published"
    delta = f", δ = {privacy.stated_delta:g}" if privacy.stated_delta else ""
    against = "" if found.against is None else f", against {found.against}"
    free = found.scenario.owners.count - len(budgets)
    without = f"; none for {free} owners" if free > 0 else ""
    if len(found.scenario.outside_parts) > 0:
        without += "; not shown: this rests on code from outside"
    elif privacy.on_trust:
        without += ", if the declared bound holds"
    return f"ε = {numbers(budgets)}{delta} per owner for the whole run{against}{without}"


def _how_sure(found: Forecast) -> str:
    made = f"{found.worth.joined.shape[1]} simulated runs" if found.worth is not None else None
    if made is None:
        made = "exact moments" if found.psi_half_width == 0 else found.method.split(",")[0]
    off = found.may_be_off
    if off is not None and found.worth is not None:
        return f"± and verdicts include {made} and {off.redraws} redraws of the substitute rows"
    if off is not None:
        return f"by {made}; substitute rows may move ψ by ± {off.psi_half_width:.2g}"
    if made == "exact moments":
        return f"{made}, without ± ({found.moments})"
    return f"verdicts are beyond the 95 % interval of {made} ({found.moments})"


def _levers(found: Forecast, changes: Sequence[Change]) -> Iterator[str]:
    """Yield what would change the decision, the most promising first."""
    gain, worse, undecided = counts(found)
    total = gain + worse + undecided
    grows = divergence(found)
    if grows is not None:
        yield f"a shorter step: {grows}"
    if found.may_be_off is not None and undecided == total > 0:
        yield from TO_KNOW
    if total == 0:
        return
    others = [(each.words, each.profits) for each in changes if each.budgets_times is None]
    tried = [*_budget_lever(found, changes, gain, total), *others]
    tried.sort(key=lambda lever: -abs(lever[1] - gain))
    told = [f"{words}: {would} of {total} owners would gain" for words, would in tried]
    helping = sum(would != gain for _, would in tried)
    yield from told[:helping]
    if found.scenario.algorithm.one_on_one is not None:
        yield "another step, length and cap on answers: --tune seeks them"
    yield from told[helping:]


def _budget_lever(
    found: Forecast, changes: Sequence[Change], gain: int, total: int
) -> list[tuple[str, int]]:
    """Return the nearest budgets at which other owners gain, else the farthest, and how many do."""
    if len(_budgets(found)) == 0:
        return []
    tried = (*FACTORS, *BEYOND) if found.worth is None else found.worth.factors
    would = {factor: found.would_gain(factor) for factor in tried}
    would |= {c.budgets_times: c.profits for c in changes if c.budgets_times is not None}
    larger = sorted(factor for factor in would if factor > 1)
    smaller = sorted((factor for factor in would if factor < 1), reverse=True)
    way = smaller if gain == total else larger
    if len(way) == 0:
        return []
    nearest = next((factor for factor in way if would[factor] != gain), way[-1])
    return [(f"ε {nearest:g} times as large", would[nearest])]


__all__ = ["Decision", "counts", "decide", "divergence", "time_words"]
