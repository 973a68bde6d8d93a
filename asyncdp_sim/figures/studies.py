"""Pictures that answer a single entry's own question, beyond the common ones, from its results.

What a picture works out anew, by simulation or from records, stands in ``analysis.studies``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.collusion import FIGURE as COLLUSION
from asyncdp_sim.figures.drawer import BETTER, Declaration, Mark, Panel, Side, measured
from asyncdp_sim.figures.outcomes import Estimate
from asyncdp_sim.figures.psi_lines import PsiSeries, lines, series_of
from asyncdp_sim.figures.references import HOSPITAL, LENDING, Reference
from asyncdp_sim.figures.style import THEORY, looks
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure, ends, estimates
from asyncdp_sim.results import Cell, Result, Sweep
from asyncdp_sim.scenario import load
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.channels import approximation
from asyncdp_sim.theory.prediction import Unknown

EPSILON, OWNERS, TASKS = "privacy.epsilon", "owners.count", "protocol.tasks"


def alone(cell: Cell) -> float:
    """Return ψ of the median owner's own model, without noise."""
    return float(np.median(cell.result.of_owners("psi_alone")))


def by_noise(sweep: Sweep) -> list[PsiSeries]:
    """Return a series for each noise: variants begin with its name, and end with the owners'."""
    return PsiSeries.grouped(
        sweep.cells,
        lambda cell: str(cell.values[VARIANT]).partition(",")[0],
        lambda cell: float(cell.result.scenario["owners"]["count"]),
        path=OWNERS,
    )


OWN = Reference("own model of the median owner, without noise", "psi_alone", alone)
ASYNC_06 = lines(
    "by-budget", partial(series_of, x=EPSILON, by="owners.records", references=(LENDING,))
)
ASYNC_10 = lines("mean-by-budget", partial(series_of, x=EPSILON, references=(HOSPITAL,)))
CORRELATED_NOISE = lines("correlated-noise", by_noise)
HIDE_THE_OWNER = lines(
    "hide-the-owner", partial(series_of, x=OWNERS, by=VARIANT, references=(OWN,))
)


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
        Mark("line", table["tasks"], table["psi"], name=line.name, look=look)
        for line, table, look in zip(found, rows, drawn, strict=True)
    ]
    curves += [Mark("line", name="best of all", look=BEST),
               Mark("level", y=TARGET, name="target", look=dashed)]  # fmt: skip
    named = f"mean $\\psi$ after {found[0].results[0].updates} updates\n{BETTER}"
    several.append(Panel(curves, across, Side(named, log=True, grid=True)))
    return Declaration(several, (7.6, 3.4), across=len(several), columns=3)


def _price(
    rows: Sequence[Columns], column: str, drawn: Sequence[Any], across: Side, named: str
) -> Panel:
    """Return a price over m; what never gets there is above it all, and the least is ringed."""
    tasks, paid = (np.concatenate([table[name] for table in rows]) for name in ("tasks", column))
    never, marks = 1.7 * float(paid[np.isfinite(paid)].max()), list[Mark]()
    for place, (table, look) in enumerate(zip(rows, drawn, strict=True)):
        there = np.isfinite(table[column])
        marks.append(Mark("line", table["tasks"][there], table[column][there], look=look))
        lost = table["tasks"][~there]
        hollow = look | {"linestyle": "none", "markerfacecolor": "none"}
        marks.append(Mark("line", lost, np.full(len(lost), never * APART**place), look=hollow))
    if np.isinf(paid).any():
        marks.append(Mark("note", tasks.min(), never, name="never", look={"xytext": (0, 0)}))
    best = int(np.argmin(paid))
    beside = {"xytext": (-8, -15), "fontsize": 8}
    marks.append(Mark("line", tasks[[best]], paid[[best]], look=BEST))
    said = f"{paid[best]:.3g}"
    marks.append(Mark("note", tasks[best], paid[best], name=said, look=beside))
    limits = (paid[best] / 1.9, 1.3 * never * APART ** len(rows))
    return Panel(marks, across, Side(named, log=True, limits=limits, grid=True))


