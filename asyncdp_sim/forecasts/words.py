"""A forecast on the screen and as JSON; it begins with the decision."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from math import isfinite
from typing import Any

import numpy as np

from asyncdp_sim.core.units import ROUNDS, in_unit
from asyncdp_sim.core.words import aligned, figure, number, numbers
from asyncdp_sim.forecasts import Forecast, MayBeOff
from asyncdp_sim.forecasts.advice.contest import Played
from asyncdp_sim.forecasts.benefit import FACTORS, Errors, intervals
from asyncdp_sim.forecasts.by_observer import as_rows
from asyncdp_sim.forecasts.changes import Change
from asyncdp_sim.forecasts.population import RELEASE
from asyncdp_sim.privacy.label import UNTIMED
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.plain import plain

NAMED, LEVERS = 3, 3
"""Owners that are named, and changes that are listed, on the first screen."""
DIVERGED = 1e3
"""Multiple of ψ at the start, or of 1: a larger ψ without noise means divergence."""
UNKNOWN = "not known: this model has no ψ of an owner alone; add --set data.held_out=0.2"
SUBSTITUTE = "substitute rows leave no owner's gain or loss certain"
TO_KNOW = (
    "the owners' rows: --private (do not publish its output)",
    "more public rows, drawn at random, with the owners' column",
)
"""Data that would make a forecast from substitute rows certain."""


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
        Further changes that were tried.
    """
    pairs = list(zip(found.participants.numbers, found.verdicts, strict=False))
    return Decision(
        decision=_decision(found),
        break_even=_break_even(found),
        how_good=_how_good(found),
        how_soon=f"after {time_words(found)}" + " (rounds of answers)" * found.rounds,
        privacy=_privacy(found),
        how_sure=_how_sure(found),
        would_change_it=tuple(_levers(found, changes))[:LEVERS],
        gain=tuple(owner for owner, gains in pairs if gains is True),
        do_worse=tuple(owner for owner, gains in pairs if gains is False),
        undecided=tuple(owner for owner, gains in pairs if gains is None),
    )


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


def counts(found: Forecast) -> tuple[int, int, int]:
    """Return how many owners gain, how many do worse, and how many are undecided."""
    gain, worse, undecided = (found.verdicts.count(verdict) for verdict in (True, False, None))
    return gain, worse, undecided


def _decision(found: Forecast) -> str:
    (gain, worse, undecided), at = counts(found), _at(found)
    total = gain + worse + undecided
    if total == 0:
        return UNKNOWN
    if undecided == total:
        within = "every difference is within its 95 % interval"
        return f"not known {at}: {within if found.may_be_off is None else SUBSTITUTE}"
    rest = f"{worse} of {total} {'does' if worse == 1 else 'do'} worse than alone"
    rest += f", {undecided} {'is' if undecided == 1 else 'are'} undecided" * (undecided > 0)
    if gain == 0:
        mostly = "not known for most owners" if 2 * undecided > total else "no owner should join"
        return f"{mostly} {at}: {rest}"
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
    return [budget for budget in budgets if isfinite(budget)]


def _at(found: Forecast) -> str:
    budgets = _budgets(found)
    return f"at ε = {numbers(budgets)}" if len(budgets) > 0 else "without privacy"


def _break_even(found: Forecast) -> str:
    """Return the break-even ε of owners, by the criterion of the decision."""
    every = found.break_even
    finite = sorted(budget for budget in every if budget is not None)
    if len(every) == 0 or len(_budgets(found)) == 0:
        return "–"
    if len(finite) == 0:
        if found.worth is not None:
            largest = found.worth.factors[-1] * max(_budgets(found))
            return f"none up to ε = {number(largest)}, the largest tried"
        joint = f"even without noise, ψ of the joint model is {number(found.noise_free)}"
        return f"none: {joint}, larger than ψ of every owner alone"
    low = 0.0 if found.worth is None else found.worth.factors[0] * min(_budgets(found))
    first, *later = (
        "below the least tried" if budget < low else number(budget) for budget in finite
    )
    half = (len(every) - 1) // 2
    middle = f", {later[half - 1]} for half of the owners" if 1 <= half <= len(later) else ""
    without = len(every) - len(finite)
    none = f"; {without} of {len(every)} owners have none" if without > 0 else ""
    mean = "" if found.worth is None else " (of mean errors, without ±)"
    return f"{first} for the first owner{middle}{none}{mean}"


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
    values = [float(np.nanmedian(scores)) for scores in (joined, half, worth.alone, worth.guessing)]
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
    hidden = f", {privacy.change}" if privacy.per_owner else ""
    return f"ε = {numbers(budgets)}{delta} per owner for the whole run{hidden}{against}{without}"


