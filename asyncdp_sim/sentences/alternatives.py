"""Other protocols at the same ε as a table of few lines, and as JSON."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from asyncdp_sim.core.words import aligned, figure, interval, number, to_digits
from asyncdp_sim.decision import Estimate
from asyncdp_sim.decision.alternatives import Alternative
from asyncdp_sim.decision.forecast import GainForecast
from asyncdp_sim.sentences.forecast import gains_content, name_of
from asyncdp_sim.sentences.result import AVERAGE

GIVEN = "as in the scenario"
NONE = "Other protocols  not compared: there is no mean gain to compare"
BETTER, NO_BETTER = "Better protocol", "none is shown at the same ε"
NOTE = (
    "95 % intervals, of differences paired by rows and runs. Settings of other protocols are",
    "chosen without private rows; ε of sums is against an observer of sums",
)


def lines(gains: GainForecast, others: Sequence[Alternative]) -> list[str]:
    """Return a row for each protocol, and which is better if an interval is above 0."""
    if len(others) == 0:
        return [NONE]
    unit = f", {gains.unit}" if gains.unit else ""
    rows = [["protocol", f"{'' if gains.reads == 'owner' else 'mean '}gain{unit}", "more than now"]]
    rows.append([GIVEN, _ends(_gain(gains)), ""])
    for other in others:
        if other.gains is not None and other.more is not None:
            rows.append([_name(other), _ends(_gain(other.gains)), _ends(other.more)])
    refused = [f"{other.name}: {other.refused}" for other in others if other.refused is not None]
    who = name_of(gains.owners[0]) if gains.reads == "owner" else AVERAGE
    return [*aligned(rows), *refused, f"{BETTER}  {better(others, who)}", *NOTE]


def better(others: Sequence[Alternative], who: str) -> str:
    """Return which protocol is better, if an interval of a paired difference is above 0."""
    shown = [(other.more, other) for other in others if other.more and other.more.low > 0]
    if len(shown) == 0:
        return NO_BETTER
    more, best = max(shown, key=lambda pair: pair[0].value)
    return f"{best.name}: {who} gains {_ends(more)} more at the same ε"


def as_content(others: Sequence[Alternative]) -> list[dict[str, Any]]:
    """Return other protocols as plain values."""
    content = list[dict[str, Any]]()
    for other in others:
        found = {} if other.gains is None else gains_content(other.gains)
        more = other.more
        ends = None if more is None else {"gain": more.value, "low": more.low, "high": more.high}
        content.append(
            {
                "protocol": other.name,
                "settings": other.settings,
                "refused": other.refused,
                "consortium": found.get("consortium"),
                "owners": found.get("owners", []),
                "difference": ends,
            }
        )
    return content


def _name(other: Alternative) -> str:
    delta = other.settings.get("privacy", {}).get("delta")
    return other.name if delta is None else f"{other.name}, δ = {delta:g}"


def _gain(gains: GainForecast) -> Estimate | None:
    if gains.reads == "owner":
        return gains.owners[0].gain.gain
    return None if gains.together is None else gains.together.gain


def _ends(known: Estimate | None) -> str:
    if known is None:
        return figure(None)
    half = (known.high - known.low) / 2
    if not (isfinite(half) and half > 0):
        return number(known.value)
    return f"{to_digits(known.value, half)} ({interval(known.low, known.high)})"
