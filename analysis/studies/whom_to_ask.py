"""Whom a learner asks, and how many at a time: the price of a ψ over m, a line for each p."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side
from asyncdp_sim.figures.style import looks
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario.paths import VARIANT

TASKS = "protocol.tasks"
TARGET = 0.02
"""ψ that is to be reached, where a learner chooses whom to ask."""
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


def _by_tasks(sweep: Sweep) -> list[Series] | str:
    """Return a line for each p, of a sweep of variants that differ in p, and of m."""
    if set(sweep.paths) != {TASKS, VARIANT}:
        return f"a sweep of something else than variants and {TASKS}"
    return Series.grouped(
        sweep.cells, lambda c: str(c.values[VARIANT]), lambda c: float(c.values[TASKS])
    )


def _prices(line: Series) -> Columns:
    """Return the prices of the target, joules where they are known, and ψ at the end."""
    asked = {"time": time_to, "psi": end}
    asked |= {"joules": joules_to} if "joules" in line.results[0].summary else {}
    columns = {name: np.array(list(map(of, line.results))) for name, of in asked.items()}
    return line.rows("p", "tasks") | columns


def _whom(found: Sequence[Series], rows: Sequence[Columns]) -> Declaration:
    """Say what a ψ takes, and the ψ after as many updates, over m, a line for each p."""
    drawn = looks(len(found), markersize=4.5)
    across = Side("tasks under way, $m$", log=True, ticks=rows[0]["tasks"].tolist())
    several = [
        _price(rows, name, drawn, across, words.format(TARGET))
        for name, words in PRICES.items()
        if name in rows[0] and any(np.isfinite(table[name]).any() for table in rows)
    ]
    dashed = {"color": "0.4", "linestyle": "--", "linewidth": 0.9}
    curves = [
        Layer("line", table["tasks"], table["psi"], name=line.name, look=look)
        for line, table, look in zip(found, rows, drawn, strict=True)
    ]
    curves += [Layer("line", name="best of all", look=BEST),
               Layer("level", y=TARGET, name="target", look=dashed)]  # fmt: skip
    named = f"mean $\\psi$ after {found[0].results[0].updates} updates\n{BETTER}"
    several.append(Panel(curves, across, Side(named, log=True, grid=True)))
    return Declaration(several, (7.6, 3.4), cheapest(rows), len(several))


def cheapest(rows: Sequence[Columns]) -> str:
    """Return which policy and number of tasks reach the target in the least time, and energy."""
    name, tasks = (np.concatenate([table[of] for table in rows]) for of in ("p", "tasks"))
    parts = []
    for price, unit in (("time", "units"), ("joules", "J")):
        paid = np.concatenate(
            [table.get(price, np.full(len(table["p"]), np.inf)) for table in rows]
        )
        if np.isfinite(paid).any():
            best = int(np.argmin(paid))
            parts.append(f"{number(paid[best])} {unit} ({name[best]}, m = {number(tasks[best])})")
    if len(parts) == 0:
        return f"No policy reaches mean ψ = {TARGET:g}"
    return f"Mean ψ = {TARGET:g} takes at least {' and '.join(parts)}"


def _price(
    rows: Sequence[Columns], column: str, drawn: Sequence[Any], across: Side, named: str
) -> Panel:
    """Return a price over m; what never gets there is above it all, and the least is ringed."""
    tasks, paid = (np.concatenate([table[name] for table in rows]) for name in ("tasks", column))
    never, marks = 1.7 * float(paid[np.isfinite(paid)].max()), list[Layer]()
    for place, (table, look) in enumerate(zip(rows, drawn, strict=True)):
        there = np.isfinite(table[column])
        marks.append(Layer("line", table["tasks"][there], table[column][there], look=look))
        lost = table["tasks"][~there]
        hollow = look | {"linestyle": "none", "markerfacecolor": "none"}
        marks.append(Layer("line", lost, np.full(len(lost), never * APART**place), look=hollow))
    if np.isinf(paid).any():
        marks.append(Layer("note", tasks.min(), never, name="never", look={"xytext": (0, 0)}))
    best = int(np.argmin(paid))
    beside = {"xytext": (-8, -15), "fontsize": 8}
    marks.append(Layer("line", tasks[[best]], paid[[best]], look=BEST))
    said = f"{paid[best]:.3g}"
    marks.append(Layer("note", tasks[best], paid[best], name=said, look=beside))
    limits = (paid[best] / 1.9, 1.3 * never * APART ** len(rows))
    return Panel(marks, across, Side(named, log=True, limits=limits, grid=True))


FIGURE = SweepFigure(
    "whom-to-ask", _by_tasks, _prices, _whom,
    lambda *_: (
        f"Time, and energy where it is known, until mean ψ is {TARGET:g}, if a policy reaches it; "
        "last: mean ψ after an equal number of updates. All against the number of tasks under way, "
        "for each policy by which the learner chooses owners. Policies that never reach the target "
        "are at the top. Every owner spends the same ε under each policy; its number of answers, "
        "and their noise, differ."
    ),
)  # fmt: skip