def _how_sure(found: Forecast) -> str:
    off, runs = found.may_be_off, found.method
    if found.worth is not None:
        runs = f"{found.worth.joined.shape[1]} simulated runs"
    if off is not None and found.worth is not None:
        return f"± and verdicts include {runs} and {off.redraws} redraws of the substitute rows"
    if off is not None:
        return f"by {runs}; substitute rows may move ψ by ± {off.psi_half_width:.2g}"
    return f"a gain or loss counts if it exceeds its 95 % interval over {runs} ({found.data})"


def _levers(found: Forecast, changes: Sequence[Change]) -> Iterator[str]:
    """Yield what would change the decision, the most promising first."""
    gain, worse, undecided = counts(found)
    total = gain + worse + undecided
    grows = divergence(found)
    if grows is not None:
        yield f"a shorter step: {grows}"
    if found.may_be_off is not None and gain == 0 and 2 * undecided > total:
        yield from TO_KNOW
    if total == 0:
        return
    settings = [
        (change.words, change.profits) for change in changes if change.budgets_times is None
    ]
    tried = [*_budget_lever(found, gain, total), *settings]
    tried.sort(key=lambda lever: -abs(lever[1] - gain))
    beyond = "" if found.worth is None else " beyond the ±"
    texts = [f"{words}: {would} of {total} owners would gain{beyond}" for words, would in tried]
    helping = sum(would != gain for _, would in tried)
    yield from texts[:helping]
    if found.scenario.algorithm.one_on_one is not None:
        yield "another step, number of updates and cap on answers: --tune finds them"
    yield from texts[helping:]


def _budget_lever(found: Forecast, gain: int, total: int) -> list[tuple[str, int]]:
    """Return the nearest budgets at which other owners gain (else the farthest), with counts."""
    if len(_budgets(found)) == 0:
        return []
    tried = FACTORS if found.worth is None else found.worth.factors
    would = {factor: found.would_gain(factor) for factor in tried}
    larger = sorted(factor for factor in would if factor > 1)
    smaller = sorted((factor for factor in would if factor < 1), reverse=True)
    way = smaller if gain == total else larger
    if len(way) == 0:
        return []
    nearest = next((factor for factor in way if would[factor] != gain), way[-1])
    return [(f"ε {nearest:g} times as large", would[nearest])]


MOST = 20
"""Owners that the screen shows; JSON has all."""
_BY_PSI = "gains: the joint model has a smaller ψ than the owner's own model, which needs no noise;"
_BY_ERRORS = (
    "gains: on the owner's held-out rows the joint model is better than its own, beyond the ±;"
)
_BREAK_EVEN = (
    "break-even: the smallest ε at which joining helps this owner (all owners' ε scaled alike)"
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


def first_screen(found: Forecast, changes: Sequence[Change] = ()) -> list[str]:
    """Return the decision, and at most 20 owners, a row each.

    Parameters
    ----------
    found : Forecast
    changes : sequence of Change
        Further changes that were tried.
    """
    texts = decision_lines(decide(found, changes))
    if len(found.verdicts) > 0:
        texts += ["", *aligned(owners(found)), *_more(found)]
    return texts


def lines(found: Forecast, changes: Sequence[Change] = ()) -> list[str]:
    """Return the first screen, then all figures and the meaning of columns.

    Parameters
    ----------
    found : Forecast
    changes : sequence of Change
        Further changes that were tried.
    """
    rows = figures(found)
    width = max(len(name) for name, _ in rows)
    texts = first_screen(found, changes)
    if len(found.verdicts) > 0:
        texts += [_BY_PSI if found.worth is None else _BY_ERRORS, _BREAK_EVEN]
    texts += ["", *(f"{name:<{width}}  {value}" for name, value in rows)]
    if found.worth is not None:
        texts += _meaning(found.worth, found.may_be_off)
    texts += [
        f"tried: {change.words}: {change.profits} owners would gain, {change.loses} would do worse"
        for change in changes
    ]
    if len(found.observers) > 0:
        texts += [*aligned(as_rows(found.observers)), *_OBSERVED]
    return texts


def _meaning(found: Errors, off: MayBeOff | None) -> Iterator[str]:
    """Yield the meaning of errors on held-out rows, and of their ±."""
    unit = f" ({found.unit})" if found.unit else ""
    yield (
        f"together, alone: {found.score.meaning}{unit} of the joint and of the "
        "owner's own model, on its held-out rows; all budgets use the same networks and noise, "
        "and own models have no noise"
    )
    over = f"{found.joined.shape[1]} runs"
    if off is not None:
        over += f", {off.redraws} {off.uncertain}, and owners' rows drawn anew"
    yield f"±: a 95 % interval of the expected difference, over {over}"


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
    rows += _gaining(found)
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
        *off(found.may_be_off),
    ]


