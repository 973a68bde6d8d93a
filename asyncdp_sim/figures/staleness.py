"""Staleness: other updates between an owner's read and the use of its answer."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from asyncdp_sim.core.arrays import Array, Columns, Ints
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.axes import strokes
from asyncdp_sim.figures.small_multiples import NetworkFigure, no_updates
from asyncdp_sim.figures.style import DARK_BLUE, THEORY, per_cent
from asyncdp_sim.measures import SHARE, Ratio
from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.theory.predict.staleness import StalenessLaw, staleness_law
from asyncdp_sim.theory.prediction import Unknown

TAIL = 1e-4  # a law is drawn up to where less than this is left
LEAST = 3  # at least the values up to this are shown
FEW = 30  # so many values have a stroke each
RARE = 5e-3  # the axis ends where at most this share of the updates is left
BAR = "#7fb8d8"
INTERVAL = "95 % interval"


def _histogram(axes: Axes, result: Result) -> tuple[Columns, str]:
    """Draw the share of the updates of each staleness, pooled over replicates, with its law."""
    replicate, stale = result.columns("updates", "replicate", "staleness")
    if len(stale) == 0:
        raise not_a_result(result.directory, "updates.parquet without rows")
    law = result.theory(staleness_law)
    reach = max(_reach(law, int(stale.max())), LEAST)
    values = np.arange(reach + 1)
    share = np.bincount(stale, minlength=reach + 1) / len(stale)
    low, high = between_replicates(replicate, stale, reach)
    table: Columns = {"staleness": values, "share": share, "low": low, "high": high}
    last = max(int(np.searchsorted(np.cumsum(share), 1 - RARE)), LEAST)
    many = last > FEW
    axes.bar(values, share, 1.0 if many else 0.8, color=BAR, label="measured")
    if np.isfinite(low).all():
        axes.errorbar(
            values, share, yerr=strokes(share, low, high), fmt="none", color=DARK_BLUE,
            elinewidth=0.5 if many else 1.2, capsize=0 if many else 2, label=INTERVAL,
        )  # fmt: skip
    if isinstance(law, StalenessLaw):
        table["law"] = law.chance(reach)
        sign: dict[str, Any] = {"drawstyle": "steps-mid", "linewidth": 1.2}
        if not many:
            sign = {"marker": "D", "markersize": 4, "linestyle": "none"}
        axes.plot(values, table["law"], color=THEORY, label=f"law: {law.name}", **sign)
    top = np.nanmax([share, high])
    axes.set(xlim=(-0.6, last + 0.6), ylim=(0, min(1.0, 1.05 * float(top))))
    axes.grid(axis="y")
    axes.yaxis.set_major_formatter(per_cent)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.set(xlabel="staleness: other updates\nbetween read and use", ylabel="updates")
    return table, _said(stale, law) + _beyond(stale, last)


def _beyond(stale: Ints, last: int) -> str:
    """Return how many updates are staler than the axis is long."""
    count = int(np.count_nonzero(stale > last))
    return f"; {count:,} updates of staleness {last + 1} to {stale.max()} are in the CSV alone" * (
        count > 0
    )


def between_replicates(replicate: Ints, stale: Ints, reach: int) -> tuple[Array, Array]:
    """Return 95 % intervals of the shares of 0 … ``reach``, from their spread over replicates.

    Updates of one replicate depend on each other; replicates do not. NaN with a single one.
    """
    _, index = np.unique(replicate, return_inverse=True)
    n_replicates = int(index.max()) + 1
    if n_replicates < 2:
        none = np.full(reach + 1, np.nan)
        return none, none
    flat = np.bincount(index * (reach + 1) + stale, minlength=n_replicates * (reach + 1))
    counts = flat.reshape(n_replicates, reach + 1).astype(float)
    total = counts.sum(axis=1)
    ends = [Ratio(part, total).interval(SHARE) or (np.nan, np.nan) for part in counts.T]
    low, high = np.array(ends).T
    return low, high


def _reach(law: StalenessLaw | Unknown, largest: int) -> int:
    """Return the largest staleness to draw: all that was met, and all that is likely."""
    if isinstance(law, Unknown):
        return largest
    left = 1 - np.cumsum(law.chance(4 * largest + 20))
    return max(largest, int(np.argmax(left < TAIL)))


def _said(stale: Ints, law: StalenessLaw | Unknown) -> str:
    text = f"{len(stale):,} updates, mean staleness {number(float(stale.mean()))}"
    if isinstance(law, Unknown):
        return f"{text}; no formula applies, since {law}"
    return f"{text}; the long-run law is {law.name} (a run begins at staleness 0)"


def _why_not(result: Result) -> str | None:
    reason = no_updates(result)
    if reason is None and not result.columns("updates", "staleness")[0].any():
        return "no answer was stale"
    return reason


FIGURE = NetworkFigure(
    "staleness",
    "Share of the updates of all replicates by staleness, the number of other updates applied "
    "between read and use (error bars: 95 % intervals from the spread over several replicates)",
    _histogram,
    _why_not,
    height=3.0,
    one_scale="y",
)
