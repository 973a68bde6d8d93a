"""Whom a learner asks, and how many at a time: the price of a ψ over m, a line for each p.

Intervals are of replicates drawn again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side, measured
from asyncdp_sim.figures.style import GRAY, looks
from asyncdp_sim.figures.sweep_figure import OutcomeEstimate, Series, SweepFigure, ends, estimates
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario.paths import VARIANT

TASKS = "protocol.tasks"
TARGET = 0.02
"""ψ that is to be reached, where a learner chooses whom to ask."""
APART = 1.18
"""Ratio of heights in the strip of what never gets there, so that each is seen."""
ASIDE = 1.04
"""Ratio of the m at which neighbouring policies are drawn, so that each is seen."""
BEST: dict[str, Any] = {
    "linestyle": "none", "marker": "o", "markersize": 10, "markerfacecolor": "none",
    "markeredgecolor": "black",
}  # fmt: skip
"""A ring around the least price."""
BEYOND: dict[str, Any] = {"color": "0.92", "zorder": 0}
"""The strip above the axis' numbers: what is not reached within the run."""
OPEN: dict[str, Any] = {"linestyle": "none", "marker": "^", "color": GRAY, "markersize": 4}
PUBLISHED: dict[str, Any] = {"color": "#E69F00", "alpha": 0.25, "zorder": 0}
TICKS = [step * 10**power for power in range(5) for step in (1, 2, 5)]
SAVED = {"time": (0.29, 0.46), "joules": (0.36, 0.49)}
"""Published shares that are saved over all alike with as many tasks as owners (2603.26231)."""
DRAWS, SEED = 200, 22
"""How often replicates are drawn again for an interval, and by which seed."""
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


def time_estimate(result: Result) -> OutcomeEstimate:
    """Return when mean ψ first is the target, with a 95 % interval: NaN where some never are."""
    replicate, time, psi = result.columns("curve", "replicate", "time", "relative_fitness")
    count = len(np.unique(replicate))
    times, curves = time.reshape(count, -1), psi.reshape(count, -1)
    draws = np.random.default_rng(SEED).integers(0, count, (DRAWS, count))
    again = [reached(times[d].mean(axis=0), curves[d].mean(axis=0), TARGET) for d in draws]
    low, high = np.quantile(again, (0.025, 0.975), method="nearest")
    return OutcomeEstimate(time_to(result), low, high)


def end(result: Result) -> float:
    """Return mean ψ after the last update."""
    return float(mean_curve(result)[1][-1])


def power(result: Result) -> float:
    """Return the mean watts of all owners together."""
    return float(result.summary["joules"]) / float(result.summary["simulated_time"])


def _by_tasks(sweep: Sweep) -> list[Series] | str:
    """Return a line for each p, of a sweep of variants that differ in p, and of m."""
    if set(sweep.paths) != {TASKS, VARIANT}:
        return f"a sweep of something else than variants and {TASKS}"
    return Series.grouped(
        sweep.cells, lambda c: str(c.values[VARIANT]), lambda c: float(c.values[TASKS])
    )


def _prices(line: Series) -> Columns:
    """Return the prices of the target, in joules where they are known, with their intervals."""
    times = np.array(list(map(time_estimate, line.results)))
    columns = line.rows("p", "tasks") | estimates("time", times)
    if "joules" in line.results[0].summary:
        watts = np.array(list(map(power, line.results)))
        columns |= estimates("joules", times * watts[:, None])
    return columns


def _whom(found: Sequence[Series], rows: Sequence[Columns]) -> Declaration:
    """Say what a ψ takes over m, a line for each p."""
    drawn = looks(len(found), markersize=4.5)
    across = Side("tasks under way, $m$", log=True, ticks=rows[0]["tasks"].tolist())
    several = [
        _price(rows, name, drawn, across, words.format(TARGET), found[0].results[0].n_owners)
        for name, words in PRICES.items()
        if name in rows[0]
    ]
    title = cheapest(rows, found[0].results[0].n_owners)
    return Declaration(several, (6.5, 3.4), title)


