"""Bianchi's fixed point beside a channel at work: how far off it is, over the number of owners."""

from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.figures.kit.axes import key, legend, log_axis, looks
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import THEORY, canvas, style
from asyncdp_sim.results import Result, Sweep, not_a_result
from asyncdp_sim.scenario import load
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.channels import approximation
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
OWNERS = "owners.count"
GOAL = 1.0
"""Per cent."""
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


def off(result: Result) -> tuple[float, float, float]:
    """Return by how many per cent the fixed point is off: as measured, ± 2 errors, and exactly.

    The last is NaN where the chain of all owners has too many states.
    """
    said = load(result.directory / "scenario.toml")[0]
    asked = said.owners.count, said.network.airtime or 0.0
    about = approximation(said.channel, *asked)  # type: ignore[arg-type]
    each = rates(result)
    measured, error = each.mean(), each.std(ddof=1) / np.sqrt(len(each))
    exact = predicted(said.network, "throughput")
    known = np.nan if isinstance(exact, Unknown) else exact
    high_by = 100 * (about / measured - 1)
    return high_by, 200 * about / measured**2 * error, 100 * (about / known - 1)


def bianchi(sweep: Sweep, *, name: str = "fixed-point") -> Picture:
    """Draw by how much the fixed point is too high over N, a line for each sort of windows.

    Raises
    ------
    ResultError
        If it is another sweep than of variants of ``dcf`` and of the number of owners.
    """
    if set(sweep.paths) != {OWNERS, VARIANT}:
        raise not_a_result(sweep.directory, f"a sweep of variants and of {OWNERS}")
    names = list(dict.fromkeys(str(cell.values[VARIANT]) for cell in sweep.cells))
    drawn = looks(len(names), markersize=5)
    rows = [(str(c.values[VARIANT]), int(c.values[OWNERS]), *off(c.result)) for c in sweep.cells]
    columns = ("windows", "owners", "off", "about", "exact")
    table = {
        each: np.array(values)
        for each, values in zip(columns, zip(*rows, strict=True), strict=True)
    }
    with style():
        figure, axes = canvas(height=3.0)
        axes.axhspan(-GOAL, GOAL, color="0.92", zorder=0)
        axes.axhline(0, color="0.4", linewidth=0.9)
        for one, look in zip(names, drawn, strict=True):
            mine = table["windows"] == one
            x, y, about = (table[each][mine] for each in ("owners", "off", "about"))
            axes.errorbar(x, y, yerr=about, capsize=3.0, **look)
        axes.plot(table["owners"], table["exact"], **EXACT)
        log_axis(axes, "x")
        every = sorted(set(table["owners"].tolist()))
        axes.set_xticks(every, [str(each) for each in every])
        axes.minorticks_off()
        axes.set_xlabel("owners that always have an answer, $N$")
        axes.set_ylabel("fixed point too high by (%)")
        said = [f"{one}, ± 2 standard errors" for one in names]
        keys = [key(one, **look) for one, look in zip(said, drawn, strict=True)]
        keys += [key("exact, by the chain", **EXACT)]
        keys += [key("within 1 %", color="0.85", linewidth=6)]
        legend(figure, keys, 2)
    caption = (
        "By how much Bianchi's fixed point puts the answers that get through too high, over the "
        "number of owners that contend; where the chain of all owners' counts is small enough, "
        "exactly."
    )
    return Picture(name, figure, table, caption, label([cell.result for cell in sweep.cells]))


__all__ = ["bianchi", "off", "rates"]
