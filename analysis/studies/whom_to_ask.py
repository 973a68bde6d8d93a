"""Whom a learner asks, and how many at a time: the price of a ψ over m, a line for each p.

Intervals are of replicates drawn again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.one_panel import TRUTH, declared, text, written
from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Declaration, Layer, measured
from asyncdp_sim.figures.style import looks
from asyncdp_sim.figures.sweep_figure import OutcomeEstimate, Series, SweepFigure, ends, estimates
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario.paths import VARIANT

TASKS = "protocol.tasks"
TARGET = 0.02
"""ψ that is to be reached, where a learner chooses whom to ask."""
STACKED = 1.17
"""Ratio of the heights at which policies stand that never reach the target."""
TICKS = (5, 10, 20, 50, 100)
PUBLISHED: dict[str, Any] = {"color": "#E69F00", "alpha": 0.25, "zorder": 0}
SAVED = (0.29, 0.46)
"""Published shares of the time saved over all alike, with a task for each owner (2603.26231)."""
DRAWS, SEED = 200, 22
"""How often replicates are drawn again for an interval, and by which seed."""


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
    """Say when a ψ is reached over m, a line for each p; at the top is what never reaches it."""
    usual, n_owners = rows[0], found[0].results[0].n_owners
    values = np.concatenate([ends(table, "time") for table in rows], axis=1)
    never = 2 * float(values[np.isfinite(values)].max(initial=1.0))
    lowest, top = float(values.min(initial=never)), never * STACKED ** len(rows)
    marks = [Layer("level", y=never, look=TRUTH | {"linestyle": ":"})]
    for place, (table, look) in enumerate(zip(rows, looks(len(rows), markersize=3.5), strict=True)):
        there, at = np.isfinite(table["time"]), table["tasks"]
        shown = np.minimum(ends(table, "time"), never)
        marks.append(measured(at[there], shown[:, there], name=str(table["p"][0]), **look))
        height = np.full(np.count_nonzero(~there), never * STACKED ** (place + 0.5))
        marks.append(Layer("line", at[~there], height, look=look | {"linestyle": ""}))
    known = (usual["tasks"] == n_owners) & np.isfinite(usual["time"])
    for from_here in usual["time"][known]:  # one, or none
        low, high = (from_here * (1 - share) for share in SAVED[::-1])
        lowest = min(low, lowest)
        marks.append(Layer("span", low=low, high=high, look=PUBLISHED))
        said = f"published, against {rows[0]['p'][0]}, m = {n_owners}"
        marks.append(written(1, low, said, "below"))
    places = [each for each in TICKS if lowest / 1.7 < each < never]
    y: dict[str, Any] = {"limits": (lowest / 1.7, top)}
    y["name"] = f"time until mean $\\psi$ is {TARGET:g},\nunits (95 % intervals)"
    y |= {"ticks": [*places, (never * top) ** 0.5], "labels": [*map(number, places), "never"]}
    x, title = {"ticks": usual["tasks"].tolist()}, cheapest(rows, n_owners)
    return declared("whom-to-ask", title, marks, 3.7, x, y)


def cheapest(rows: Sequence[Columns], n_owners: int) -> str:
    """Return which policy and number of tasks reach the target first, and what that saves.

    Of those whose interval has an upper end, over the first policy with a task for each owner. The
    interval of that share is of both intervals' halves in quadrature, as if runs were independent.
    """
    name, tasks = (np.concatenate([table[of] for table in rows]) for of in ("p", "tasks"))
    value, low, high = np.concatenate([ends(table, "time") for table in rows], axis=1)
    if not np.isfinite(high).any():
        return f"No interval of a policy that reaches mean ψ = {TARGET:g} is finite"
    best = int(np.argmin(np.where(np.isfinite(high), value, np.inf)))
    said = (
        f"Asking {name[best]}, m = {tasks[best]:g}, reaches mean ψ = {TARGET:g} in "
        f"{number(value[best])} units ({number(low[best])} to {number(high[best])})"
    )
    usual = np.flatnonzero((tasks == n_owners) & (name == name[0]))
    if len(usual) == 0 or not np.isfinite(value[usual[0]]):
        return said
    least, most = (f"{100 * share:.0f}" for share in SAVED)
    ratio = value[best] / value[usual[0]]
    sooner = np.hypot(np.log(value[best] / low[best]), np.log(high[usual[0]] / value[usual[0]]))
    later = np.hypot(np.log(high[best] / value[best]), np.log(value[usual[0]] / low[usual[0]]))
    shares = (100 * (1 - ratio * np.exp(off)) for off in (0.0, later, -sooner))
    said += ", {:.0f} % ({:.0f} to {:.0f} %) sooner than ".format(*shares)
    said += f"{name[0]}, m = {n_owners} (published: {least} to {most} %)"
    more = tasks[(name == name[best]) & (tasks > tasks[best]) & np.isinf(value)]
    return f"{said}; with m = {more.min():g} it never does" if len(more) > 0 else said


FIGURE = SweepFigure(
    "whom-to-ask", _by_tasks, _prices, _whom, lambda *_: text("whom-to-ask", target=TARGET)
)
STUDIES = {"whom-to-ask": FIGURE}
