"""Staleness: other updates between an owner's read and the use of its answer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from asyncdp_sim.figures.kit.numbers import number
from asyncdp_sim.figures.kit.picture import Picture, Table
from asyncdp_sim.figures.kit.small_multiples import Panel, panelled, remark
from asyncdp_sim.figures.kit.source import Result, not_a_result
from asyncdp_sim.figures.kit.style import BLUE, DARK_BLUE, THEORY
from asyncdp_sim.measures import SHARE, Ratio
from asyncdp_sim.theory.predict.staleness import StalenessLaw, staleness_law
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
TAIL = 1e-4  # a law is drawn up to where less than this is left
LEAST = 3  # at least the values up to this are shown
FEW = 30  # so many values have a marker each


def histogram(result: Result) -> Picture:
    """Draw the share of the updates of each staleness, pooled over replicates, with its law.

    Raises
    ------
    ResultError
        If the result kept no updates, or has none.
    """
    return histograms_of([Panel(result)])


def histograms_of(shown: Sequence[Panel]) -> Picture:
    """Draw the same, a panel for each network."""
    head = (
        "Share of the updates of all replicates by staleness, the number of other updates applied "
        "between read and use (strokes: 95 % intervals from the spread over several replicates)"
    )
    return panelled("staleness", shown, _histogram, head, height=3.0)


def _histogram(axes: Axes, result: Result) -> tuple[Table, str]:
    replicate, stale = result.columns("updates", "replicate", "staleness")
    if len(stale) == 0:
        raise not_a_result(result.directory, "updates.parquet without rows")
    law = result.theory(staleness_law)
    reach = max(_reach(law, int(stale.max())), LEAST)
    values = np.arange(reach + 1)
    share = np.bincount(stale, minlength=reach + 1) / len(stale)
    table: Table = {"staleness": values, "share": share}
    low, high = between_replicates(replicate, stale, reach)
    table |= {"low": low, "high": high}
    axes.bar(values, share, 0.8, color=BLUE, alpha=0.75, label="measured")
    if np.isfinite(low).all():
        axes.vlines(values, low, high, color=DARK_BLUE, linewidth=1.4, label="95 % interval")
    if isinstance(law, StalenessLaw):
        table["law"] = law.chance(reach)
        look: dict[str, Any] = {
            "marker": "_",
            "markersize": 13,
            "markeredgewidth": 1.8,
            "linestyle": "none",
        }
        if reach > FEW:
            look = {"drawstyle": "steps-mid", "linewidth": 1.2}
        axes.plot(values, table["law"], color=THEORY, label=f"law: {law.name}", **look)
    else:
        remark(axes, f"no law drawn: {law}")
    axes.set_xlim(-0.6, reach + 0.6)
    axes.set_ylim(0, (1.35 if isinstance(law, Unknown) else 1.05) * float(share.max()))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("staleness: other updates between read and use")
    axes.set_ylabel("share of the updates")
    return table, _said(stale, law)


def never_stale(result: Result) -> bool:
    """Return whether no update passed between any read and its use: there is nothing to draw."""
    (stale,) = result.columns("updates", "staleness")
    return not stale.any()


def between_replicates(
    replicate: npt.NDArray[np.int64], stale: npt.NDArray[np.int64], reach: int
) -> tuple[Array, Array]:
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


def _said(stale: npt.NDArray[np.int64], law: StalenessLaw | Unknown) -> str:
    said = f"{len(stale):,} updates, mean staleness {number(float(stale.mean()))}"
    if isinstance(law, Unknown):
        return f"{said}; no law is claimed, since {law}"
    return f"{said}; the long-run law is {law.name} (a run begins with fresh reads)"
