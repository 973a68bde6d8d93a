"""Other protocols at the same ε as a table of few lines, and as JSON.

Here ``others`` are objects, and ``contents`` are the same as JSON has them.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from asyncdp_sim.core.words import aligned, figure, interval, known, within
from asyncdp_sim.decision.alternatives import Alternative
from asyncdp_sim.decision.forecast import GainForecast
from asyncdp_sim.sentences import WORDS
from asyncdp_sim.sentences.forecast import gains_content, name_of
from asyncdp_sim.sentences.result import AVERAGE

GIVEN = "as in the scenario"
NONE = "Other protocols  not compared: there is no mean gain to compare"
BETTER, NO_BETTER = "Better protocol", "none is shown at the same ε"
NOTE: list[str] = WORDS["forecast"]["alternatives"]


def lines(gains: GainForecast, others: Sequence[Alternative]) -> list[str]:
    """Return a row for each protocol, and which is better if an interval is above 0."""
    if len(others) == 0:
        return [NONE]
    found, contents = gains_content(gains), as_content(others)
    refused = [f"{other.name}: {other.refused}" for other in others if other.refused is not None]
    who = name_of(gains.owners[0]) if gains.reads == "owner" else AVERAGE
    better = f"{BETTER}  {better_protocol(contents, who, gains.unit)}"
    return [*aligned(protocols(found, contents)), *refused, better, *NOTE]


def protocols(found: Mapping[str, Any], contents: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the header, and a row for each protocol that was judged, the scenario's first.

    Parameters
    ----------
    found : mapping
        The forecast, as JSON has it.
    contents : sequence of mapping
        Other protocols, as JSON has them.
    """
    alone = found["reads"] == "owner"
    unit = f", {found['unit']}" if found["unit"] else ""
    rows = [["protocol", f"{'' if alone else 'mean '}gain{unit}", "more than in the scenario"]]
    rows.append([GIVEN, _with_interval(_gain(found, alone=alone)), ""])
    for other in contents:
        if other["difference"] is not None:
            gain, difference = _gain(other, alone=alone), other["difference"]
            rows.append([_name(other), _with_interval(gain), _with_interval(difference)])
    return rows


def better_protocol(
    contents: Sequence[Mapping[str, Any]], who: str, unit: str | None = None
) -> str:
    """Return which protocol is better, if an interval of a paired difference is above 0.

    Of several such protocols it is the one with the largest difference, by its estimate.

    Parameters
    ----------
    contents : sequence of mapping
        Other protocols, as JSON has them.
    who : str
        The owner that gains, in words.
    unit : str, optional
        The unit of gains.
    """
    judged = [other for other in contents if other["difference"]]
    clear = [other for other in judged if known(other["difference"]["low"]) > 0]
    if len(clear) == 0:
        return NO_BETTER
    best = max(clear, key=lambda other: known(other["difference"]["gain"]))
    more = _with_interval(best["difference"], unit)
    return f"{_name(best)}: {who} gains {more} more at the same ε"


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
    """Return a protocol's name, with δ where its settings have one: its ε holds with that δ."""
    delta = other["settings"].get("privacy", {}).get("delta")
    return other["protocol"] if delta is None else f"{other['protocol']}, δ = {delta:g}"


def _gain(found: Mapping[str, Any], *, alone: bool) -> Mapping[str, Any] | None:
    gain: Mapping[str, Any] | None = found["owners"][0] if alone else found["consortium"]
    return gain


def _with_interval(gain: Mapping[str, Any] | None, unit: str | None = None) -> str:
    """Return a gain, in its unit if that is given, and its interval if it is known."""
    if gain is None:
        return figure(None)
    value, low, high = (known(gain[key]) for key in ("gain", "low", "high"))
    of = f" {unit}" if unit else ""
    ends = f" ({interval(low, high)})" if 0 < high - low < inf else ""
    return f"{within(value, low, high)}{of}{ends}"
