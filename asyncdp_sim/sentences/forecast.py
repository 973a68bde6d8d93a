"""A forecast on the screen and as JSON; it begins with the decision.

Other protocols at the same ε follow as a table of few lines: ``others`` are objects, and
``contents`` are the same as JSON has them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from math import inf, isfinite, nan
from typing import Any

import numpy as np

from asyncdp_sim.core.units import ROUNDS, in_unit
from asyncdp_sim.core.words import (
    aligned,
    figure,
    interval,
    known,
    number,
    numbers,
    plus_minus,
    within,
)
from asyncdp_sim.decision import BreakEven, Consortium, Estimate
from asyncdp_sim.decision.forecast import (
    Alike,
    Alternative,
    Forecast,
    GainForecast,
    OwnerGain,
    as_rows,
)
from asyncdp_sim.privacy.guarantee import UNTIMED
from asyncdp_sim.scenario import Scenario, jsonable
from asyncdp_sim.scenario.owners import shown
from asyncdp_sim.sentences import WORDS
from asyncdp_sim.sentences.result import (
    AVERAGE,
    counted,
    errors,
    if_others_left,
    joining,
    named_lines,
    with_ends,
)
from asyncdp_sim.theory.prediction import plain

RELEASE = "uses private data, not for release"
"""Stands wherever a forecast was made from private records."""
DIVERGED = 1e3
"""Multiple of ψ at the start, or of 1: a larger ψ without noise means divergence."""
NOT_ASKED = "not computed"
_WORDS = WORDS["forecast"]


@dataclass(frozen=True)
class Decision:
    """A decision in words.

    Attributes
    ----------
    decision : str
        The verdict, with the gain and its 95 % interval.
    owners : str
        How many owners have each verdict, or why nobody's is known.
    remaining : str
        What those owners gain that gain now, if the others left; "" where that is not computed.
    break_even : str
        From which ε on.
    errors : str
        Mean errors of the models that are compared.
    alike : str
        Whether owners are alike; "" where that is not assumed.
    how_soon, privacy, how_sure : str
    sharing : str
        What of this may be shared; "" where no private record was read.
    warning : str
        "" where there is none.
    """

    decision: str
    owners: str
    remaining: str
    break_even: str
    errors: str
    alike: str
    how_soon: str
    privacy: str
    how_sure: str
    sharing: str
    warning: str

    def rows(self) -> list[tuple[str, str]]:
        """Return its lines, each with its name; without those that are empty."""
        return rows_of(asdict(self))


ROWS: dict[str, str] = WORDS["decision"]
"""Names of the lines of a decision, in their order."""


def rows_of(decision: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the lines of a decision, as JSON has it, each with its name; none that is empty."""
    return [(name, decision.get(key, "")) for key, name in ROWS.items() if decision.get(key)]


def decide(found: Forecast, tried: GainForecast | None = None) -> Decision:
    """Return the decision of a forecast in words; with the budgets that were ``tried``, if any."""
    gains, grows = found.gains if tried is None else tried, divergence(found)
    owns = found.gains is not None and found.gains.reads == "owner"
    return Decision(
        decision=NOT_ASKED if gains is None else verdict(found, gains),
        owners="" if gains is None else _single_owners(gains),
        remaining="" if gains is None or gains.remaining is None else _remaining(gains.remaining),
        break_even="" if gains is None else _break_even_line(gains),
        errors="" if gains is None else errors(vars(gains), gains.score, gains.unit),
        alike="" if gains is None or gains.alike is None else _likeness(gains.alike),
        how_soon=f"after {time_words(found)}" + " (rounds of answers)" * found.rounds,
        privacy=_privacy(found, 1.0 if gains is None else gains.factor),
        how_sure=_how_sure(found),
        sharing=_WORDS["share"] if owns else "" if found.release else RELEASE,
        warning="" if grows is None else f"take shorter steps: {grows}",
    )