def off(found: MayBeOff | None) -> list[tuple[str, str]]:
    """Return the uncertainty from substitute rows, and the causes that it leaves out."""
    if found is None:
        return []
    text = f"ψ ± {figure(found.psi_half_width)}"
    if len(found.errors_half_width) > 0:
        unit = f" {found.unit}" if found.unit else ""
        middle = float(np.median(found.errors_half_width))
        text += f", {found.score} ± {figure(middle)}{unit} of the median owner"
    text += f": {found.redraws} {found.uncertain}"
    return [("may be off by", text), *(("beyond that", reason) for reason in found.left_out)]


def off_lines(found: MayBeOff | None) -> list[str]:
    """Return the uncertainty of the figures of a recommended scenario, in words."""
    if found is None:
        return []
    [(name, first), *rest] = off(found)
    rows = [(name, f"for the recommended scenario, {first}"), *rest]
    return [f"{name:<{len(rows[0][0])}}  {text}" for name, text in rows]


def gaining(found: Forecast) -> str:
    """Return the number of owners that gain, by the criterion of the decision."""
    gain, worse, undecided = counts(found)
    by = "ψ of all records" if found.worth is None else "errors on their held-out rows"
    total = len(found.verdicts)
    return f"{gain} of {total} owners ({worse} do worse, {undecided} undecided), by {by}"


def _gaining(found: Forecast) -> list[tuple[str, str]]:
    """Return the numbers of owners that gain, by the criterion of the decision and by ψ."""
    if len(found.verdicts) == 0:
        return []
    rows = [("gains from joining", gaining(found))]
    if found.worth is not None and len(found.owners) > 0:
        fits, total = sum(owner.alone > found.psi for owner in found.owners), len(found.owners)
        fit = f"for {fits} of {total} owners the joint model fits all records better"
        rows.append(("smaller ψ", fit))
    return rows


def owners(found: Forecast) -> list[list[str]]:
    """Return a row for each owner, the largest gain first, as texts; the header first."""
    worth, names = found.worth, found.participants.labels
    if worth is None:
        heads = ["ε spent", "ψ alone"]
        records = np.array([owner.records for owner in found.owners])
        budgets = np.array([owner.epsilon or np.inf for owner in found.owners])
        gains = np.array([owner.alone for owner in found.owners]) - found.psi
        cells = [[figure(o.epsilon_spent), figure(o.alone)] for o in found.owners]
    else:
        heads = ["together", "alone", "difference"]
        records, budgets, gains = worth.records, worth.epsilon, worth.gain(worth.given)
        joined, half = worth.joined[worth.given].mean(axis=0), worth.half_width(worth.given)
        cells = [
            [f"{both:.3g}", f"{own:.3g}", f"{both - own:.3g} ± {width:.2g}"]
            for both, own, width in zip(joined, worth.alone, half, strict=True)
        ]
    alike = len(set(budgets.tolist())) == 1
    verdicts = [
        {True: "yes", False: "no", None: "undecided"}[verdict] for verdict in found.verdicts
    ]
    order = np.argsort(-gains, kind="stable")[:MOST].tolist()
    return [
        ["owner", "records", *["ε"] * (not alike), *heads, "gains", "break-even"],
        *(
            [
                names[i], str(records[i]), *[figure(budgets[i])] * (not alike), *cells[i],
                verdicts[i], _break_even_of(found, i, float(budgets[i])),
            ]
            for i in order
        ),
    ]  # fmt: skip


