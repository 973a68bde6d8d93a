"""Sentences on what joining is worth to every owner."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.may_be_off import MayBeOff
from asyncdp_sim.forecasts.worth.changes import Change
from asyncdp_sim.forecasts.worth.errors import Errors
from asyncdp_sim.forecasts.worth.intervals import HalfWidths, intervals
from asyncdp_sim.words import number

Array = npt.NDArray[np.float64]
MOST = 5
"""Owners of each sort that are told one by one."""
SUBSTITUTE = "These figures use substitute rows; the counts include their uncertainty."
"""What is said where the rows are not the owners' own."""
ANOTHER_STEP = (
    "no larger budget helps by itself, with this step and length; for a larger privacy.epsilon "
    "asyncdp forecast --tune seeks others"
)
"""What is said where noise is not all that keeps owners from gaining."""


def sentences(found: Errors, off: MayBeOff | None = None) -> list[str]:
    """Return who gains, who does worse and by how much; those with the largest difference first.

    Parameters
    ----------
    found : Errors
    off : MayBeOff, optional
        How far they may be off where rows stand in for the owners' own.
    """
    at, known = found.given, intervals(found, off)
    gains, wins, losses = found.gain(at), found.profits(at), found.loses(at)
    order = np.argsort(-gains, kind="stable")
    told = [_count(found), *([] if off is None else [SUBSTITUTE])]
    for who, tell in ((wins, _wins), (losses, _loses), (~(wins | losses), _open)):
        some = [int(i) for i in order if who[i]]
        if who is losses:
            some = some[::-1]
        told += [f"{_versus(found, known, i)}{tell(found, i)}" for i in some[:MOST]]
        more = len(some) - MOST
        told += [f"and {more} more of that kind"] if more > 0 else []
    return told


def change_sentences(found: Errors, changes: Sequence[Change]) -> list[str]:
    """Return what was tried where no owner gains, and who would then; nothing if nothing was."""
    if len(changes) == 0:
        return []
    total = len(found.names)
    vain = [each for each in changes if each.profits == 0 and each.budgets_times is not None]
    rest = [each for each in changes if len(vain) < 2 or each not in vain]
    tried = [f"- {each.words}: {each.profits} of {total} would gain" for each in rest]
    if len(vain) > 1:
        *first, last = [f"{each.budgets_times:g}" for each in vain]
        times = f"{', '.join(first)} and {last}"
        tried.insert(0, f"- budgets {times} times as large: 0 of {total} would gain")
    larger = [each for each in changes if each.budgets_times is not None]
    if len(larger) == len(vain) > 0 and larger[-1].loses > 0:
        tried.append(ANOTHER_STEP)
    return ["no owner gains; tried instead, all else being as it is:", *tried]


def _count(found: Errors) -> str:
    at, total = found.given, len(found.names)
    wins, losses = int(found.profits(at).sum()), int(found.loses(at).sum())
    return (
        f"{_budgets(found)}, {wins} of {total} owners gain by joining, {losses} do worse, "
        f"{total - wins - losses} are undecided ({found.joined.shape[1]} simulated runs)"
    )


def _budgets(found: Errors) -> str:
    finite = sorted({float(e) for e in found.epsilon if np.isfinite(e)})
    if len(finite) == 0:
        return "Without privacy"
    if len(finite) == 1:
        return f"At ε = {number(finite[0])}"
    return f"At ε = {number(finite[0])} to {number(finite[-1])}"


def _wins(found: Errors, owner: int) -> str:
    needed = found.needed(owner)
    known = needed is not None and np.isfinite(needed)
    return f"; it gains from {_from(found, owner)} on" if known else ""


def _loses(found: Errors, owner: int) -> str:
    return f"; {_why(found, owner)}"


def _open(_: Errors, __: int) -> str:
    return ": no difference is shown"


def _from(found: Errors, owner: int) -> str:
    needed = found.needed(owner)
    if needed == 0.0:
        return f"ε = {number(found.factors[0] * float(found.epsilon[owner]))} (the least tried)"
    return f"about ε = {number(needed or 0.0)}"


def _why(found: Errors, owner: int) -> str:
    """Say from which ε on it gains, if any, its records, and what all could reach together."""
    records = f"it has {number(int(found.records[owner]))} records of its own"
    best = f"the best model of all records, without noise, {_reaches(found, owner)}"
    needed = found.needed(owner)
    if needed is not None and np.isfinite(needed):
        return f"it gains from {_from(found, owner)} on ({records})"
    if len(found.factors) == 1:
        return f"{best} ({records})"
    largest = number(found.factors[-1] * float(found.epsilon[owner]))
    return f"it does not gain at any ε up to {largest}; {best} ({records})"


def _versus(found: Errors, known: HalfWidths, owner: int) -> str:
    """Say what an owner's errors are, together and alone, each with its ±."""
    joined, alone = (float(found.joined[found.given][:, owner].mean()), float(found.alone[owner]))
    shares, unit = found.score.more_is_better, f" {found.unit}" if found.unit else ""
    here, there = (_with(value, float(half[owner]), shares) for value, half in
                   ((joined, known.joined), (alone, known.alone)))  # fmt: skip
    told = f"errs by {here}{unit} instead of {there}"
    if shares:
        told = f"is right in {here} instead of {there} of cases"
    if known.alone[owner] == 0:
        return f"{found.names[owner]} {told}"
    more = "more" if joined > alone else "less"
    apart = _with(abs(joined - alone), float(known.gain[owner]), shares)
    return f"{found.names[owner]} {told} ({apart} {more})"


def _with(value: float, half: float, shares: bool) -> str:
    """Return a figure and its ±, if it has one."""
    said = (f"{value:.1%}", f"{half:.1%}") if shares else (_short(value), f"{half:.2g}")
    return said[0] if half == 0 else f"{said[0]} ± {said[1]}"


def _reaches(found: Errors, owner: int) -> str:
    together = float(found.together[owner])
    if found.score.more_is_better:
        return f"would be right in {together:.1%}"
    return f"would err by {_short(together)}"


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else number(value)


def lines(found: Errors, changes: Sequence[Change], off: MayBeOff | None = None) -> Iterator[str]:
    """Yield all of it, and what it assumes.

    Parameters
    ----------
    found : Errors
    changes : sequence of Change
    off : MayBeOff, optional
        How far they may be off where rows stand in for the owners' own.
    """
    yield from sentences(found, off)
    yield from change_sentences(found, changes)
    measure = (
        "the share of labels that are right" if found.score.more_is_better
        else "the root mean square error"
    )  # fmt: skip
    yield (
        f"that is {measure} on rows that each owner keeps apart, of the last model; networks and "
        "noise are the same for all budgets, and alone means the owner's own optimum without noise"
    )
    over = f"over {found.joined.shape[1]} runs"
    if off is not None:
        over += f", {off.uncertain}, and owners' rows drawn anew"
    yield f"± is a 95 % interval of the error that is expected: {over}"


__all__ = ["lines", "sentences"]
