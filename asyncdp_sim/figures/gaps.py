"""Times between updates, beside the exponential law where the scenario obeys it."""

import numpy as np
from matplotlib.axes import Axes

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.units import to_units, unit_of
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.axes import log_axis
from asyncdp_sim.figures.small_multiples import NetworkFigure, untimed
from asyncdp_sim.figures.style import BAND, BLUE, THEORY, plain_numbers, time_axis
from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.theory.formulas.quantiles import binomial_quantile
from asyncdp_sim.theory.predict.plain import plain
from asyncdp_sim.theory.predict.update_order import GapLaw, gap_law

POINTS = 400
LAW = "law of merged Poisson clocks"
LEVEL = 0.99
TOP = 1.5  # of the axis of shares; its bottom is half a gap


def _survival(axes: Axes, result: Result) -> tuple[Columns, str]:
    """Draw the share of gaps longer than t, on a log scale, with the law exp(−rate·t).

    The band is pointwise: at each t, 99 % of the counts Bin(number of gaps, exp(−rate·t)).
    """
    law = result.theory(gap_law)
    observed = gaps(result, law.n_gaps if isinstance(law, GapLaw) else None)
    if len(observed) == 0:
        raise not_a_result(result.directory, "updates.parquet without rows")
    t = np.linspace(0.0, observed.max(), POINTS)
    longer = np.searchsorted(np.sort(observed), t, side="right")
    table: Columns = {"t": t, "survival": 1 - longer / len(observed)}
    text = f"{len(observed):,} times"
    log_axis(axes)
    if isinstance(law, GapLaw):
        table |= expected(law, t, len(observed))
        floor = table["law"].min() * 1e-3  # a count of zero has no place on a log axis
        axes.fill_between(
            t, np.maximum(table["law_low"], floor), table["law_high"],
            color=BAND, alpha=0.35, linewidth=0, label="99 % of counts under the law, at each $t$",
        )  # fmt: skip
        axes.plot(t, table["law"], "--", color=THEORY, linewidth=1.2, label=LAW)
        text += _verdict(observed, law, result)
    else:
        text += f"; no formula applies, because {plain(str(law))}"
    positive = table["survival"] > 0
    axes.step(t[positive], table["survival"][positive], where="post", color=BLUE, label="measured")
    axes.set_ylim(0.5 / len(observed), TOP)
    plain_numbers(axes)
    axes.set_xlim(0, t[-1])
    named = time_axis(unit_of([result.manifest["scenario"]]), axes)
    axes.set(xlabel=named.replace("simulated time", "gap"), ylabel="share of gaps longer than $t$")
    return table, text


def gaps(result: Result, first: int | None = None) -> Array:
    """Return times between consecutive updates (the first from time 0) of all replicates.

    Parameters
    ----------
    result : Result
    first : int, optional
        Only so many first gaps of every replicate.
    """
    replicate, k, tick = result.columns("updates", "replicate", "k", "tick")
    last = (np.diff(replicate, append=-1) != 0) | (np.diff(k, append=-1) != 0)
    replicate, k, tick = replicate[last], k[last], tick[last]  # an update has a row per answer
    new = np.diff(replicate, prepend=-1) != 0
    before = np.where(new, 0, np.concatenate([[0], tick[:-1]]))
    kept = slice(None) if first is None else k <= first
    return to_units((tick - before)[kept])


def expected(law: GapLaw, t: Array, n_gaps: int) -> dict[str, Array]:
    """Return the law's survival function on a grid, and its pointwise 99 % binomial band."""
    share = np.exp(-law.rate * t)
    tail = (1 - LEVEL) / 2
    low, high = (binomial_quantile(q, n_gaps, share) / n_gaps for q in (tail, 1 - tail))
    return {"law": share, "law_low": low, "law_high": high}


def distance(observed: Array, law: GapLaw) -> float:
    """Return the largest distance between measured and expected distribution (Kolmogorov's D)."""
    below = -np.expm1(-law.rate * np.sort(observed))
    steps = np.arange(len(observed) + 1) / len(observed)
    return float(max((steps[1:] - below).max(), (below - steps[:-1]).max()))


def _verdict(observed: Array, law: GapLaw, result: Result) -> str:
    is_partial = law.n_gaps < result.updates
    which = f" (the first {law.n_gaps:,} of every replicate)" if is_partial else ""
    limit = np.sqrt(np.log(2 / (1 - LEVEL)) / (2 * len(observed)))
    return (
        f"{which}, with the law exp(−{number(law.rate)} t) of merged Poisson clocks and its "
        f"pointwise 99 % binomial band; largest distance between the distributions "
        f"{distance(observed, law):.2g} (99 % DKW limit {limit:.2g})"
    )


def _why_not(result: Result) -> str | None:
    reason = untimed(result)
    if reason is None and len(observed := gaps(result)) > 1 and np.ptp(observed) == 0:
        return "all times between updates are equal"
    return reason


FIGURE = NetworkFigure(
    "gaps",
    "Share of the times between consecutive updates that exceed t",
    _survival,
    _why_not,
    one_scale="xy",
)