def _break_even_of(found: Forecast, owner: int, budget: float) -> str:
    """Return the break-even ε, as a limit if it lies outside the range that was tried."""
    needed = found.break_even[owner]
    factors = (1.0,) if found.worth is None else found.worth.factors
    if found.worth is None or needed not in (None, 0.0):
        return "never" if needed is None else figure(needed)
    tried = factors[-1 if needed is None else 0] * budget
    return f"{'>' if needed is None else '≤'} {figure(tried)}" if len(factors) > 1 else "–"


def _more(found: Forecast) -> list[str]:
    more = len(found.verdicts) - MOST
    return [f"and {more} more; --json has all of them"] if more > 0 else []


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


def as_json(found: Forecast, changes: Sequence[Change] = ()) -> str:
    """Return the forecast as JSON, and errors on held-out rows; infinite is the text "inf"."""
    raw = _fields(found)
    for internal in ("scenario", "participants", "worth"):
        del raw[internal]
    decision = asdict(decide(found, changes))
    raw = {"decision": decision, **raw}
    raw["decided_by"] = "psi" if found.worth is None else "held-out errors"
    if found.against is None:  # as before scenarios could name an observer
        del raw["against"], raw["known_after"]
    if not found.rounds:
        del raw["rounds"]
    if len(found.observers) == 0:
        del raw["observers"]
    for key in ("energy", "throughput", "time_unit"):
        if raw[key] is None:
            del raw[key]
    if found.worth is not None:
        raw["errors"] = _errors_table(found.worth, changes, found.may_be_off)
    raw["cost_of_privacy"] = found.cost_of_privacy
    raw["quantiles"] = {f"{level:g}": value for level, value in found.quantiles.items()}
    raw["label"] = RELEASE if found.not_for_release else "no private record was read"
    return _escaped(json.dumps(_plain(raw), ensure_ascii=False, indent=1))


def _errors_table(
    found: Errors, changes: Sequence[Change], off: MayBeOff | None = None
) -> dict[str, Any]:
    """Return all figures as plain values, ready for JSON; half widths are those of sentences."""
    at, widths = found.given, intervals(found, off)
    columns = {
        "name": list(found.names),
        "records": found.records.tolist(),
        "joined": found.joined[at].mean(axis=0).tolist(),
        "joined_half_width": widths.joined.tolist(),
        "alone": found.alone.tolist(),
        "alone_half_width": widths.alone.tolist(),
        "gain": found.gain(at).tolist(),
        "gain_half_width": widths.gain.tolist(),
        "together": found.together.tolist(),
        "guessing": found.guessing.tolist(),
        "profits": found.profits(at).tolist(),
        "loses": found.loses(at).tolist(),
        "epsilon_needed": [found.needed(owner) for owner in range(len(found.names))],
    }
    rows = zip(*columns.values(), strict=True)
    return {
        "score": found.score.name,
        "unit": found.unit,
        "runs": found.joined.shape[1],
        "budgets_times": list(found.factors),
        "owners": [dict(zip(columns, row, strict=True)) for row in rows],
        "changes": [asdict(change) for change in changes],
    }


def _escaped(text: str) -> str:
    """Return JSON in which control characters in names from a table are escaped."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
        for letter in text
    )


def advice_json(advice: Mapping[str, tuple[Any, MayBeOff | None]]) -> str:
    """Return advice as JSON, by its option: all figures, and the recommended scenario.

    Parameters
    ----------
    advice : mapping
        From an option's name to its result, and the uncertainty of the recommended scenario.
    """
    by_option = {
        name: _fields(result) | {"may_be_off": off} for name, (result, off) in advice.items()
    }
    return _escaped(json.dumps(_plain(by_option), ensure_ascii=False, indent=1))


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
