"""The price of a collision: what answers that are lost on a shared channel cost, per channel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from asyncdp_sim.figures.kit.numbers import as_float, columns, number
from asyncdp_sim.figures.kit.outcomes import Figure, psi_at_end
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.source import Result, Sweep, not_a_result
from asyncdp_sim.figures.kit.style import MARKERS, colours, plain_numbers, small_panels, style
from asyncdp_sim.figures.sweeps.throughput import NAMES

Array = npt.NDArray[np.float64]
CHANNEL = "channel"
LEAST = 2  # channels, and loads
WIDE = 20.0  # figures that span more than this ratio are on a logarithmic axis
AXES = {
    "price": "answers paid for\nper update",
    "updates": "updates before\nbudgets are spent",
    "psi_final_median": "$\\psi$ at the end\n(median)",
    "time": "time per update\n(units)",
}
"""What is drawn, and what its axis says."""


@dataclass(frozen=True)
class Line:
    """The cells of one channel, in ascending order of the load that owners offer."""

    name: str
    load: Array
    results: tuple[Result, ...]


def lines_of(sweep: Sweep) -> list[Line] | str:
    """Return a sweep's channels over their loads, or in words why it compares none."""
    if CHANNEL not in sweep.paths:
        return "no channels are compared"
    results = [cell.result for cell in sweep.cells if cell.result.summary["updates"] > 0]
    if not all(_capped(each) for each in results):
        return "budgets hold T answers each: no run ends since they are spent"
    airtimes = {_airtime(each) for each in results} - {None}
    if len(airtimes) != 1:
        return "channels without an airtime, or with several"
    airtime = airtimes.pop()
    found: dict[str, dict[float, Result]] = {}
    for each in results:
        offered = each.n_owners * _rate(each) * (airtime or 0.0)
        kind = str(each.scenario[CHANNEL]["kind"])
        if offered in found.setdefault(kind, {}):
            return f"several cells of {kind} with one load"
        found[kind][offered] = each
    if len(found) < LEAST or min(map(len, found.values())) < LEAST:
        return f"fewer than {LEAST} channels, or loads of each"
    return [
        Line(NAMES.get(kind, kind), np.array(sorted(of)), tuple(of[load] for load in sorted(of)))
        for kind, of in found.items()
    ]


def why_not(sweep: Sweep) -> str | None:
    """Return in words why a sweep does not tell the price of collisions; None if it does."""
    found = lines_of(sweep)
    return found if isinstance(found, str) else None


def picture(sweep: Sweep) -> Picture:
    """Draw what a budget of answers brings on each channel, against the load that owners offer.

    The load is Nλ times the airtime: transmissions per airtime, if every tick made one and none
    had to wait.

    Raises
    ------
    ResultError
        If channels are not compared so, or a table is damaged.
    """
    found = lines_of(sweep)
    if isinstance(found, str):
        raise not_a_result(sweep.directory, found)
    rows = [_rows(each) for each in found]
    with style():
        figure, panels = small_panels(len(AXES), room=0.5)
        looks = list(zip(colours(len(found)), MARKERS * 2, strict=False))
        for axes, what in zip(panels, AXES, strict=True):
            for place, (some, (shade, marker)) in enumerate(zip(rows, looks, strict=False)):
                size = 4 + 0.8 * (len(rows) - 1 - place)  # lines that coincide remain visible
                _draw(axes, some, what, {"color": shade, "marker": marker, "markersize": size})
            _scale(axes, what, rows)
        for axes in panels[-2:]:
            axes.set_xlabel("offered load (answers per airtime)")
        names = [each.name for each in found]
        keys = [
            Line2D([], [], color=shade, marker=marker, markersize=4, linewidth=1.1, label=name)
            for name, (shade, marker) in zip(names, looks, strict=False)
        ]
        figure.legend(handles=keys, loc="outside upper left", ncols=columns(names))
    results = [result for each in found for result in each.results]
    table = {name: np.concatenate([some[name] for some in rows]) for name in rows[0]}
    return Picture("collision-price", figure, table, _caption(found, rows), label(results))


def _draw(axes: Axes, rows: Mapping[str, npt.NDArray[Any]], what: str, look: Any) -> None:
    value, low, high = (rows[f"{what}{end}"] for end in ("", "_low", "_high"))
    errors = np.nan_to_num(np.abs([value - low, high - value]))
    plain: dict[str, Any] = {"linewidth": 1.1, "elinewidth": 1.2, "capsize": 2}
    axes.errorbar(rows["load"], value, yerr=errors, **plain, **look)


def _scale(axes: Axes, what: str, rows: Sequence[Mapping[str, npt.NDArray[Any]]]) -> None:
    loads = np.unique(np.concatenate([some["load"] for some in rows])).tolist()
    values = np.concatenate([some[what] for some in rows])
    axes.set_xscale("log")
    axes.set_xticks(loads, list(map(number, loads)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if what == "price" or (values.min() > 0 and values.max() > WIDE * values.min()):
        axes.set_yscale("log")
        plain_numbers(axes)
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(AXES[what])
    axes.grid(axis="y")


def _rows(line: Line) -> dict[str, npt.NDArray[Any]]:
    """Return what is drawn of one channel: a row for every load."""
    rows: list[dict[str, Any]] = []
    for load, result in zip(line.load, line.results, strict=True):
        released, used, collided = (
            values.reshape(-1, result.n_owners).sum(axis=1)
            for values in result.columns("owners", "answers_released", "updates", "collided")
        )
        replicate, k, time = result.columns("curve", "replicate", "k", "time")
        last = np.flatnonzero(np.diff(replicate, append=-1) != 0)
        found = {
            "price": _range(released / np.maximum(used, 1)),
            "updates": _range(used.astype(float)),
            "psi_final_median": psi_at_end(result),
            "time": _range(time[last] / np.maximum(k[last], 1)),
        }
        row: dict[str, Any] = {"channel": line.name, "load": load}
        row["collided"] = collided.sum() / max(1, released.sum())
        for what, (value, low, high) in found.items():
            row |= {what: value, f"{what}_low": low, f"{what}_high": high}
        rows.append(row)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _range(values: Array) -> Figure:
    return Figure(float(values.mean()), float(values.min()), float(values.max()))


def _capped(result: Result) -> bool:
    return bool(result.scenario["privacy"].get("budget", {}).get("kind") == "per-owner-cap")


def _airtime(result: Result) -> float | None:
    return as_float(result.scenario[CHANNEL].get("airtime"))


def _rate(result: Result) -> float:
    rate = result.scenario["clock"].get("rate", 1.0)
    return float(np.mean(rate))


def _caption(found: Sequence[Line], rows: Sequence[Mapping[str, npt.NDArray[Any]]]) -> str:
    told = "; ".join(
        f"{each.name} {number(some['price'][-1])} ({100 * some['collided'][-1]:.2g} % collided)"
        for each, some in zip(found, rows, strict=True)
    )
    top = max(each.load[-1] for each in found)
    return (
        "What budgets of so many answers bring, against the load that owners offer (Nλ times the "
        "airtime), for each channel: answers that were released, and charged, for each one that "
        "became an update; updates until budgets were spent, or T; ψ of the last model (median, "
        "with its 95 % interval, or whole range of few replicates); and the time of the last "
        "update over its number. Other values are means, their strokes the range over "
        f"replicates. Answers paid for per update at load {number(top)}: {told}."
    )
