"""Gains of owners by joining, with intervals, in a run or a forecast; and the expected ψ."""

from collections import Counter
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.files import file_bytes, from_json, unreadable
from asyncdp_sim.core.units import in_unit
from asyncdp_sim.core.words import agreed, as_float, estimate, known, number, numbers
from asyncdp_sim.figures import style
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import CAPTIONS, Picture, label
from asyncdp_sim.figures.sweep_figure import owner_table
from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.scenario import Participants
from asyncdp_sim.sentences.label import Label
from asyncdp_sim.sentences.result import counted

GainsWithEnds = tuple[Array, Array, Array]
"""Gains, and the lower and upper ends of their 95 % intervals, (N,) each."""
LOOKS: Mapping[str, dict[str, Any]] = {
    "gains": {"color": style.BLUE, "marker": "^"},
    "does worse": {"color": style.VERMILION, "marker": "v"},
    "no material difference": {"color": style.BAND, "marker": "s"},
    "undecided": {"color": style.GRAY, "marker": "D", "markerfacecolor": "white"},
}
"""Colour and shape of each verdict."""
ENDS = ("gain", "low", "high")
OWNERS = "forecast-owners"
"""Name of the picture of a forecast's owners."""
FORECAST_KEYS = ("psi", "quantiles", "curve", "times", "owners", "data", "method", "release")
OWNER_KEYS = {"owner", "records", "gain", "low", "high", "verdict"}
BUDGET_KEYS = {"epsilon", "factor", "decision", "consortium", "owners"}
"""What a forecast, each of its owners, and each budget that was tried have at least."""
_COMMAND = "asyncdp forecast SCENARIO --json > FILE.json"


def _has_keys(part: object, keys: set[str]) -> bool:
    """Return whether a part of a JSON file is a table with these keys."""
    return isinstance(part, dict) and part.keys() >= keys


def _complete(forecast: dict[str, Any]) -> bool:
    """Return whether the parts of a forecast are what they should be."""
    curve, times, ends, rows = (forecast[key] for key in ("curve", "times", "quantiles", "owners"))
    if not (isinstance(curve, list) and isinstance(times, list) and isinstance(rows, list)):
        return False
    tried = forecast.get("budgets", [])
    if not (isinstance(tried, list) and all(_has_keys(each, BUDGET_KEYS) for each in tried)):
        return False
    rows = [*rows, *(owner for each in tried for owner in each["owners"])]
    owners = all(_has_keys(owner, OWNER_KEYS) for owner in rows)
    spread = isinstance(ends, dict) and {"0.05", "0.95"} <= ends.keys()
    return owners and spread and len(curve) == len(times) > 0


def read(file: Path) -> dict[str, Any]:
    """Return what ``asyncdp forecast --json`` printed.

    Raises
    ------
    ResultError
        If the file is something else.
    """
    content, remedy = "JSON that is no forecast of one scenario", f"to write one: {_COMMAND}"
    try:
        read = from_json(file_bytes(file))
        if isinstance(read, dict) and "moments" in read:  # of an older version
            read["data"] = read["moments"]
        if isinstance(read, dict) and "not_for_release" in read:  # of an older version
            read["release"] = read["not_for_release"] is False
        if isinstance(read, dict) and all(key in read for key in FORECAST_KEYS) and _complete(read):
            return read
    except OSError as error:
        content, remedy = repr(str(file)), f"{unreadable(error)}; {remedy}"
    except ValueError:
        content = "a file that is not JSON"
    raise not_a_result(file, content, remedy)


def _label(forecast: Mapping[str, Any]) -> Label:
    """Return the label of a forecast, which is about the data that it read."""
    if forecast["release"] is True:
        text = "Forecast, not a run. No private record was read."
        return Label(text, True, 0.0, 0.0, timing_accounted=True, release=True)
    text = "Forecast, not a run. NOT FOR RELEASE: it uses private data."
    return Label(text, False, inf, None, timing_accounted=True, release=False)


def _upward(forecast: Mapping[str, Any]) -> Side:
    """Return the axis of gains, in the unit of the errors."""
    unit = f" ({forecast['unit']})" if forecast.get("unit") else ""
    return Side(f"gain: smaller\n{forecast['score']}{unit}", grid=True)


