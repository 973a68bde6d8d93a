"""Other protocols at the same ε as a table of few lines, and as JSON."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from asyncdp_sim.core.words import aligned, figure, interval, known, number, to_digits
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
    found, content = gains_content(gains), as_content(others)
    refused = [f"{other.name}: {other.refused}" for other in others if other.refused is not None]
    who = name_of(gains.owners[0]) if gains.reads == "owner" else AVERAGE
    better = f"{BETTER}  {better_protocol(content, who)}"
    return [*aligned(protocols(found, content)), *refused, better, *NOTE]


def protocols(found: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each protocol that was judged, the scenario's first; the header before.

    Parameters
    ----------
    found : mapping
        The forecast, as JSON has it.
    others : sequence of mapping
        Other protocols, as JSON has them.
    """
    alone = found["reads"] == "owner"
    unit = f", {found['unit']}" if found["unit"] else ""
    rows = [["protocol", f"{'' if alone else 'mean '}gain{unit}", "more than now"]]
    rows.append([GIVEN, _ends(_gain(found, alone=alone)), ""])
    for other in others:
        if other["difference"] is not None:
            gain = _gain(other, alone=alone)
            rows.append([_name(other), _ends(gain), _ends(other["difference"])])
    return rows


def better_protocol(others: Sequence[Mapping[str, Any]], who: str) -> str:
    """Return which protocol is better, if an interval of a paired difference is above 0."""
    clear = [
        other for other in others if other["difference"] and known(other["difference"]["low"]) > 0
    ]
    if len(clear) == 0:
        return NO_BETTER
    best = max(clear, key=lambda other: known(other["difference"]["gain"]))
    return f"{best['protocol']}: {who} gains {_ends(best['difference'])} more at the same ε"


def as_content(others: Sequence[Alternative]) -> list[dict[str, Any]]:
    """Return other protocols as plain values."""
    content = list[dict[str, Any]]()
    for other in others:
        found = {} if other.gains is None else gains_content(other.gains)
        content.append(
            {
                "protocol": other.name,
                "settings": other.settings,
                "refused": other.refused,
                "consortium": found.get("consortium"),
                "owners": found.get("owners", []),
                "difference": None if other.more is None else other.more.content(),
            }
        )
    return content


def _name(other: Mapping[str, Any]) -> str:
    delta = other["settings"].get("privacy", {}).get("delta")
    return other["protocol"] if delta is None else f"{other['protocol']}, δ = {delta:g}"


def _gain(found: Mapping[str, Any], *, alone: bool) -> Mapping[str, Any] | None:
    gain: Mapping[str, Any] | None = found["owners"][0] if alone else found["consortium"]
    return gain


def _ends(gain: Mapping[str, Any] | None) -> str:
    if gain is None:
        return figure(None)
    value, low, high = (known(gain[key]) for key in ("gain", "low", "high"))
    half = (high - low) / 2
    if not (isfinite(half) and half > 0):
        return number(value)
    return f"{to_digits(value, half)} ({interval(low, high)})"
