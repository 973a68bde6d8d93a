"""Gains of owners by joining, with intervals, in a run or a forecast; and the expected ψ.

Owners stand in the order of their gains. Where a result has none, it is drawn by how much the score
on own held-out rows differs, or else how well models fit all records by ψ, which is no gain.
"""

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.files import file_bytes, from_json, unreadable
from asyncdp_sim.core.units import in_unit
from asyncdp_sim.core.words import as_float, estimate, known, number, numbers
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label, row_labels
from asyncdp_sim.figures.style import (
    BAND,
    BLUE,
    FEW_OWNERS,
    GRAY,
    THEORY,
    VERMILION,
    plain_text,
    time_axis,
)
from asyncdp_sim.figures.sweep_figure import mean_of, mean_psi_at_end, owner_table
from asyncdp_sim.measures.scores import SCORES, Score
from asyncdp_sim.results import not_a_result
from asyncdp_sim.scenario import Participants
from asyncdp_sim.sentences.label import Label

LOOKS: Mapping[str, dict[str, Any]] = {
    "gains": {"color": BLUE, "marker": "^"},
    "does worse": {"color": VERMILION, "marker": "v"},
    "no material difference": {"color": BAND, "marker": "s"},
    "undecided": {"color": GRAY, "marker": "D", "markerfacecolor": "white"},
}
"""Colour and shape of each verdict."""
BY_SCORE = {"gains": "joint model better", "does worse": "own model better",
            "undecided": "interval holds both"}  # fmt: skip
"""What a legend says of intervals over replicates alone, which are no verdict on a gain."""
MOST = 4  # lines that have a panel
Ends = tuple[Array, Array, Array]