def _marked(places: Any, gains: GainsWithEnds, verdicts: Any) -> list[Layer]:
    """Return layers of gains (N,) and their intervals at places (N,), and the level of no gain."""
    size = float(np.clip(90 / len(places), 2.5, 5.0))
    marks = [Layer("level", y=0.0, look={"color": style.THEORY, "linewidth": 1.0})]
    for verdict in LOOKS:
        here = verdicts == verdict
        look = {"linestyle": "none", "markersize": size, "elinewidth": 0.9, **LOOKS[verdict]}
        if here.any():
            value, low, high = (end[here] for end in gains)
            marks.append(Layer("line", places[here], value, low, high, verdict, look=look))
    return marks


def _people(owners: Participants, records: Array) -> Side:
    """Return the owners' axis: of a few each with its name and records, of many without ticks."""
    limits = (0.4, len(records) + 0.6)
    if len(records) > style.FEW_OWNERS:
        return Side("owners, the largest gain first", limits=limits, ticks=(), labels=())
    named = zip(owners.labels, records, strict=True)
    labels = [f"{style.plain_text(name)}\n{number(own)}" for name, own in named]
    return Side("owner $i$, with $n_i$ training rows", limits=limits,
                ticks=range(1, len(records) + 1), labels=labels)  # fmt: skip


def _sentence(forecast: Mapping[str, Any], verdicts: Any) -> str:
    """Return the mean gain and its interval where it is known, and how many owners gain."""
    budgets = [value for owner in forecast["owners"] if (value := as_float(owner.get("epsilon")))]
    at = f"At ε = {numbers(budgets)}, " if budgets else ""
    owners = agreed(counted(Counter(verdicts.tolist()), f"of {len(verdicts)} owners"))
    together = forecast.get("consortium") or {}
    gain, low, high = (known(together.get(key)) for key in ENDS)
    mean = f"the mean gain is {estimate(gain, low, high, forecast.get('unit') or '')}; "
    text = f"{at}{mean if np.isfinite([gain, low, high]).all() else ''}{owners}"
    return f"{text[0].upper()}{text[1:]}"


def _of_owners(forecast: Mapping[str, Any]) -> tuple[Declaration, Columns]:
    """Return the gains of a forecast's or a run's owners, the largest first, and their table."""
    rows = sorted(forecast["owners"], key=lambda row: -np.nan_to_num(known(row["gain"]), nan=-inf))
    called = tuple(str(owner["name"]) for owner in rows if owner.get("name") is not None)
    people = Participants(tuple(owner["owner"] for owner in rows), called)
    gain, low, high = (np.array([known(row[key]) for row in rows]) for key in ENDS)
    verdicts = np.array([owner["verdict"] for owner in rows])
    records = np.array([owner["records"] for owner in rows], dtype=float)
    marks = _marked(np.arange(1, len(rows) + 1), (gain, low, high), verdicts)
    panel = Panel(marks, _people(people, records), _upward(forecast))
    table = {**owner_table(people), "records": records, "gain": gain, "low": low, "high": high}
    return Declaration([panel], title=_sentence(forecast, verdicts)), table | {"verdict": verdicts}


def by_owner(result: Result) -> Picture:
    """Draw each owner's gain, as a run has judged it.

    Raises
    ------
    ResultError
        If a table is absent or damaged.
    """
    judged = result.manifest | {"owners": result.frame("gains").to_dict("records")}
    declared, table = _of_owners(judged)
    return Picture("profit", declared, table, CAPTIONS["profit"], label([result]))


def owners(forecast: Mapping[str, Any]) -> Picture:
    """Draw every owner's gain with its 95 % interval, the largest first."""
    declared, table = _of_owners(forecast)
    caption = f"Gain of each owner by joining, with 95 % intervals ({forecast['data']})."
    return Picture(OWNERS, declared, table, caption, _label(forecast), exact=False)


def _sentence_by_epsilon(epsilon: Array, verdicts: Any, who: str) -> str:
    """Return at which ε an owner gains, in a sentence."""
    gains = epsilon[verdicts == "gains"]
    between = f"between ε = {number(epsilon[0])} and {number(epsilon[-1])}"
    if len(gains) == 0:
        return f"No gain of {who} is shown at any ε {between}"
    if len(gains) == len(epsilon):
        return f"{who[0].upper()}{who[1:]} gains at every ε tried {between}"
    return f"Of {len(epsilon)} ε {between}, {who} gains at {numbers(gains.tolist())}"


