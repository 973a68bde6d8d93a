"""A forecast on the screen and as JSON; it begins with the decision."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from math import isfinite
from typing import Any

import numpy as np

from asyncdp_sim.core.units import ROUNDS, in_unit
from asyncdp_sim.core.words import aligned, figure, number, numbers
from asyncdp_sim.decision import BreakEven, Consortium, Estimate, Gain, Verdict
from asyncdp_sim.forecasts import Forecast
from asyncdp_sim.forecasts.advice.contest import Played
from asyncdp_sim.forecasts.by_observer import as_rows
from asyncdp_sim.forecasts.gains import Alike, GainForecast, OwnerGain
from asyncdp_sim.forecasts.population import RELEASE
from asyncdp_sim.privacy.label import UNTIMED
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.owners import shown
from asyncdp_sim.theory.predict.plain import plain

DIVERGED = 1e3
"""Multiple of ψ at the start, or of 1: a larger ψ without noise means divergence."""
NOT_ASKED = "not computed"
ALONE = (
    "not known: public rows decide for no single owner. On an owner's machine: "
    'asyncdp forecast FILE --as "NAME"'
)
"""What public rows say of single owners."""
OTHERS = " (other owners' gains are not known: their rows were not read)"
DIFFER = (
    "no verdict: the public rows show that owners differ, so that the mean of substitutes is not "
    "the owners' mean"
)
SHARE = (
    "share only whether you join. The privacy of the run covers neither this output nor an ε "
    "chosen from it: choose ε from public rows"
)
MEAN = {
    Verdict.GAINS: "the average owner gains by joining",
    Verdict.WORSE: "the average owner does worse by joining",
    Verdict.NO_DIFFERENCE: "joining makes no material difference for the average owner",
    Verdict.UNDECIDED: "undecided for the average owner",
}
ONE = {
    Verdict.GAINS: "{} gains by joining",
    Verdict.WORSE: "{} does worse by joining",
    Verdict.NO_DIFFERENCE: "joining makes no material difference for {}",
    Verdict.UNDECIDED: "undecided for {}",
}
"""Verdicts as sentences."""


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
        every = [
            ("Decision", self.decision),
            ("Warning", self.warning),
            ("Single owners", self.owners),
            ("If others left", self.remaining),
            ("Owners alike?", self.alike),
            ("Break-even ε", self.break_even),
            ("Mean error", self.errors),
            ("How soon", self.how_soon),
            ("At what privacy", self.privacy),
            ("How sure", self.how_sure),
            ("Sharing", self.sharing),
        ]
        return [(name, text) for name, text in every if text != ""]


def decide(found: Forecast) -> Decision:
    """Return the decision of a forecast in words."""
    gains, grows = found.gains, divergence(found)
    return Decision(
        decision=NOT_ASKED if gains is None else verdict(found, gains),
        owners="" if gains is None else _single_owners(gains),
        remaining="" if gains is None or gains.remaining is None else _remaining(gains.remaining),
        break_even="" if gains is None else _break_even_line(gains),
        errors="" if gains is None else _errors(gains),
        alike="" if gains is None or gains.alike is None else _alike(gains.alike),
        how_soon=f"after {time_words(found)}" + " (rounds of answers)" * found.rounds,
        privacy=_privacy(found),
        how_sure=_how_sure(found),
        sharing=_sharing(found),
        warning="" if grows is None else f"take shorter steps: {grows}",
    )


def verdict(found: Forecast, gains: GainForecast) -> str:
    """Return the verdict on the mean owner, or on the one that asks, as a sentence."""
    if gains.reads == "owner":
        [owner] = gains.owners
        name, gain = _name(owner), owner.gain
        start = ONE[gain.verdict].format(name) + f" {_at(found)}"
        return f"{_guessing(gain.better_than_guessing)}{start}: {_gain(gains, gain.gain, gain.own)}"
    if gains.together is None:
        differ = gains.alike is not None and gains.alike.known == "differ"
        return DIFFER if differ else "not known: no owner has rows to be judged on"
    mean = gains.together
    condition = ""
    if gains.alike is not None:
        condition = "if owners are alike, "
    better = min(gains.joint, gains.adapted) < gains.guessing
    text = f"{condition}{MEAN[mean.verdict]} {_at(found)}"
    return f"{_guessing(better)}{text}: {_gain(gains, mean.gain, gains.own)}"


def _guessing(better: bool) -> str:
    return "" if better else "the joint model is no better than guessing; "


def _gain(gains: GainForecast, gain: Estimate, own: float) -> str:
    """Return a gain with its interval, in its unit and as a share of the own error."""
    if not isfinite(gain.value):
        return "no rows to be judged on"
    least = "at least " if gains.at_least and gain.low > 0 else ""
    percent = round(100 * gain.value / own) if own > 0 else 0
    share = f", {percent}% of its own error" if percent != 0 else ""
    return f"gain {least}{number(gain.value)}{_unit(gains)} ({_interval(gain)}){share}"


def _interval(gain: Estimate) -> str:
    if not isfinite(gain.half_width):
        return "95 % interval unknown"
    return f"95 % interval {number(gain.low)} to {number(gain.high)}"


def _unit(gains: GainForecast) -> str:
    return f" {gains.unit}" if gains.unit else ""


def _single_owners(gains: GainForecast) -> str:
    if gains.reads == "owner":
        gain = gains.owners[0].gain
        rows = gain.rows_to_decide
        text = f"gains in {gain.better_in} of {len(gain.by_run)} simulated runs{OTHERS}"
        return (
            text if rows is None else f"{text}; about {rows:,} rows would decide, not {gain.rows}"
        )
    if len(gains.owners) == 0:
        return ALONE
    some = "" if len(gains.owners) == gains.count else f" (of {gains.count}, evenly spaced)"
    return f"{len(gains.owners)}{some}: {_counts(gains)}"


def _counts(gains: GainForecast) -> str:
    counts = gains.counts()
    return (
        f"{counts['gains']} gain, {counts['does worse']} do worse, "
        f"{counts['no material difference']} no material difference, "
        f"{counts['undecided']} undecided"
    )


def _remaining(gains: GainForecast) -> str:
    """Return what owners gain if they alone join."""
    mean = "" if gains.together is None else _gain(gains, gains.together.gain, gains.own)
    return f"{gains.count} owners that gain, by themselves: mean {mean}; {_counts(gains)}"


def _break_even_line(gains: GainForecast) -> str:
    """Return from which ε on the average owner, or the one that asks, gains."""
    known, budgets = gains.break_even, gains.budgets
    who = "the average owner"
    if gains.reads == "owner":
        known, who = gains.owners[0].break_even, _name(gains.owners[0])
    if len(budgets) < 2 or (gains.together is None and gains.reads != "owner"):
        return ""
    if known is None:
        return f"none up to ε = {number(budgets[-1])}, the largest tried"
    return f"from ε = {_level(known)} on, {who} gains"


def _level(level: BreakEven) -> str:
    if level.low == 0:
        return f"{number(level.value)} or less"
    return f"{number(level.value)} ({number(level.low)} to {number(level.high)})"


def _errors(gains: GainForecast) -> str:
    values = [(gains.own, "own model"), (gains.joint, "joint model")]
    values += [(gains.adapted, "adapted"), (gains.guessing, "guessing")]
    texts = ", ".join(f"{number(value)} {name}" for value, name in values)
    return f"{texts} ({gains.score}{f', {gains.unit}' if gains.unit else ''})"


def _alike(alike: Alike) -> str:
    """Return whether owners are alike, in words."""
    if alike.rows_per_owner == 0:
        return "not known: no public row names its owner"
    figures = f"τ² = {alike.variance:.3g} ± {alike.half_width:.2g} between owners"
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


def _sharing(found: Forecast) -> str:
    if found.gains is not None and found.gains.reads == "owner":
        return SHARE
    return RELEASE if found.not_for_release else ""


def _name(owner: OwnerGain) -> str:
    return f"owner {owner.owner}" if owner.name is None else shown([owner.name])[0]


MOST = 20
"""Owners that the screen shows; JSON has all."""
_MEANING = (
    "gain: own error minus that of the joint model, as it is or adapted to the owner's rows, on "
    "rows that no model has seen; low, high: its 95 % interval;",
    "break-even: the smallest ε from which on an owner gains (all owners' ε scaled alike)",
)
"""What the columns of the owners' table mean, below it."""
_OBSERVED = (
    "at most: largest ε of an owner, from one simulated network; at least: from one pair of data;",
    "noise: the share of it that suffices against this observer alone; ψ then, ψ alone above: with",
    "that noise. Except for sums, budgets are divided against an observer of all answers",
)
"""Meaning of the columns of the observers' table, printed below it."""


