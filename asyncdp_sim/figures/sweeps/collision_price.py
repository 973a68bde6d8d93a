"""The price of a collision: what answers that are lost on a shared channel cost, per channel."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn
from matplotlib.ticker import NullFormatter

from asyncdp_sim.figures.kit.numbers import as_float, columns, number
from asyncdp_sim.figures.kit.outcomes import Figure, psi_at_end
from asyncdp_sim.figures.kit.source import Result, Sweep
from asyncdp_sim.figures.kit.style import MARKERS, colours, plain_numbers, small_panels
from asyncdp_sim.figures.sweeps.sweep_figure import (
    Series,
    SweepFigure,
    Table,
    as_columns,
    draw_rows,
    key,
)
from asyncdp_sim.network.channels import label_of

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


def select(sweep: Sweep) -> list[Series] | str:
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
    return Series.sorted({label_of(kind): of for kind, of in found.items()})


def panels(found: Sequence[Series], rows: Sequence[Table]) -> Drawn:
    """Draw what a budget of answers brings on each channel, against the load that owners offer.

    The load is Nλ times the airtime: transmissions per airtime, if every tick made one and none
    had to wait.
    """
    figure, several = small_panels(len(AXES), room=0.5)
    looks = list(zip(colours(len(found)), MARKERS * 2, strict=False))
    for axes, what in zip(several, AXES, strict=True):
        for place, (some, (shade, marker)) in enumerate(zip(rows, looks, strict=False)):
            size = 4 + 0.8 * (len(rows) - 1 - place)  # lines that coincide remain visible
            look = {"color": shade, "marker": marker, "markersize": size}
            draw_rows(axes, some, "load", what, PLAIN | look)
        _scale(axes, what, rows)
    for axes in several[-2:]:
        axes.set_xlabel("offered load (answers per airtime)")
    names = [each.name for each in found]
    keys = [key(name, *look) for name, look in zip(names, looks, strict=False)]
    figure.legend(handles=keys, loc="outside upper left", ncols=columns(names))
    return figure


PLAIN: dict[str, Any] = {"linewidth": 1.1, "elinewidth": 1.2, "capsize": 2}


def _scale(axes: Axes, what: str, rows: Sequence[Table]) -> None:
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


def _rows(line: Series) -> Table:
    """Return what is drawn of one channel: a row for every load."""
    rows: list[dict[str, Any]] = []
    for load, result in zip(line.at, line.results, strict=True):
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
    return as_columns(rows)


def _range(values: Array) -> Figure:
    return Figure(float(values.mean()), float(values.min()), float(values.max()))


def _capped(result: Result) -> bool:
    return bool(result.scenario["privacy"].get("budget", {}).get("kind") == "per-owner-cap")


def _airtime(result: Result) -> float | None:
    return as_float(result.scenario[CHANNEL].get("airtime"))


def _rate(result: Result) -> float:
    rate = result.scenario["clock"].get("rate", 1.0)
    return float(np.mean(rate))


def _caption(found: Sequence[Series], rows: Sequence[Table]) -> str:
    told = "; ".join(
        f"{each.name} {number(some['price'][-1])} ({100 * some['collided'][-1]:.2g} % collided)"
        for each, some in zip(found, rows, strict=True)
    )
    top = max(each.at[-1] for each in found)
    return (
        "What budgets of so many answers bring, against the load that owners offer (Nλ times the "
        "airtime), for each channel: answers that were released, and charged, for each one that "
        "became an update; updates until budgets were spent, or T; ψ of the last model (median, "
        "with its 95 % interval, or whole range of few replicates); and the time of the last "
        "update over its number. Other values are means, their strokes the range over "
        f"replicates. Answers paid for per update at load {number(top)}: {told}."
    )


FIGURE = SweepFigure(
    "collision-price", select, lambda found: list(map(_rows, found)), panels, _caption
)