def by_epsilon(forecast: Mapping[str, Any]) -> Picture | None:
    """Draw the gain of the average owner, or of the one that asks, at each ε that was tried.

    None where fewer than two were, or where that gain is not known. Lines are at the break-even ε,
    where there is one, and at the ``epsilon`` that a view of the forecast has.
    """
    tried = forecast.get("budgets", [])
    asks = forecast.get("reads") == "owner"
    gains = [each["owners"][0] if asks else each["consortium"] for each in tried]
    if len(gains) < 2 or None in gains:
        return None
    epsilon = np.array([each["epsilon"] for each in tried], dtype=float)
    value, low, high = (np.array([known(g[key]) for g in gains]) for key in ENDS)
    verdicts = np.array([gain["verdict"] for gain in gains])
    marks = _marked(epsilon, (value, low, high), verdicts)
    if "epsilon" in forecast:
        broad = {"color": style.BAND, "alpha": 0.3, "linewidth": 7, "zorder": 0}
        marks.append(Layer("upright", forecast["epsilon"], look=broad))
        marks.append(Layer("line", name="$\\epsilon$ chosen above", look=broad))
    level = forecast.get("break_even")  # absent of older versions
    if level is not None:
        dashed = {"color": style.THEORY, "linestyle": "--", "linewidth": 1.2}
        marks.append(Layer("upright", level["value"], look=dashed))
        marks.append(Layer("line", name="break-even $\\epsilon$", look=dashed))
    who = "this owner" if asks else "the average owner"
    across = Side("$\\epsilon$ of the median owner", log=True, ticks=epsilon.tolist())
    panel = Panel(marks, across, _upward(forecast))
    title = _sentence_by_epsilon(epsilon, verdicts, who)
    if level is not None:  # word by word as on the screen
        title = forecast["decision"]["break_even"]
        title = f"{title[0].upper()}{title[1:]}"
    said = Declaration([panel], title=title)
    caption = CAPTIONS["gain-by-epsilon"].format(who=who, data=forecast["data"])
    table = {"epsilon": epsilon, "gain": value, "low": low, "high": high, "verdict": verdicts}
    return Picture("forecast-by-epsilon", said, table, caption, _label(forecast), exact=False)


def over_time(forecast: dict[str, Any]) -> Picture:
    """Draw the expected ψ against time, the spread of ψ at the end, and the target."""
    times, curve = (np.array([known(v) for v in forecast[key]]) for key in ("times", "curve"))
    low, high = (known(forecast["quantiles"][level]) for level in ("0.05", "0.95"))
    marks = [
        Layer("line", times, curve, name="expected $\\psi$", look={"color": style.BLUE}),
        Layer("strokes", times[-1:], None, low, high, "5–95 % at the end",
              look={"color": style.BAND, "linewidth": 4}),
    ]  # fmt: skip
    if np.isfinite(target := known(forecast.get("target"))):
        look = {"color": style.VERMILION, "linestyle": ":"}
        marks.append(Layer("level", y=target, name="target", look=look))
    psi = Side(f"relative fitness $\\psi$\n{BETTER}", log=True, grid=True)
    panel = Panel(marks, Side(style.time_axis(forecast.get("time_unit"))), psi)
    title = (
        f"Expected ψ falls from {number(curve[0])} to {number(curve[-1])} in {number(times[-1])} "
        f"units; 90 % of runs end between {number(low)} and {number(high)}"
    )
    declared = Declaration([panel], title=in_unit(title, forecast.get("time_unit")))
    caption = CAPTIONS["over-time"].format(method=forecast["method"], data=forecast["data"])
    table = {"time": times, "expected_psi": curve}
    return Picture("forecast-over-time", declared, table, caption, _label(forecast), exact=False)


def of_several_owners(forecast: Mapping[str, Any]) -> Picture | None:
    """Return the picture of owners' gains; where one or none is known, of its or the mean by ε."""
    several = len(forecast["owners"]) > 1
    drawn = None if several else by_epsilon(forecast)
    return owners(forecast) if drawn is None and len(forecast["owners"]) > 0 else drawn


def pictures(forecast: dict[str, Any]) -> list[Picture]:
    """Return all pictures of a forecast: ψ over time, gains of owners, and gains by ε."""
    drawn = [owners(forecast)] if len(forecast["owners"]) > 0 else []
    tried = by_epsilon(forecast)
    return [over_time(forecast), *drawn, *([] if tried is None else [tried])]