def decision_lines(decision: Decision) -> list[str]:
    """Return a decision as lines, each with its name."""
    rows = decision.rows()
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def first_screen(found: Forecast) -> list[str]:
    """Return the decision, and at most 20 owners, a row each."""
    texts = decision_lines(decide(found))
    if found.gains is not None and len(found.gains.owners) > 1:
        more = len(found.gains.owners) - MOST
        texts += ["", *aligned(owners(found.gains))]
        texts += [f"and {more} more; --json has all of them"] if more > 0 else []
    return texts


def lines(found: Forecast) -> list[str]:
    """Return the first screen, then all figures and the meaning of columns."""
    rows = figures(found)
    width = max(len(name) for name, _ in rows)
    texts = first_screen(found)
    if found.gains is not None and len(found.gains.owners) > 1:
        texts += _MEANING
    texts += ["", *(f"{name:<{width}}  {value}" for name, value in rows)]
    if len(found.observers) > 0:
        texts += [*aligned(as_rows(found.observers)), *_OBSERVED]
    return texts


def owners(gains: GainForecast) -> list[list[str]]:
    """Return a row for each owner, the largest gain first, as texts; the header first."""
    budgets = {owner.epsilon for owner in gains.owners}
    names = shown([owner.name or str(owner.owner) for owner in gains.owners])
    pairs = zip(gains.owners, names, strict=True)
    ordered = sorted(pairs, key=lambda pair: -np.nan_to_num(pair[0].gain.gain.value))
    heads = ["owner", "records", *["ε"] * (len(budgets) > 1), "own error", "joint", "adapted"]
    levels = len(gains.budgets) > 1
    table = [[*heads, "gain", "low", "high", "verdict", *["break-even"] * levels]]
    for owner, name in ordered[:MOST]:
        gain = owner.gain
        level = "–" if owner.break_even is None else figure(owner.break_even.value)
        table.append(
            [
                name,
                str(gain.records),
                *[figure(owner.epsilon)] * (len(budgets) > 1),
                *(figure(value) for value in (gain.own, gain.joint, gain.adapted)),
                *(figure(value) for value in (gain.gain.value, gain.gain.low, gain.gain.high)),
                str(gain.verdict),
                *[level] * levels,
            ]
        )
    return table