WHOM_TO_ASK = SweepFigure(
    "whom-to-ask", _by_tasks, _prices, _whom,
    lambda *_: (
        f"Time, and energy where it is known, until mean ψ is {TARGET:g}, if a policy reaches it; "
        "last: mean ψ after an equal number of updates. All against the number of tasks under way, "
        "for each policy by which the learner chooses owners. Policies that never reach the target "
        "are at the top. Every owner spends the same ε under each policy; its number of answers, "
        "and their noise, differ."
    ),
)  # fmt: skip


GOAL = 1.0
"""Per cent, to which Bianchi's fixed point may be off."""
SETTLED = 0.1
"""Share of the time that is left out at the start."""
EXACT: dict[str, Any] = {
    "linestyle": "none", "marker": "D", "markersize": 9, "markerfacecolor": "none",
    "color": THEORY,
}  # fmt: skip


def rates(result: Result) -> Array:
    """Return the answers that came per time unit in each replicate, once windows have grown, (R,).

    At the start every owner's window is the first one, and more of them collide.
    """
    replicate, time = result.columns("updates", "replicate", "time")
    late = time >= SETTLED * time.max()
    counts = np.bincount(replicate[late])
    return np.asarray(counts[np.unique(replicate)] / ((1 - SETTLED) * time.max()))


def off(result: Result) -> tuple[Estimate, float]:
    """Return by how many per cent the fixed point is off: as measured, ± 2 errors, and exactly.

    The last is NaN where the chain of all owners has too many states.
    """
    said = load(result.directory / "scenario.toml")[0]
    asked = said.owners.count, said.network.airtime or 0.0
    about = approximation(said.channel, *asked)  # type: ignore[arg-type]
    each = rates(result)
    mean, error = each.mean(), each.std(ddof=1) / np.sqrt(len(each))
    exact = predicted(said.network, "throughput")
    known = np.nan if isinstance(exact, Unknown) else exact
    high_by, spread = 100 * (about / mean - 1), 200 * about / mean**2 * error
    return Estimate(high_by, high_by - spread, high_by + spread), 100 * (about / known - 1)


def _by_windows(sweep: Sweep) -> list[Series] | str:
    """Return a line for each sort of windows, or why there is none."""
    if set(sweep.paths) != {OWNERS, VARIANT}:
        return f"a sweep of something else than variants and {OWNERS}"
    return Series.grouped(
        sweep.cells, lambda c: str(c.values[VARIANT]), lambda c: int(c.values[OWNERS])
    )


def _errors(line: Series) -> Columns:
    found, exact = zip(*map(off, line.results), strict=True)
    return line.rows("windows", "owners") | estimates("off", found) | {"exact": np.array(exact)}


def _fixed_point(found: Sequence[Series], rows: Sequence[Columns]) -> Declaration:
    """Say by how much the fixed point is too high over N, a line for each sort of windows."""
    marks = [
        Mark("span", low=-GOAL, high=GOAL, name="within 1 %", look={"color": "0.88", "zorder": 0}),
        Mark("level", y=0, look={"color": "0.4", "linewidth": 0.9}),
    ]
    for line, table, look in zip(found, rows, looks(len(found), markersize=5), strict=True):
        name = f"{line.name}, ± 2 standard errors"
        marks.append(measured(table["owners"], ends(table, "off"), name=name, **look))
        exact = "exact, by the chain"
        marks.append(Mark("line", table["owners"], table["exact"], name=exact, look=EXACT))
    places = [owners for line in found for owners in line.at]
    across = Side("owners that always have an answer, $N$", log=True, ticks=places)
    panel = Panel(marks, across, Side("fixed point too high by (%)", grid=True))
    return Declaration([panel], (6.5, 2.8), columns=2)


FIXED_POINT = SweepFigure(
    "fixed-point", _by_windows, _errors, _fixed_point,
    lambda *_: (
        "Error of Bianchi's fixed point: by how much it overestimates the number of answers "
        "without collision, against the number of contending owners. The error is exact where the "
        "Markov chain of all owners' counters is small enough."
    ),
)  # fmt: skip


COSTS = {"joules": "energy of all owners (J)", "time": "time (units)"}


@dataclass(frozen=True)
class ProtocolSeries(Series):
    """A protocol's runs, from the shortest to the longest.

    Attributes
    ----------
    best : frozenset of int
        The cells, of all protocols, that no other beats.
    """

    best: frozenset[int]