def cheapest(rows: Sequence[Columns], n_owners: int) -> str:
    """Return which policy and number of tasks reach the target in the least time, and energy.

    With what that saves over the first policy with as many tasks as owners, and was published.
    """
    name, tasks = (np.concatenate([table[of] for table in rows]) for of in ("p", "tasks"))
    parts, savings = dict[str, list[str]](), list[str]()
    usual = np.flatnonzero((tasks == n_owners) & (name == name[0]))
    for price, unit in (("time", "units"), ("joules", "J")):
        if price not in rows[0]:
            continue
        value, low, high = np.concatenate([ends(table, price) for table in rows], axis=1)
        if not np.isfinite(high).any():
            continue
        best = _cheapest(value, high)
        cost = f"{number(value[best])} {unit} ({number(low[best])} to {number(high[best])})"
        if value.min() < value[best]:
            cost += f" ({number(value.min())} has no upper end)"
        parts.setdefault(f"m = {number(tasks[best])}, {name[best]}", []).append(cost)
        if len(usual) > 0 and np.isfinite(value[usual[0]]):
            least, most = SAVED[price]
            saved = 1 - value[best] / value[usual[0]]
            savings.append(
                f"{100 * saved:.0f} % (published {100 * least:.0f} to {100 * most:.0f} %)"
            )
    if len(parts) == 0:
        return f"No interval of a policy that reaches mean ψ = {TARGET:g} is finite"
    ways = "; ".join(f"{' and '.join(costs)} with {way}" for way, costs in parts.items())
    over = f"; saved over {name[0]}, m = {n_owners}: " + " and ".join(savings) if savings else ""
    return f"With finite intervals, the cheapest ways to mean ψ = {TARGET:g} take {ways}{over}"


def _cheapest(value: Array, high: Array) -> int:
    """Return the place of the least price among those whose interval has an upper end."""
    return int(np.argmin(np.where(np.isfinite(high), value, np.inf)))


def _price(
    rows: Sequence[Columns],
    column: str,
    drawn: Sequence[Any],
    across: Side,
    named: str,
    n_owners: int,
) -> Panel:
    """Return a price over m; what never gets there is in a strip above it all, the least ringed."""
    paid, low, high = np.concatenate([ends(table, column) for table in rows], axis=1)
    finite = np.array([low, high])[np.isfinite([low, high])]
    floor, strip = (0.8 * finite.min(), 1.3 * finite.max()) if len(finite) > 0 else (0.1, 1.0)
    marks = list[Layer]()
    for place, (table, look) in enumerate(zip(rows, drawn, strict=True)):
        there, name = np.isfinite(table[column]), str(table["p"][0])
        at = table["tasks"] * ASIDE ** (place - (len(rows) - 1) / 2)
        shown = ends(table, column)[:, there]
        marks.append(measured(at[there], shown, name=name, **look))
        lost = table["tasks"][~there]
        hollow = look | {"linestyle": "none", "markerfacecolor": "none"}
        if len(lost) > 0:
            heights = np.full(len(lost), strip * APART ** (place + 1))
            marks.append(Layer("line", lost, heights, look=hollow))
        if (is_open := np.isinf(shown[2])).any():
            of, color = at[there][is_open], {"color": look["color"]}
            up = np.full(len(of), strip)
            marks.append(Layer("strokes", of, None, shown[0][is_open], up, look=color))
            marks.append(Layer("line", of, up, look=OPEN | color))
    top = strip * APART ** (len(rows) + 1)
    if np.isinf(high).any():
        marks.append(Layer("span", low=strip, high=top, name="not within the run", look=BEYOND))
        marks.append(Layer("line", name="95 % interval (bar) without upper end", look=OPEN))
    usual = (rows[0]["tasks"] == n_owners) & np.isfinite(rows[0][column])
    if usual.any():
        [from_here] = rows[0][column][usual]
        ends_at = [(1 - share) * from_here for share in SAVED[column]]
        saved = f"published saving over {rows[0]['p'][0]}, m = {n_owners}"
        marks.append(Layer("span", low=min(ends_at), high=max(ends_at), name=saved, look=PUBLISHED))
    best = _cheapest(paid, high)
    aside = ASIDE ** (np.arange(len(rows)) - (len(rows) - 1) / 2)
    places = np.concatenate([table["tasks"] * to for table, to in zip(rows, aside, strict=True)])
    marks.append(
        Layer(
            "line", places[[best]], paid[[best]], name="cheapest with a finite interval", look=BEST
        )
    )
    ticks = [n for n in TICKS if floor < n < strip]
    return Panel(marks, across, Side(named, True, (floor, top), ticks, grid=True))


FIGURE = SweepFigure(
    "whom-to-ask", _by_tasks, _prices, _whom,
    lambda *_: (
        f"Time, and energy where it is known, until mean ψ is {TARGET:g}, against the number of "
        "tasks under way, for each policy by which the learner chooses owners; error bars: 95 % "
        "intervals over replicates drawn again; with an arrow, some of these do not reach it. "
        "Hollow, in the strip at the top: the target is not reached. "
        "The published saving is drawn from the mean that it is over, without its error; marks are "
        "moved sideways to tell them apart. Every owner spends the same ε under each policy; its "
        "number of answers, and their noise, differ."
    ),
)  # fmt: skip