def figures(found: Forecast) -> list[tuple[str, str]]:
    """Return the figures of the forecast in words, each with its name."""
    unit = found.time_unit
    low, middle, high = (found.quantiles[level] for level in (0.05, 0.5, 0.95))
    rows = [
        ("expected ψ", f"{figure(found.psi)}{_half(found.psi_half_width)}"),
        *_divergence(found),
        ("ψ, 5–50–95 %", f"{figure(low)} … {figure(middle)} … {figure(high)}"),
        (
            "cost of privacy",
            f"{figure(found.cost_of_privacy)} of ψ; {figure(found.noise_free)} without noise",
        ),
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
    breaks = [] if found.unsound is None else [found.unsound]
    breaks += [] if found.timing is None else [f"{UNTIMED}{found.timing}"]
    if len(breaks) > 0:
        rows += [("private", "NO (no finite ε)"), *(("because", why) for why in breaks)]
    if found.against is not None:
        rows.append(("ε is against", found.against))
    if found.known_after:
        rows.append(("ε spent", "below, against an observer of every answer: never less"))
    return [
        *rows,
        ("method", found.method),
        ("data", found.data + (f": {RELEASE}" if found.not_for_release else "")),
    ]


def _of_gains(gains: GainForecast | None) -> Iterator[tuple[str, str]]:
    """Yield what the first screen leaves out of a mean gain."""
    if gains is None or gains.together is None:
        return
    mean = gains.together
    weighted = f"{number(mean.by_records.value)}{_unit(gains)} ({_interval(mean.by_records)})"
    yield "weighted by n_i", f"{weighted}: {mean.verdict_by_records}"
    yield "assumes", f"all {gains.count} owners join, with these ε"
    yield "material", f"{gains.material:.0%} of the own error"


def gaining(found: Forecast) -> str:
    """Return the verdict on the mean owner, and how many owners have each."""
    if found.gains is None:
        return NOT_ASKED
    return verdict(found, found.gains)


def time_words(found: Forecast) -> str:
    """Return the expected time of the last update, with its ± and unit."""
    half = f" ± {found.time_half_width:.2g}" if found.time_half_width > 0 else ""
    return in_unit(f"{number(found.time)}{half} units", found.time_unit)


def divergence(found: Forecast) -> str | None:
    """Return the growth of ψ without noise if steps are too long; else None."""
    start = float(found.curve[0])
    if found.noise_free <= DIVERGED * max(1.0, start):
        return None
    return f"without noise ψ grows from {number(start)} to {number(found.noise_free)}"


def _budgets(found: Forecast) -> list[float]:
    """Return the finite budgets of the owners."""
    budgets = found.scenario.privacy.epsilons(found.scenario.owners.count).tolist()
    return [budget for budget in budgets if isfinite(budget)]


def _at(found: Forecast) -> str:
    budgets = _budgets(found)
    return f"at ε = {numbers(budgets)}" if len(budgets) > 0 else "without privacy"


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
    hidden = f", {privacy.change}" if privacy.per_owner else ""
    return f"ε = {numbers(budgets)}{delta} per owner for the whole run{hidden}{against}{without}"


def _pace(found: Forecast) -> list[tuple[str, str]]:
    """Return the limits of updates per time unit, if no formula gives a single value."""
    if found.throughput is None or found.throughput.between is None:
        return []
    low, high = map(figure, found.throughput.between)
    text = f"{low} to {high}, whatever the laws of the times; no single value, because"
    return [
        (in_unit("updates per unit", found.time_unit), f"{text} {plain(found.throughput.reason)}")
    ]


def _divergence(found: Forecast) -> list[tuple[str, str]]:
    """Return a warning of too long steps, if the model diverges even without noise."""
    grows = divergence(found)
    return [] if grows is None else [("diverges", f"{grows}: take shorter steps")]


def as_json(found: Forecast) -> str:
    """Return the forecast as JSON; infinite is the text "inf"."""
    raw = _fields(found)
    for internal in ("scenario", "participants", "gains"):
        del raw[internal]
    raw = {"decision": asdict(decide(found)), **raw, "owners": []}
    if found.gains is not None:
        raw |= gains_content(found.gains)
    if found.against is None:  # as before scenarios could name an observer
        del raw["against"], raw["known_after"]
    if not found.rounds:
        del raw["rounds"]
    if len(found.observers) == 0:
        del raw["observers"]
    for key in ("energy", "throughput", "time_unit"):
        if raw[key] is None:
            del raw[key]
    raw["cost_of_privacy"] = found.cost_of_privacy
    raw["quantiles"] = {f"{level:g}": value for level, value in found.quantiles.items()}
    raw["label"] = RELEASE if found.not_for_release else "no private record was read"
    return _escaped(json.dumps(_plain(raw), ensure_ascii=False, indent=1))


def gains_content(gains: GainForecast) -> dict[str, Any]:
    """Return gains as plain values; keys as in the manifest of a run."""
    return {
        "score": gains.score,
        "unit": gains.unit,
        "consortium": None if gains.together is None else _consortium(gains, gains.together),
        "owners": [_owner(owner) for owner in gains.owners],
        "break_even": _levels(gains.break_even),
        "reads": gains.reads,
        "release": gains.release,
        "alike": None if gains.alike is None else asdict(gains.alike),
        "judged_on": gains.judged_on,
        "material": gains.material,
        "remaining": None if gains.remaining is None else gains_content(gains.remaining),
    }


def _consortium(gains: GainForecast, mean: Consortium) -> dict[str, Any]:
    by_records = _ends(mean.by_records) | {"verdict": str(mean.verdict_by_records)}
    return {
        **_ends(mean.gain),
        "by_records": by_records,
        "verdict": str(mean.verdict),
        "assumes": f"all {gains.count} owners join, with these ε",
        "own": gains.own,
        "joint": gains.joint,
        "adapted": gains.adapted,
        "guessing": gains.guessing,
        "at_least": gains.at_least,
    }


def _owner(owner: OwnerGain) -> dict[str, Any]:
    gain: Gain = owner.gain
    joint = _ends(gain.joint_gain)
    return {
        "owner": owner.owner,
        "name": owner.name,
        "records": gain.records,
        "epsilon": owner.epsilon,
        "own": gain.own,
        "own_best": gain.own_best,
        "joint": gain.joint,
        "adapted": gain.adapted,
        "guessing": gain.guessing,
        **_ends(gain.gain),
        "joint_gain": joint["gain"],
        "joint_gain_low": joint["low"],
        "joint_gain_high": joint["high"],
        "verdict": str(gain.verdict),
        "rows_to_decide": gain.rows_to_decide,
        "better_in": gain.better_in,
        "runs": len(gain.by_run),
        "break_even": _levels(owner.break_even),
    }


def _ends(gain: Estimate) -> dict[str, float]:
    return {"gain": gain.value, "low": gain.low, "high": gain.high}


def _levels(level: BreakEven | None) -> dict[str, float] | None:
    return None if level is None else asdict(level)


def advice_json(advice: Mapping[str, Any]) -> str:
    """Return advice as JSON, by its option: all figures, and the recommended scenario."""
    by_option = {name: _fields(result) for name, result in advice.items()}
    return _escaped(json.dumps(_plain(by_option), ensure_ascii=False, indent=1))


def _escaped(text: str) -> str:
    """Return JSON in which control characters in names from a table are escaped."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
        for letter in text
    )


def _fields(found: Any) -> dict[str, Any]:
    """Return the fields of a record, and the mean of runs with its interval in their place."""
    if isinstance(found, Played):
        return {"psi": found.psi, "half_width": found.half_width, "runs": len(found.final)}
    return {field.name: getattr(found, field.name) for field in fields(found)}


def _plain(value: Any) -> Any:
    if isinstance(value, Scenario):
        return value.plain()
    if is_dataclass(value):
        return _plain(_fields(value))
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not isfinite(value):
        return "inf" if value > 0 else None
    return value


def _half(width: float) -> str:
    return f" ± {figure(width)}" if width > 0 else ""