def _by_protocol(sweep: Sweep) -> list[ProtocolSeries] | str:
    """Return a line for each protocol, by what stands before the comma of a variant's name."""
    powered = all("joules" in cell.result.summary for cell in sweep.cells)
    if sweep.paths != (VARIANT,) or not powered:
        return "a sweep that is none of variants with [energy]"
    kept = frontier(costs(sweep.cells))
    return ProtocolSeries.grouped(
        sweep.cells,
        lambda cell: cell.label([VARIANT]).rpartition(", ")[0],
        lambda cell: cell.number,
        best=frozenset(cell.number for cell, is_it in zip(sweep.cells, kept, strict=True) if is_it),
    )


def costs(cells: Sequence[Cell]) -> Array:
    """Return joules, time and median ψ of each cell, shape (3, J)."""
    found = [cell.result.summary for cell in cells]
    return np.array(
        [[s["joules"], s["simulated_time"], s["psi_final"]["median"]] for s in found], dtype=float
    ).T


def frontier(figures: Array) -> Bools:
    """Return which points (columns) no other beats: as good in all rows, better in one."""
    one, other = figures[:, :, None], figures[:, None, :]
    beaten = np.all(other <= one, axis=0) & np.any(other < one, axis=0)
    return np.asarray(~np.any(beaten, axis=1))


def _costs(line: ProtocolSeries) -> Columns:
    columns = dict(zip(("joules", "time", "psi_final_median"), costs(line.cells), strict=True))
    best = np.array([number in line.best for number in line.at])
    return line.rows("line", "cell") | columns | {"frontier": best}


def _energy(found: Sequence[ProtocolSeries], rows: Sequence[Columns]) -> Declaration:
    """Say ψ at the end against joules and against time; filled points are on the frontier."""
    several, beaten = [], {"markerfacecolor": "white", "linestyle": ""}
    for cost, named in COSTS.items():
        marks = []
        drawn = looks(len(found), markersize=6.0, linewidth=1.2)
        for line, table, look in zip(found, rows, drawn, strict=True):
            x, y, left = table[cost], table["psi_final_median"], ~table["frontier"]
            marks += [Mark("line", x, y, name=line.name, look=look),
                      Mark("line", x[left], y[left], look=look | beaten)]  # fmt: skip
        gray = {"color": "0.4", "marker": "o", "markersize": 6.0} | beaten
        marks.append(Mark("line", name="beaten in ψ, J and time", look=gray))
        psi = f"$\\psi$ at the end, median\n{BETTER}"
        several.append(Panel(marks, Side(named, log=True), Side(psi, log=True, grid=True)))
    return Declaration(several, (7.6, 3.5), shared="y", columns=4)


def _caption_energy(found: Sequence[ProtocolSeries], rows: Sequence[Columns]) -> str:
    longest = "; ".join(
        f"{line.name} {number(table['joules'][-1])} J, {number(table['time'][-1])} units, "
        f"ψ {number(table['psi_final_median'][-1])}"
        for line, table in zip(found, rows, strict=True)
    )
    return (
        "ψ at the end (median over replicates) against the energy of all owners (left) and against "
        "time (right), for more and more answers at the same ε. Filled markers: no other setting "
        f"is better in ψ, energy and time at once. The longest runs: {longest}."
    )


ENERGY = SweepFigure("energy-frontier", _by_protocol, _costs, _energy, _caption_energy)
STUDIES: Mapping[str, SweepFigure[Any]] = {
    "async-06": ASYNC_06,
    "async-10": ASYNC_10,
    "correlated-noise": CORRELATED_NOISE,
    "hide-the-owner": HIDE_THE_OWNER,
    "joules-against-accuracy": ENERGY,
    "owner-learner-collude": COLLUSION,
    "whom-to-ask": WHOM_TO_ASK,
    "wifi-contention": FIXED_POINT,
}
"""By the entry's name."""
WORKED_OUT = (
    "bias-of-absence", "collab-06", "collab-11", "privacy-over-distance", "steps-against-staleness",
)  # fmt: skip
"""Entries whose picture is worked out anew: ``python -m scenarios NAME`` draws it, in a clone."""