def verdict(found: Forecast, gains: GainForecast) -> str:
    """Return the verdict on the mean owner, or on the one that asks, as a sentence."""
    content, least = gains_content(gains), "at least " if gains.at_least else ""
    no_better = min(gains.joint, gains.adapted) >= gains.guessing  # NaN without rows that judge
    condition = "the joint model is no better than guessing; " if no_better else ""
    if gains.reads == "owner":
        [owner] = gains.owners
        [gain], subject = content["owners"], name_of(owner)
    elif gains.together is None:
        differ = gains.alike is not None and gains.alike.known == "differ"
        return str(_WORDS["differ"]) if differ else "not known: no owner has rows to be judged on"
    else:
        gain, subject = content["consortium"], AVERAGE
        condition += "" if gains.alike is None else "if owners are alike, "
    least *= gain["low"] > 0
    return condition + joining(gain, gains.unit, _budgets(found, gains.factor), subject, least)


def _single_owners(gains: GainForecast) -> str:
    if gains.reads == "owner":
        mine = gains.owners[0].gain
        if len(mine.by_run) == 0:
            return ""
        rows = mine.rows_to_decide
        text = f"gains in {mine.better_in} of {len(mine.by_run)} simulated runs"
        return (
            text if rows is None else f"{text}; about {rows:,} rows would decide, not {mine.rows:,}"
        )
    if len(gains.owners) == 0:
        return str(_WORDS["alone"])
    some = "" if len(gains.owners) == gains.count else f" (of {gains.count}, evenly spaced)"
    return counted(gains.counts(), f"{len(gains.owners)}{some}")


def _remaining(gains: GainForecast) -> str:
    """Return what owners gain if they alone join."""
    mean = Estimate(nan) if gains.together is None else gains.together.gain
    return if_others_left(gains.counts(), mean.content(), gains.unit)


def _break_even_line(gains: GainForecast) -> str:
    """Return from which ε on the average owner, or the one that asks, gains."""
    known, budgets, subject = gains.break_even, gains.budgets, AVERAGE
    if gains.reads == "owner":
        known, subject = gains.owners[0].break_even, name_of(gains.owners[0])
    unknown = gains.together is None and gains.reads != "owner"
    if len(budgets) < 2 or unknown or not isfinite(gains.own):
        return ""
    if known is None:
        return f"none up to ε = {number(budgets[-1])}, the largest tried"
    ends = f"({number(known.low)} to {number(known.high)})" if known.low != 0 else "or less"
    return f"from ε = {number(known.value)} {ends} on, {subject} gains"


def _likeness(alike: Alike) -> str:
    """Return whether owners are alike, in words."""
    if alike.rows_per_owner == 0:
        return "not known: no public row names its owner"
    figures = f"τ² = {plus_minus(alike.variance, alike.half_width)} between owners"
    if alike.known == "differ":
        return f"no: {figures}, from {number(alike.rows_per_owner)} public rows per owner"
    if alike.known == "unknown":
        return (
            f"not known: {number(alike.rows_per_owner)} public rows per owner are too few; about "
            "as many as own rows are needed"
        )
    return f"no difference shown: {figures}"


def _how_sure(found: Forecast) -> str:
    gains = found.gains
    if gains is None:
        return f"by {found.method} ({found.data})"
    return f"95 % intervals over {gains.judged_on}, and over {gains.runs} simulated runs"


def name_of(owner: OwnerGain) -> str:
    """Return an owner's name, or its number."""
    return f"owner {owner.owner}" if owner.name is None else shown([owner.name])[0]


MOST = 20
"""Owners that the screen shows; JSON has all."""


def first_screen(found: Forecast) -> list[str]:
    """Return the decision, and at most 20 owners, a row each."""
    texts = named_lines(decide(found).rows())
    if found.gains is not None and len(found.gains.owners) > 1:
        header, *rows = owners(gains_content(found.gains)["owners"])
        texts += ["", *aligned([header, *rows[:MOST]])]
        texts += [f"and {len(rows) - MOST} more; --json has all of them"] * (len(rows) > MOST)
    return texts


def lines(found: Forecast) -> list[str]:
    """Return the first screen, then all figures and the meaning of columns."""
    texts = first_screen(found)
    if found.gains is not None and len(found.gains.owners) > 1:
        texts += _WORDS["owners"][: 1 + any(owner.break_even for owner in found.gains.owners)]
    texts += ["", *named_lines(figures(found))]
    if len(found.observers) > 0:
        texts += [*aligned(as_rows(found.observers)), *_WORDS["observers"]]
    return texts


