"""Shares of the updates among owners, beside uniform choice."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.figures.outcomes import owner_table
from asyncdp_sim.figures.small_multiples import NetworkFigure
from asyncdp_sim.figures.style import BAND, BLUE, THEORY, VERMILION, owner_ticks
from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.theory.formulas.quantiles import binomial_quantile
from asyncdp_sim.theory.predict.update_order import selection
from asyncdp_sim.theory.prediction import Unknown

LEVEL = 0.99


def _counts(result: Result) -> Array:
    """Return how many updates each owner has in all replicates, shape (N,)."""
    owner, updates = result.columns("owners", "owner", "updates")
    places = result.participants.places(owner)
    count = np.bincount(places, weights=updates, minlength=result.n_owners + 1)[1:]
    return np.asarray(count, dtype=float)


def _shares(axes: Axes, result: Result) -> tuple[Columns, str]:
    """Draw each owner's share of the updates of all replicates, with 1/N and its 99 % band.

    The band holds 99 % of the counts Bin(number of updates, 1/N): what uniform choice, on which
    Theorem 2 of Async rests, would give. Where clocks differ and theory knows the shares, they
    are drawn too.
    """
    count = _counts(result)
    total = int(count.sum())
    if total == 0:
        raise not_a_result(result.directory, "no updates")
    n_owners = result.n_owners
    tail = (1 - LEVEL) / 2
    low, high = (float(binomial_quantile(q, total, 1 / n_owners)) / total for q in (tail, 1 - tail))
    share = count / total
    outside = int(np.count_nonzero((share < low) | (share > high)))
    theory = result.theory(selection)
    law, unequal = np.full(n_owners, np.nan), False
    standing = "uniform choice is the law of this network"
    if isinstance(theory, Unknown):
        standing = f"uniform choice is only a reference here, since {theory}"
    else:
        law = np.array(theory)
        unequal = not np.allclose(law, 1 / n_owners)
    if unequal:
        standing = "clock rates differ, so the law is λ_i/Σλ"
    owners = np.arange(1, n_owners + 1)
    axes.axhspan(low, high, color=BAND, alpha=0.35, linewidth=0, label="99 % under uniform choice")
    dashed: dict[str, Any] = {"color": THEORY, "linestyle": "--", "linewidth": 1.2, "zorder": 3}
    axes.axhline(1 / n_owners, label="uniform choice, $1/N$", **dashed)
    if unequal:
        mark: dict[str, Any] = {"color": VERMILION, "markersize": 20, "markeredgewidth": 1.6}
        axes.plot(owners, law, "_", label=r"law $\lambda_i / \Sigma\lambda$", **mark)
    size = float(np.clip(250 / n_owners, 0.8, 5))
    axes.plot(owners, share, "o", color=BLUE, markersize=size, label="measured")
    reach = 1.4 * max(high - 1 / n_owners, float(np.abs(share - 1 / n_owners).max()))
    axes.set(
        ylim=(max(0.0, 1 / n_owners - reach), 1 / n_owners + reach), xlim=(0.5, n_owners + 0.5)
    )
    owner_ticks(axes, "x", result.participants)
    axes.set(xlabel="owner $i$", ylabel="share of the updates")
    table: Columns = {
        **owner_table(result.participants), "updates": count.astype(np.int64), "share": share,
        "uniform": np.full(n_owners, 1 / n_owners), "uniform_low": np.full(n_owners, low),
        "uniform_high": np.full(n_owners, high),
        "law": law,
    }  # fmt: skip
    return table, (
        f"{total:,} updates; {outside} of {n_owners:,} owners are outside the band "
        f"(about {(1 - LEVEL) * n_owners:.2g} expected); {standing}"
    )


def _why_not(result: Result) -> str | None:
    equal = bool(np.ptp(_counts(result)) == 0)
    return "all owners have equally many updates" if equal else None


FIGURE = NetworkFigure(
    "shares",
    "Selection frequency of each owner, all replicates; gray: 99 % band of uniform choice, 1/N",
    _shares,
    _why_not,
    height=3.0,
    one_scale="y",
)
