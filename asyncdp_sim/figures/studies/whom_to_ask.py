"""Whom a learner asks, and how many at a time: the price of a ψ over m, a line for each p."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import LogLocator, ScalarFormatter

from asyncdp_sim.figures.kit.axes import key, legend, log_axis, looks
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import sheet, style
from asyncdp_sim.results import Result, Sweep, not_a_result
from asyncdp_sim.scenario.paths import VARIANT

Array = npt.NDArray[np.float64]
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


def joules_to(result: Result, target: float = TARGET) -> float:
    """Return the joules of all owners until then: mean power times the time."""
    summary = result.summary
    return time_to(result, target) * float(summary["joules"]) / float(summary["simulated_time"])


def whom_to_ask(sweep: Sweep, *, name: str = "whom-to-ask") -> Picture:
    """Draw what a ψ takes, and the ψ after as many updates, over m, a line for each p.

    Parameters
    ----------
    sweep : Sweep
        Of variants that differ in p, and of m; with ``[energy]`` joules are drawn too.
    name : str
        Of the files.

    Raises
    ------
    ResultError
        If it is another one.
    """
    if set(sweep.paths) != {TASKS, VARIANT}:
        raise not_a_result(sweep.directory, f"a sweep of variants and of {TASKS}")
    names = list(dict.fromkeys(str(cell.values[VARIANT]) for cell in sweep.cells))
    drawn = looks(len(names), markersize=4.5)
    powered = "joules" in sweep.cells[0].result.summary
    table = _table(sweep, names, powered)
    priced = {"time": "time until mean $\\psi$ is {:g} (units)"}
    priced |= {"joules": "energy until mean $\\psi$ is {:g} (J)"} if powered else {}
    with style():
        figure = sheet(7.6, 3.6)
        *prices, last = figure.subplots(1, len(priced) + 1)
        for axes, (column, words) in zip(prices, priced.items(), strict=True):
            _price(axes, table, column, names, drawn)
            axes.set_ylabel(words.format(TARGET))
        for one, look in zip(names, drawn, strict=True):
            mine = table["p"] == one
            last.plot(table["tasks"][mine], table["psi"][mine], **look)
        log_axis(last)
        last.axhline(TARGET, color="0.4", linestyle="--", linewidth=0.9)
        updates = int(sweep.cells[0].result.columns("curve", "k")[0].max())
        last.set_ylabel(f"mean $\\psi$ after {updates} updates")
        for axes in (*prices, last):
            _tasks(axes, sorted(set(table["tasks"].astype(int).tolist())))
        keys = [key(one, **look) for one, look in zip(names, drawn, strict=True)]
        keys += [key("best of all", **BEST), key("target", color="0.4", linestyle="--")]
        legend(figure, keys, 3)
    also = " and energy (middle)" if powered else ""
    caption = (
        f"Time (left){also} until mean ψ is {TARGET:g} and mean ψ after as many updates as all "
        "have (right), over how many tasks are under way, by whom the learner asks. Choices that "
        "never get there are at the top. Every owner spends the same ε whatever is chosen: its "
        "answers, and the noise of each, follow how often it is asked."
    )
    return Picture(name, figure, table, caption, label([cell.result for cell in sweep.cells]))


def _table(sweep: Sweep, names: Sequence[str], powered: bool) -> dict[str, Array]:
    rows: dict[str, list[Any]] = {each: [] for each in ("p", "tasks", "time", "joules", "psi")}
    for one in names:
        for cell in (each for each in sweep.cells if each.values[VARIANT] == one):
            rows["p"].append(one)
            rows["tasks"].append(float(cell.values[TASKS]))
            rows["time"].append(time_to(cell.result))
            rows["joules"].append(joules_to(cell.result) if powered else np.nan)
            rows["psi"].append(end(cell.result))
    if not powered:
        del rows["joules"]
    return {column: np.array(values) for column, values in rows.items()}


def _price(
    axes: Any, table: dict[str, Array], column: str, names: Sequence[str], looks: Sequence[Any]
) -> None:
    """Draw a price over m; what never gets there is above it all, and the least is ringed."""
    log_axis(axes)
    axes.margins(y=0.14)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ScalarFormatter())
    paid = table[column]
    there = np.isfinite(paid)
    never = 1.7 * float(paid[there].max())
    for at, (one, look) in enumerate(zip(names, looks, strict=True)):
        mine = table["p"] == one
        axes.plot(table["tasks"][mine & there], paid[mine & there], **look)
        lost = mine & ~there
        open_mark = {**look, "linestyle": "none", "markerfacecolor": "none"}
        axes.plot(table["tasks"][lost], np.full(int(lost.sum()), never * APART**at), **open_mark)
    if not there.all():
        axes.annotate("never", (table["tasks"].min(), never), va="center", fontsize=8)
    best = int(np.argmin(np.where(there, paid, np.inf)))
    axes.plot(table["tasks"][best], paid[best], **BEST)
    said = f"{paid[best]:.3g}"
    place = {"xytext": (-8, -15), "textcoords": "offset points", "fontsize": 8}
    axes.annotate(said, (table["tasks"][best], paid[best]), **place)


def _tasks(axes: Any, every: Sequence[int]) -> None:
    """Name each m below."""
    log_axis(axes, "x")
    axes.set_xticks(every, [str(each) for each in every])
    axes.minorticks_off()
    axes.set_xlabel("tasks under way, $m$")
    axes.grid(axis="y")


__all__ = ["TARGET", "TASKS", "end", "joules_to", "mean_curve", "reached", "time_to", "whom_to_ask"]