def by_owner(lines: Sequence[CurveLine]) -> Picture:
    """Draw each owner's gain; where none was judged, how much better the joint model's score is.

    Parameters
    ----------
    lines : sequence of CurveLine
        Results of the same owners that know θ_i* (``run.alone``); at least one.

    Raises
    ------
    ResultError
        If a table is absent or damaged.
    """
    results = [line.result for line in lines]
    n_owners, participants = results[0].n_owners, results[0].participants
    alone = results[0].of_owners("psi_alone").mean(axis=0)
    records = results[0].of_owners("records").mean(axis=0)
    psi = np.array([mean_psi_at_end(result) for result in results])
    table: Columns = {
        "line": np.repeat([line.name for line in lines], n_owners),
        **{name: np.tile(values, len(lines)) for name, values in owner_table(participants).items()},
        "records": np.tile(records, len(lines)),
        "psi_alone": np.tile(alone, len(lines)),
        "psi_final_mean": np.repeat(psi[:, 0], n_owners),
        **row_labels([[result] for result in results], n_owners),
    }
    fits = [int(np.count_nonzero(alone > mean)) for mean in psi[:, 0]]
    names, even = BY_SCORE, 0.0
    if all("profits_held_out" in result.summary for result in results):
        score, unit = headline(results[0].summary), results[0].manifest.get("target_unit")
        columns, better = _scored(lines, score)
        table |= columns
        in_units = f" ({unit})" if score.in_units and unit else ""
        up = Side(f"{score.words}: better by{in_units}", grid=True)
        compared = f"{score.words} on own held-out rows: the joint model is "
        shown = f"by how much the {score.words} on an owner's own held-out rows is better with it"
    else:
        even = 1.0  # an interval of ψ that reaches 0 leaves the ratio without an upper end
        with np.errstate(divide="ignore"):
            better = [
                (alone / mean, alone / high, alone / np.maximum(low, 0)) for mean, low, high in psi
            ]
        up = Side("$\\psi$ of own model\nover that of the joint one", log=True, grid=True)
        compared = "ψ of all records: the joint model is "
        shown = "ψ of an owner's own model over that of the joint one"
    verdicts = [judged(ends, even) for ends in better]
    if all(result.has("gains") for result in results):
        frames = [result.frame("gains") for result in results]
        better = [tuple(frame[end].to_numpy(float) for end in ("gain", "low", "high"))
                  for frame in frames]  # fmt: skip
        verdicts = [frame["verdict"].to_numpy(str) for frame in frames]
        score_of, unit = results[0].manifest.get("score"), results[0].manifest.get("unit")
        up = Side(f"gain: smaller {score_of}{f' ({unit})' if unit else ''}", grid=True)
        names, even, compared = {name: name for name in LOOKS}, 0.0, ""
        shown = "how much smaller its error is than with its best own model"
    ends = np.concatenate([np.array(interval) for interval in better], axis=1)
    table |= dict(zip(("difference", "difference_low", "difference_high"), ends, strict=True))
    table["verdict"] = np.concatenate(verdicts)
    panels, title = list[Panel](), ""
    for line, interval, verdict in list(zip(lines, better, verdicts, strict=True))[:MOST]:
        title = counted(verdict, compared)
        marks, order = in_order(interval, verdict, names, even)
        name = f"{line.name}: {title.removeprefix(compared)}" if len(lines) > 1 else ""
        panels.append(Panel(marks, _people(participants, records, order), up, name))
    size = (6.5, 3.4) if len(panels) == 1 else (7.2, 2.6 * -(-len(panels) // 2))
    if len(panels) > 1:
        better_for = [int(np.sum(verdict == "gains")) for verdict in verdicts]
        title = f"{compared or 'Joining: '}better for {', '.join(map(str, better_for))} of "
        title += f"{n_owners} owners ({'; '.join(line.name for line in lines)})"
    declared = Declaration(panels, size, title)
    caption = (
        f"For each owner, in order: {shown}, with 95 % intervals. By ψ, the joint model fits all "
        f"records better than own models of {', '.join(map(str, fits))} of {n_owners} owners."
    )
    if len(lines) > MOST:
        caption += f" The first {MOST} of {len(lines)} results have a panel."
    return Picture("profit", declared, table, caption, label(results))


def judged(better: Ends, even: float) -> Any:
    """Return what intervals say of a difference, shape (N,): above or below even, or undecided."""
    _, low, high = better
    return np.select([low > even, high < even], ["gains", "does worse"], "undecided")


def counted(verdicts: Any, said: str = "") -> str:
    """Return how many owners have which verdict, in a sentence; ``said`` of what is no gain."""
    gains, worse, same, open_ = (int(np.sum(verdicts == name)) for name in LOOKS)
    total = len(verdicts)
    if said:
        text = f"{said}better for {gains} of {total} owners, worse for {worse}"
        return f"{text}, undecided for {open_}" if open_ else text
    text = f"{gains} of {total} owners gain by joining, {worse} do worse"
    text += f", {same} have no material difference" if same else ""
    return f"{text}, {open_} are undecided" if open_ else text


def in_order(
    better: Ends, verdicts: Any, names: Mapping[str, str], even: float = 0.0
) -> tuple[list[Layer], Any]:
    """Return differences and their intervals from the largest on, and the owners' order."""
    order = np.argsort(-np.nan_to_num(better[0], nan=-inf), kind="stable")
    value, low, high = (end[order] for end in better)
    places = np.arange(1, len(order) + 1)
    return _marked(places, (value, low, high), verdicts[order], names, even), order


def _marked(
    places: Any, gains: Ends, verdicts: Any, names: Mapping[str, str], even: float = 0.0
) -> list[Layer]:
    """Return gains and their intervals at places, marked by verdict, and the level of no gain."""
    size = float(np.clip(90 / len(places), 2.5, 5.0))
    marks = [Layer("level", y=even, look={"color": THEORY, "linewidth": 1.0})]
    for verdict, name in names.items():
        here = verdicts == verdict
        look = {"linestyle": "none", "markersize": size, "elinewidth": 0.9, **LOOKS[verdict]}
        if here.any():
            value, low, high = (end[here] for end in gains)
            marks.append(Layer("line", places[here], value, low, high, name, look=look))
    return marks


def _people(owners: Participants, records: Array, order: Any) -> Side:
    """Return the owners' axis: of a few each with its name and records, of many without ticks."""
    limits = (0.4, len(order) + 0.6)
    if len(order) > FEW_OWNERS:
        return Side("owners, the largest difference first", limits=limits, ticks=(), labels=())
    labels = [f"{plain_text(owners.labels[place])}\n{number(records[place])}" for place in order]
    return Side("owner $i$, with $n_i$ training rows", limits=limits,
                ticks=range(1, len(order) + 1), labels=labels)  # fmt: skip


def _scored(lines: Sequence[CurveLine], score: Score) -> tuple[Columns, list[Ends]]:
    """Return the score on own held-out rows as columns, and by how much the joint one is better.

    Of θ*, of θ_i*, and the mean over replicates of the private model's, with its interval.
    """
    name, first = f"held_out_{score.name}", lines[0].result
    optimum, alone = (
        first.of_owners(f"{name}{end}").mean(axis=0) for end in ("_optimum", "_alone")
    )
    estimates = [[mean_of(own) for own in line.result.of_owners(name).T] for line in lines]
    joint = np.array(estimates).transpose(0, 2, 1)
    columns = {f"{name}_optimum": np.tile(optimum, len(lines)),
               f"{name}_alone": np.tile(alone, len(lines)), name: joint[:, 0].ravel()}  # fmt: skip
    if score.more_is_better:
        return columns, [(line[0] - alone, line[1] - alone, line[2] - alone) for line in joint]
    return columns, [(alone - line[0], alone - line[2], alone - line[1]) for line in joint]


def headline(summary: dict[str, Any]) -> Score:
    """Return the first score that a summary has; there is one wherever rows were held out."""
    return next(score for score in SCORES if f"held_out_{score.name}" in summary)


OWNERS = "forecast-owners"
"""Name of the picture of a forecast's owners."""
KEYS = ("psi", "quantiles", "curve", "times", "owners", "data", "method", "not_for_release")
OF_OWNERS = {"owner", "records", "gain", "low", "high", "verdict"}
OF_BUDGETS = {"epsilon", "factor", "decision", "consortium", "owners"}
_COMMAND = "asyncdp forecast SCENARIO --json > FILE.json"


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
        if isinstance(read, dict) and all(key in read for key in KEYS) and _whole(read):
            return read
    except OSError as error:
        content, remedy = repr(str(file)), f"{unreadable(error)}; {remedy}"
    except ValueError:
        content = "a file that is not JSON"
    raise not_a_result(file, content, remedy)


def _whole(found: dict[str, Any]) -> bool:
    """Return whether the parts of a forecast are what they should be."""
    curve, times, levels, rows = (found[key] for key in ("curve", "times", "quantiles", "owners"))
    if not (isinstance(curve, list) and isinstance(times, list) and isinstance(rows, list)):
        return False
    tried = found.get("budgets", [])
    if not (isinstance(tried, list) and all(_has(each, OF_BUDGETS) for each in tried)):
        return False
    rows = [*rows, *(owner for each in tried for owner in each["owners"])]
    owners = all(_has(owner, OF_OWNERS) for owner in rows)
    spread = isinstance(levels, dict) and {"0.05", "0.95"} <= levels.keys()
    return owners and spread and len(curve) == len(times) > 0


def _has(part: object, keys: set[str]) -> bool:
    return isinstance(part, dict) and part.keys() >= keys


def pictures(found: dict[str, Any]) -> list[Picture]:
    """Draw a forecast."""
    drawn = [owners(found)] if len(found["owners"]) > 0 else []
    tried = by_epsilon(found)
    return [over_time(found), *drawn, *([] if tried is None else [tried])]


def beside_decision(found: Mapping[str, Any]) -> Picture | None:
    """Draw the gains of several owners; if at most one is known, its gain or the mean by ε."""
    several = len(found["owners"]) > 1
    drawn = None if several else by_epsilon(found)
    return owners(found) if drawn is None and len(found["owners"]) > 0 else drawn


def by_epsilon(found: Mapping[str, Any]) -> Picture | None:
    """Draw the gain of the average owner, or of the one that asks, at each ε that was tried.

    None where fewer than two were, or where that gain is not known. A line is at the ``epsilon``
    that a view of the forecast has.
    """
    tried = found.get("budgets", [])
    asks = found.get("reads") == "owner"
    gains = [each["owners"][0] if asks else each["consortium"] for each in tried]
    if len(gains) < 2 or None in gains:
        return None
    epsilon = np.array([each["epsilon"] for each in tried], dtype=float)
    value, low, high = (np.array([known(g[key]) for g in gains]) for key in ("gain", "low", "high"))
    verdicts = np.array([gain["verdict"] for gain in gains])
    marks = _marked(epsilon, (value, low, high), verdicts, {name: name for name in LOOKS})
    if "epsilon" in found:
        broad = {"color": BAND, "alpha": 0.3, "linewidth": 7, "zorder": 0}
        marks.append(Layer("upright", found["epsilon"], look=broad))
        marks.append(Layer("line", name="$\\epsilon$ chosen above", look=broad))
    unit = f" ({found['unit']})" if found.get("unit") else ""
    who = "this owner" if asks else "the average owner"
    said = Declaration(
        [
            Panel(
                marks,
                Side("$\\epsilon$ of the median owner", log=True, ticks=epsilon.tolist()),
                Side(f"gain: smaller {found['score']}{unit}", grid=True),
            )
        ],
        title=_from_epsilon(epsilon, verdicts, who),
    )
    caption = (
        f"Gain of {who} by joining at each ε that was tried, with 95 % intervals; all owners' ε "
        f"are scaled alike ({found['data']})."
    )
    table = {"epsilon": epsilon, "gain": value, "low": low, "high": high, "verdict": verdicts}
    return Picture("forecast-by-epsilon", said, table, caption, _label(found), exact=False)


def _from_epsilon(epsilon: Array, verdicts: Any, who: str) -> str:
    """Return at which ε an owner gains, in a sentence."""
    gains = epsilon[verdicts == "gains"]
    between = f"between ε = {number(epsilon[0])} and {number(epsilon[-1])}"
    if len(gains) == 0:
        return f"No gain of {who} is shown at any ε {between}"
    if len(gains) == len(epsilon):
        return f"{who[0].upper()}{who[1:]} gains at every ε tried {between}"
    return f"Of {len(epsilon)} ε {between}, {who} gains at {numbers(gains.tolist())}"


def over_time(found: dict[str, Any]) -> Picture:
    """Draw the expected ψ against time, the spread of ψ at the end, and the target."""
    times, curve = (np.array([known(v) for v in found[key]]) for key in ("times", "curve"))
    low, high = (known(found["quantiles"][level]) for level in ("0.05", "0.95"))
    marks = [
        Layer("line", times, curve, name="expected $\\psi$", look={"color": BLUE}),
        Layer("strokes", times[-1:], None, low, high, "5–95 % at the end",
              look={"color": BAND, "linewidth": 4}),
    ]  # fmt: skip
    if np.isfinite(target := known(found.get("target"))):
        look = {"color": VERMILION, "linestyle": ":"}
        marks.append(Layer("level", y=target, name="target", look=look))
    psi = Side(f"relative fitness $\\psi$\n{BETTER}", log=True, grid=True)
    panel = Panel(marks, Side(time_axis(found.get("time_unit"))), psi)
    title = (
        f"Expected ψ falls from {number(curve[0])} to {number(curve[-1])} in {number(times[-1])} "
        f"units; 90 % of runs end between {number(low)} and {number(high)}"
    )
    declared = Declaration([panel], title=in_unit(title, found.get("time_unit")))
    caption = (
        f"Expected relative fitness ψ over time ({found['method']}; {found['data']}). The bar "
        "at the end contains ψ of 90 % of runs. ψ is the fit to all records; whether an owner "
        "gains is another question."
    )
    table = {"time": times, "expected_psi": curve}
    return Picture("forecast-over-time", declared, table, caption, _label(found), exact=False)


def owners(found: Mapping[str, Any]) -> Picture:
    """Draw every owner's gain with its 95 % interval, the largest first."""
    rows = sorted(found["owners"], key=lambda owner: -np.nan_to_num(known(owner["gain"])))
    called = tuple(str(owner["name"]) for owner in rows if owner.get("name") is not None)
    people = Participants(tuple(owner["owner"] for owner in rows), called)
    better = [np.array([known(owner[key]) for owner in rows]) for key in ("gain", "low", "high")]
    verdicts = np.array([owner["verdict"] for owner in rows])
    records = np.array([owner["records"] for owner in rows], dtype=float)
    marks, order = in_order(
        (better[0], better[1], better[2]), verdicts, {name: name for name in LOOKS}
    )
    unit = f" ({found['unit']})" if found.get("unit") else ""
    up = Side(f"gain: smaller {found['score']}{unit}", grid=True)
    declared = Declaration([Panel(marks, _people(people, records, order), up)],
                       title=_forecast(found, verdicts))  # fmt: skip
    caption = f"Gain of each owner by joining, with 95 % intervals ({found['data']})."
    table = {**owner_table(people), "records": records}
    table |= dict(zip(("gain", "low", "high"), better, strict=True)) | {"verdict": verdicts}
    return Picture(OWNERS, declared, table, caption, _label(found), exact=False)


def _forecast(found: Mapping[str, Any], verdicts: Any) -> str:
    """Return the mean gain and its interval where it is known, and how many owners gain."""
    budgets = [epsilon for owner in found["owners"] if (epsilon := as_float(owner.get("epsilon")))]
    at = f"At ε = {numbers(budgets)}, " if budgets else ""
    together = found.get("consortium") or {}
    gain, low, high = (known(together.get(key)) for key in ("gain", "low", "high"))
    if not np.isfinite([gain, low, high]).all():
        return f"{at}{counted(verdicts)}"
    mean = f"the mean gain is {estimate(gain, low, high, found.get('unit') or '')}"
    text = f"{at}{mean}: {counted(verdicts)}"
    return f"{text[0].upper()}{text[1:]}"


def _label(found: Mapping[str, Any]) -> Label:
    """Return the label of a forecast, which is about the data that it read."""
    private = bool(found["not_for_release"])
    text = "Forecast, not a run. No private record was read."
    if private:
        text = "Forecast, not a run. NOT FOR RELEASE: it uses private data."
    return Label(
        text, not private, inf if private else 0.0, None if private else 0.0, True, private
    )
