"""Bianchi's fixed point beside a channel at work: how far off it is, over the number of owners."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.one_panel import DOTS, MEASURED, TRUTH, declared, text, written
from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import plus_minus
from asyncdp_sim.figures.drawer import Declaration, Layer, measured
from asyncdp_sim.figures.style import GRAY, THEORY, looks
from asyncdp_sim.figures.sweep_figure import OutcomeEstimate, Series, SweepFigure, ends, estimates
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario import load
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.channels import approximation
from asyncdp_sim.theory.prediction import Unknown

OWNERS = "owners.count"
GOAL = 1.0
"""Per cent, to which Bianchi's fixed point may be off."""
SOLVED = {("windows of 4 and 8 slots", 5): 0.63}
"""Exact errors, per cent, of chains that are too large to be solved here: 4,368 equations."""
SETTLED = 0.1
"""Share of the time that is left out at the start."""


def rates(result: Result) -> Array:
    """Return the answers that came per time unit in each replicate, once windows have grown, (R,).

    At the start every owner's window is the first one, and more of them collide.
    """
    replicate, time = result.columns("updates", "replicate", "time")
    late = time >= SETTLED * time.max()
    counts = np.bincount(replicate[late])
    return np.asarray(counts[np.unique(replicate)] / ((1 - SETTLED) * time.max()))


def off(result: Result) -> tuple[OutcomeEstimate, float]:
    """Return by how many per cent the fixed point is off: as measured, ± 2 errors, and exactly.

    The last is NaN where the chain of all owners has too many states.
    """
    said = load(result.directory / "scenario.toml")[0]
    asked = said.owners.count, said.network.airtime or 0.0
    about = approximation(said.channel, *asked).success_rate  # type: ignore[arg-type]
    each = rates(result)
    mean, error = each.mean(), each.std(ddof=1) / np.sqrt(len(each))
    exact = predicted(said.network, "throughput")
    known = np.nan if isinstance(exact, Unknown) else exact
    high_by, spread = 100 * (about / mean - 1), 200 * about / mean**2 * error
    return OutcomeEstimate(high_by, high_by - spread, high_by + spread), 100 * (about / known - 1)


def _by_windows(sweep: Sweep) -> list[Series] | str:
    """Return a line for each sort of windows, or why there is none."""
    if set(sweep.paths) != {OWNERS, VARIANT}:
        return f"a sweep of something else than variants and {OWNERS}"
    return Series.grouped(
        sweep.cells, lambda c: str(c.values[VARIANT]), lambda c: int(c.values[OWNERS])
    )


def _errors(line: Series) -> Columns:
    found, exact = zip(*map(off, line.results), strict=True)
    known = [SOLVED.get((line.name, n), e) for n, e in zip(line.at, exact, strict=True)]
    return line.rows("windows", "owners") | estimates("off", found) | {"exact": np.array(known)}


def _fixed_point(found: Sequence[Series], rows: Sequence[Columns]) -> Declaration:
    """Say by how much the fixed point is too high over N, a line for each sort of windows."""
    places = [owners for line in found for owners in line.at]
    tick = {"marker": "_", "markersize": 13, "markeredgewidth": 1.8, "linestyle": "none"}
    marks = [
        replace(MEASURED, look=DOTS | {"color": GRAY}),
        Layer("line", name="exact", look=tick | {"color": THEORY}),
        Layer("span", low=-GOAL, high=GOAL, look={"color": "0.88", "zorder": 0}),
        written(max(places), GOAL, "within 1 %", "inside"),
        Layer("level", y=0, look=TRUTH),
    ]
    for table, look in zip(rows, looks(len(rows), markersize=5), strict=True):
        owners, name = table["owners"], str(table["windows"][0])
        marks.append(measured(owners, ends(table, "off"), end=name, **look))
        marks.append(Layer("line", owners, table["exact"], look=tick | {"color": THEORY}))
    return declared("fixed-point", farthest(rows), marks, 2.8, {"ticks": places})


def farthest(rows: Sequence[Columns]) -> str:
    """Return where the fixed point is certainly farthest off, and how many are certainly near.

    An exact value counts in place of the interval.
    """
    off, low, high = np.concatenate([ends(table, "off") for table in rows], axis=1)
    owners, name, exact = (
        np.concatenate([table[of] for table in rows]) for of in ("owners", "windows", "exact")
    )
    low, high = (np.where(np.isnan(exact), each, exact) for each in (low, high))
    beyond = (low > GOAL) | (high < -GOAL)
    near = int(np.count_nonzero((low >= -GOAL) & (high <= GOAL)))
    far = int(np.argmax(np.where(beyond, np.abs(off), -np.inf)))
    value = (
        f"{exact[far]:.2g}" if low[far] == high[far] else plus_minus(off[far], high[far] - off[far])
    )
    return (
        f"In its own model, Bianchi's fixed point is {value} % too high for {owners[far]} owners "
        f"with {name[far]}; of {len(off)} settings {near} are within {GOAL:g} %, {beyond.sum()} "
        f"beyond, {len(off) - near - beyond.sum()} undecided"
    )


FIGURE = SweepFigure(
    "fixed-point", _by_windows, _errors, _fixed_point, lambda *_: text("fixed-point")
)
STUDIES = {"wifi-contention": FIGURE}
