"""Whom a learner asks, and how many at a time: the price of a ψ over m, a line for each p."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.figures.axes import BETTER, key, legend, looks, number_ticks, scale
from asyncdp_sim.figures.style import sheet
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario.paths import VARIANT

TASKS = "protocol.tasks"
TARGET = 0.02
"""ψ that is to be reached."""
APART = 1.18
"""Ratio of the heights at which lines stand that never get there, so that each is seen."""
BEST: dict[str, Any] = {
    "linestyle": "none", "marker": "o", "markersize": 10, "markerfacecolor": "none",
    "markeredgecolor": "black",
}  # fmt: skip
"""A ring around the least price."""
PRICES = {"time": "time until mean $\\psi$ is {:g}\n(units)",
          "joules": "energy until mean $\\psi$ is {:g}\n(J)"}  # fmt: skip


def mean_curve(result: Result) -> tuple[Array, Array]:
    """Return mean times and mean ψ at the recorded k."""
    k, time, psi = result.columns("curve", "k", "time", "relative_fitness")
    rows = [k == one for one in np.unique(k)]
    means = [np.array([each[some].mean() for some in rows]) for each in (time, psi)]
    return means[0], means[1]


def reached(time: Array, psi: Array, target: float) -> float:
    """Return when ψ first is a target, between the times given in proportion; ∞ if it never is."""
    below = np.flatnonzero(psi <= target)
    if len(below) == 0:
        return float("inf")
    at = int(below[0])
    if at == 0:
        return float(time[0])
    share = np.log(psi[at - 1] / target) / np.log(psi[at - 1] / psi[at])
    return float(time[at - 1] + share * (time[at] - time[at - 1]))


def time_to(result: Result, target: float = TARGET) -> float:
    """Return when mean ψ first is a target, between recorded k in proportion; ∞ if it never is."""
    return reached(*mean_curve(result), target)


def end(result: Result) -> float:
    """Return mean ψ after the last update."""
    return float(mean_curve(result)[1][-1])


def joules_to(result: Result) -> float:
    """Return the joules of all owners until then: mean power times the time."""
    summary = result.summary
    return time_to(result) * float(summary["joules"]) / float(summary["simulated_time"])


def select(sweep: Sweep) -> list[Series] | str:
    """Return a line for each p, of a sweep of variants that differ in p, and of m."""
    if set(sweep.paths) != {TASKS, VARIANT}:
        return f"a sweep of something else than variants and {TASKS}"
    return Series.grouped(
        sweep.cells, lambda c: str(c.values[VARIANT]), lambda c: float(c.values[TASKS])
    )


def _rows(line: Series) -> Columns:
    """Return the prices of the target, joules where they are known, and ψ at the end."""
    asked = {"time": time_to, "psi": end}
    asked |= {"joules": joules_to} if "joules" in line.results[0].summary else {}
    columns = {name: np.array(list(map(of, line.results))) for name, of in asked.items()}
    return line.rows("p", "tasks") | columns


def panels(found: Sequence[Series], rows: Sequence[Columns]) -> Figure:
    """Draw what a ψ takes, and the ψ after as many updates, over m, a line for each p."""
    drawn = looks(len(found), markersize=4.5)
    priced = {
        name: words
        for name, words in PRICES.items()
        if name in rows[0] and any(np.isfinite(table[name]).any() for table in rows)
    }
    figure = sheet(7.6, 3.6)
    *prices, last = figure.subplots(1, len(priced) + 1, squeeze=False)[0]
    for axes, (column, words) in zip(prices, priced.items(), strict=True):
        _price(axes, rows, column, drawn)
        scale(axes, "xy", ylabel=words.format(TARGET))
    for table, look in zip(rows, drawn, strict=True):
        last.plot(table["tasks"], table["psi"], **look)
    last.axhline(TARGET, color="0.4", linestyle="--", linewidth=0.9)
    updates = found[0].results[0].updates
    scale(last, "xy", ylabel=f"mean $\\psi$ after {updates} updates\n{BETTER}")
    for axes in (*prices, last):
        number_ticks(axes, rows[0]["tasks"])
        axes.set_xlabel("tasks under way, $m$")
    keys = [key(line.name, **look) for line, look in zip(found, drawn, strict=True)]
    keys += [key("best of all", **BEST), key("target", color="0.4", linestyle="--")]
    legend(figure, keys, 3)
    return figure


def _price(axes: Axes, rows: Sequence[Columns], column: str, drawn: Sequence[Any]) -> None:
    """Draw a price over m; what never gets there is above it all, and the least is ringed."""
    axes.margins(y=0.2)
    tasks, paid = (np.concatenate([table[name] for table in rows]) for name in ("tasks", column))
    never = 1.7 * float(paid[np.isfinite(paid)].max())
    for place, (table, look) in enumerate(zip(rows, drawn, strict=True)):
        there = np.isfinite(table[column])
        axes.plot(table["tasks"][there], table[column][there], **look)
        lost = table["tasks"][~there]
        hollow = look | {"linestyle": "none", "markerfacecolor": "none"}
        axes.plot(lost, np.full(len(lost), never * APART**place), **hollow)
    if np.isinf(paid).any():
        axes.annotate("never", (tasks.min(), never), va="center", fontsize=8)
    best = int(np.argmin(paid))
    axes.plot(tasks[best], paid[best], **BEST)
    beside: dict[str, Any] = {"xytext": (-8, -15), "textcoords": "offset points", "fontsize": 8}
    axes.annotate(f"{paid[best]:.3g}", (tasks[best], paid[best]), **beside)


_CAPTION = (
    f"Time, and energy where it is known, until mean ψ is {TARGET:g}, if a policy reaches it; "
    "last: mean ψ after an equal number of updates. All against the number of tasks under way, for "
    "each policy by which the learner chooses owners. Policies that never reach the target are at "
    "the top. Every owner spends the same ε under each policy; its number of answers, and their "
    "noise, differ."
)
FIGURE = SweepFigure("whom-to-ask", select, _rows, panels, lambda *_: _CAPTION)