def owners(listed: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each owner, the largest gain first, as texts; the header first.

    Parameters
    ----------
    listed : sequence of mapping
        As JSON has them.
    """
    several = len({owner["epsilon"] for owner in listed}) > 1
    levels = any(owner["break_even"] is not None for owner in listed)
    keys = ["records", *["epsilon"] * several, "own", "joint", "adapted"]
    ends = ["gain", "low", "high"]
    heads = ["owner", *({"epsilon": "ε", "own": "own error"}.get(key, key) for key in keys)]
    table = [[*heads, *ends, "verdict", *["break-even"] * levels]]
    for name, owner, half in _by_gain(listed):
        level = None if owner["break_even"] is None else owner["break_even"]["value"]
        values = [known(owner[key]) for key in ends]
        gain = [within(value, *values[1:]) if half > 0 else figure(value) for value in values]
        texts = [name, *(figure(owner[key]) for key in keys), *gain, owner["verdict"]]
        table.append(texts + [figure(level)] * levels)
    return table


BESIDE: str = _WORDS["beside"]
"""Meaning of the columns of :func:`beside`."""


def beside(listed: Sequence[Mapping[str, Any]], unit: str | None) -> list[list[str]]:
    """Return each owner's errors alone and together, and their difference, the largest first.

    Parameters
    ----------
    listed : sequence of mapping
        As JSON has them.
    unit : str or None
        Of the errors.
    """
    of = f" ({unit})" if unit else ""
    table = [["owner", "records", f"alone{of}", f"together{of}", f"difference{of}", "verdict"]]
    for name, owner, half in _by_gain(listed):
        errors = [figure(owner[key]) for key in ("records", "own", "adapted")]
        table.append([name, *errors, plus_minus(known(owner["gain"]), half), owner["verdict"]])
    return table


def _by_gain(listed: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any], float]]:
    """Yield each owner's name, what JSON has of it, and half of its interval, best gain first."""
    names = shown([owner["name"] or str(owner["owner"]) for owner in listed])
    pairs = zip(names, listed, strict=True)
    for name, owner in sorted(pairs, key=lambda pair: -known(pair[1]["gain"], 0.0)):
        yield name, owner, (known(owner["high"]) - known(owner["low"])) / 2


def figures(found: Forecast) -> list[tuple[str, str]]:
    """Return the figures of the forecast in words, each with its name."""
    unit = found.time_unit
    quantiles = (figure(found.quantiles[level]) for level in (0.05, 0.5, 0.95))
    grows, without = divergence(found), figure(found.noise_free)
    rows = [
        ("expected ψ", plus_minus(found.psi, found.psi_half_width)),
        *([] if grows is None else [("diverges", f"{grows}: take shorter steps")]),
        ("ψ, 5–50–95 %", " … ".join(quantiles)),
        ("cost of privacy", f"{figure(found.cost_of_privacy)} of ψ; {without} without noise"),
        ("time", time_words(found)),
        *([("time unit", ROUNDS)] if found.rounds else []),
        *_pace(found),
    ]
    if found.target is not None:
        when = "never in this run"
        if found.target_time is not None:
            when = in_unit(f"{figure(found.target_time)} units", unit)
        rows += [
            (f"until ψ = {found.target:g}", f"{when} (when the expected ψ first reaches it)"),
            (f"P(ψ ≤ {found.target:g})", figure(found.target_probability)),
        ]
    if found.energy is not None:
        rows.append(("energy", found.energy.describe()))
    rows += _of_gains(found.gains)
    if len(found.alone) > 0:
        fits = int(np.sum(found.alone > found.psi))
        fit = f"for {fits} of {len(found.alone)} owners the joint model fits all records better"
        rows.append(("fit to all records", fit))
    timing = None if found.timing is None else f"{UNTIMED}{found.timing}"
    breaks = [("because", why) for why in (found.unsound, timing) if why is not None]
    if len(breaks) > 0:
        rows += [("private", "NO (no finite ε)"), *breaks]
    if found.against is not None:
        rows.append(("ε is against", found.against))
    if found.known_after:
        rows.append(("ε spent", "below, against an observer of every answer: never less"))
    return [
        *rows,
        ("method", found.method),
        ("data", found.data + ("" if found.release else f": {RELEASE}")),
    ]


def _of_gains(gains: GainForecast | None) -> Iterator[tuple[str, str]]:
    """Yield what the first screen leaves out of a mean gain."""
    if gains is None or gains.together is None:
        return
    mean = gains.together
    weighted = with_ends(mean.by_records.content(), gains.unit)
    yield "weighted by n_i", f"{weighted}: {mean.verdict_by_records}"
    yield "assumes", f"all {gains.count} owners join, with these ε"
    yield "material", f"{100 * gains.material:g} % of the own error"


def time_words(found: Forecast) -> str:
    """Return the expected time of the last update, with its ± and unit."""
    return in_unit(f"{plus_minus(found.time, found.time_half_width)} units", found.time_unit)


def divergence(found: Forecast) -> str | None:
    """Return the growth of ψ without noise if steps are too long; else None."""
    start = float(found.curve[0])
    if found.noise_free <= DIVERGED * max(1.0, start):
        return None
    return f"without noise ψ grows from {number(start)} to {number(found.noise_free)}"


def _budgets(found: Forecast, factor: float = 1.0) -> list[float]:
    """Return the finite budgets of the owners, times a factor."""
    budgets = found.scenario.privacy.epsilons(found.scenario.owners.count).tolist()
    return [factor * budget for budget in budgets if isfinite(budget)]


def _privacy(found: Forecast, factor: float) -> str:
    privacy, budgets = found.scenario.privacy, _budgets(found, factor)
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
    hidden = f", {privacy.change}" if privacy.per_owner else ""
    return f"ε = {numbers(budgets)}{delta} per owner for the whole run{hidden}{against}{without}"


def _pace(found: Forecast) -> list[tuple[str, str]]:
    """Return the limits of updates per time unit, if no formula gives a single value."""
    if found.throughput is None or found.throughput.between is None:
        return []
    low, high = map(figure, found.throughput.between)
    text = f"{low} to {high}, whatever the laws of the times; no single value, because"
    name = in_unit("updates per unit", found.time_unit)
    return [(name, f"{text} {plain(found.throughput.reason)}")]


def as_json(found: Forecast, alternatives: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the forecast, and other protocols, as JSON; infinite is the text "inf"."""
    raw = _fields_of(found)
    for internal in ("scenario", "participants", "gains"):
        del raw[internal]
    raw = {"decision": asdict(decide(found)), **raw, "owners": []}
    if found.gains is not None:
        raw |= gains_content(found.gains)
        pairs = zip(found.gains.tried, found.gains.budgets, strict=False)
        raw["budgets"] = [_with_budget(found, *pair) for pair in pairs]
    raw["alternatives"] = list(alternatives)
    if found.against is None:  # as before scenarios could name an observer
        del raw["against"], raw["known_after"]
    for key in ("rounds", "observers", "energy", "throughput", "time_unit"):
        if raw[key] in (None, False, ()):
            del raw[key]
    raw["cost_of_privacy"] = found.cost_of_privacy
    raw["quantiles"] = {f"{level:g}": value for level, value in found.quantiles.items()}
    raw["label"] = "no private record was read" if found.release else RELEASE
    return json_text(raw)


def _with_budget(found: Forecast, gains: GainForecast, epsilon: float) -> dict[str, Any]:
    """Return what replaces keys of a forecast if budgets are ``gains.factor`` times as large."""
    content = gains_content(gains)
    return {
        "factor": gains.factor,
        "epsilon": epsilon,
        "decision": asdict(decide(found, gains)),
        "consortium": content["consortium"],
        "owners": content["owners"],
    }


def gains_content(gains: GainForecast) -> dict[str, Any]:
    """Return gains as plain values; keys as in the manifest of a run."""
    return {
        "score": gains.score,
        "unit": gains.unit,
        "consortium": None if gains.together is None else _consortium(gains, gains.together),
        "owners": [_owner(owner) for owner in gains.owners],
        "break_even": _fields(gains.break_even),
        "reads": gains.reads,
        "release": gains.release,
        "alike": _fields(gains.alike),
        "judged_on": gains.judged_on,
        "material": gains.material,
        "remaining": None if gains.remaining is None else gains_content(gains.remaining),
    }


def _consortium(gains: GainForecast, mean: Consortium) -> dict[str, Any]:
    return {
        **mean.content(),
        "assumes": f"all {gains.count} owners join, with these ε",
        **{name: getattr(gains, name) for name in (*WORDS["errors"], "at_least")},
    }


def _owner(owner: OwnerGain) -> dict[str, Any]:
    return {
        "owner": owner.owner,
        "name": owner.name,
        "epsilon": owner.epsilon,
        **owner.gain.content(),
        "better_in": owner.gain.better_in,
        "runs": len(owner.gain.by_run),
        "break_even": _fields(owner.break_even),
    }


def _fields(part: BreakEven | Alike | None) -> dict[str, Any] | None:
    return None if part is None else asdict(part)


def json_text(content: Any) -> str:
    """Return content as JSON in which control characters in names from a table are escaped."""
    text = json.dumps(plain_values(content), ensure_ascii=False, indent=1)
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
        for letter in text
    )


def _fields_of(found: Any) -> dict[str, Any]:
    """Return the fields of a record, or what it says of itself."""
    if hasattr(found, "content"):
        return dict(found.content())
    return {field.name: getattr(found, field.name) for field in fields(found)}


def plain_values(value: Any) -> Any:
    """Return a value as JSON holds it, as :func:`asyncdp_sim.scenario.jsonable` does plain ones."""
    if isinstance(value, Scenario):
        return value.plain()
    if is_dataclass(value):
        return plain_values(_fields_of(value))
    if isinstance(value, dict):
        return {key: plain_values(inner) for key, inner in value.items()}
    if hasattr(value, "tolist"):
        return plain_values(value.tolist())
    if isinstance(value, list | tuple):
        return [plain_values(inner) for inner in value]
    return jsonable(value)


AS_IN_SCENARIO = "as in the scenario"
NOT_COMPARED = "Other protocols  not compared: there is no mean gain to compare"
BETTER, NO_BETTER = "Better protocol", "none is shown at the same ε"
NOTE_OF_OTHERS: list[str] = WORDS["forecast"]["alternatives"]


def lines_of_others(gains: GainForecast, others: Sequence[Alternative]) -> list[str]:
    """Return a row for each protocol, and which is better if an interval is above 0."""
    if len(others) == 0:
        return [NOT_COMPARED]
    found, contents = gains_content(gains), content_of_others(others)
    refused = [f"{other.name}: {other.refused}" for other in others if other.refused is not None]
    who = name_of(gains.owners[0]) if gains.reads == "owner" else AVERAGE
    better = f"{BETTER}  {better_protocol(contents, who, gains.unit)}"
    return [*aligned(protocols(found, contents)), *refused, better, *NOTE_OF_OTHERS]


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
    rows.append([AS_IN_SCENARIO, _with_interval(_gain_of(found, alone=alone)), ""])
    for other in contents:
        if other["difference"] is not None:
            gain, difference = _gain_of(other, alone=alone), other["difference"]
            rows.append([_protocol_name(other), _with_interval(gain), _with_interval(difference)])
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
    return f"{_protocol_name(best)}: {who} gains {more} more at the same ε"


def content_of_others(others: Sequence[Alternative]) -> list[dict[str, Any]]:
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


def _protocol_name(other: Mapping[str, Any]) -> str:
    """Return a protocol's name, with δ where its settings have one: its ε holds with that δ."""
    delta = other["settings"].get("privacy", {}).get("delta")
    return other["protocol"] if delta is None else f"{other['protocol']}, δ = {delta:g}"


def _gain_of(found: Mapping[str, Any], *, alone: bool) -> Mapping[str, Any] | None:
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
