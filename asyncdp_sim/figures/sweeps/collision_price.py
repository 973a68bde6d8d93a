"""The price of a collision: what answers that are lost on a shared channel cost, per channel."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from asyncdp_sim.figures.kit.axes import columns, draw_line, key, legend, looks, number_ticks, scale
from asyncdp_sim.figures.kit.outcomes import Estimate, psi_at_end
from asyncdp_sim.figures.kit.style import small_panels
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, ends
from asyncdp_sim.network.channels import label_of
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.words import as_float

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
    cells = [cell for cell in sweep.cells if cell.result.summary["updates"] > 0]
    if not all(_capped(cell.result) for cell in cells):
        return "budgets hold T answers each: no run ends since they are spent"
    airtimes = {_airtime(cell.result) for cell in cells} - {None}
    if len(airtimes) != 1:
        return "channels without an airtime, or with several"
    airtime = airtimes.pop()
    found = Series.grouped(
        cells,
        lambda cell: label_of(str(cell.result.scenario[CHANNEL]["kind"])),
        lambda cell: cell.result.n_owners * _rate(cell.result) * (airtime or 0.0),
    )
    for each in found:
        if len(set(each.at)) < len(each.at):
            return f"several cells of {each.name} with one load"
    if len(found) < LEAST or min(len(each.at) for each in found) < LEAST:
        return f"fewer than {LEAST} channels, or loads of each"
    return found


def panels(found: Sequence[Series], rows: Sequence[Table]) -> Figure:
    """Draw what a budget of answers brings on each channel, against the load that owners offer.

    The load is Nλ times the airtime: transmissions per airtime, if every tick made one and none
    had to wait.
    """
    figure, several = small_panels(len(AXES), room=0.5)
    lines = looks(len(found), linewidth=1.1)
    for axes, what in zip(several, AXES, strict=True):
        for place, (some, look) in enumerate(zip(rows, lines, strict=True)):
            size = 4 + 0.8 * (len(rows) - 1 - place)  # lines that coincide remain visible
            draw_line(axes, some["load"], ends(some, what), markersize=size, **look)
        _scale(axes, what, rows)
    for axes in several[-2:]:
        axes.set_xlabel("offered load (answers per airtime)")
    names = [each.name for each in found]
    keys = [key(name, markersize=4, **look) for name, look in zip(names, lines, strict=True)]
    legend(figure, keys, columns(names))
    return figure


def _scale(axes: Axes, what: str, rows: Sequence[Table]) -> None:
    values = np.concatenate([some[what] for some in rows])
    wide = what == "price" or (values.min() > 0 and values.max() > WIDE * values.min())
    scale(axes, "xy" if wide else "x", ylabel=AXES[what])
    number_ticks(axes, np.concatenate([some["load"] for some in rows]).tolist())
    if not wide:
        axes.set_ylim(bottom=0)


def _rows(line: Series) -> Table:
    """Return what is drawn of one channel: a row for every load."""
    known = {
        "price": lambda result: _range(_answers(result)[0] / np.maximum(_answers(result)[1], 1)),
        "updates": lambda result: _range(_answers(result)[1].astype(float)),
        "psi_final_median": psi_at_end,
        "time": lambda result: _range(_time(result)),
    }
    released, _, collided = np.array([_answers(each).sum(axis=1) for each in line.results]).T
    share = {"collided": collided / np.maximum(released, 1)}
    return line.rows("channel", "load", **known) | share


def _answers(result: Result) -> npt.NDArray[Any]:
    """Return how many answers were released, became updates and collided, shape (3, R)."""
    names = ("answers_released", "updates", "collided")
    return np.array([result.of_owners(name).sum(axis=1) for name in names])


def _time(result: Result) -> Array:
    """Return the time per update of every replicate."""
    k, time = result.last("k", "time")
    return np.asarray(time / np.maximum(k, 1))


def _range(values: Array) -> Estimate:
    return Estimate(float(values.mean()), float(values.min()), float(values.max()))


def _capped(result: Result) -> bool:
    return bool(result.scenario["privacy"].get("budget", {}).get("kind") == "per-owner-cap")


def _airtime(result: Result) -> float | None:
    return as_float(result.scenario[CHANNEL].get("airtime"))


def _rate(result: Result) -> float:
    rate = result.scenario["clock"].get("rate", 1.0)
    return float(np.mean(rate))


_CAPTION = (
    "What budgets of so many answers bring, against the load that owners offer (Nλ times the "
    "airtime), for each channel: answers that were released, and charged, for each one that "
    "became an update; updates until budgets were spent, or T; ψ of the last model (median, "
    "with its 95 % interval, or whole range of few replicates); and the time of the last "
    "update over its number. Other values are means, their strokes the range over replicates."
)

FIGURE = SweepFigure("collision-price", select, _rows, panels, lambda *_: _CAPTION)
