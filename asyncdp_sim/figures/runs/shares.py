"""Shares of the updates among owners, beside uniform choice."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.source import Result, not_a_result, owner_table
from asyncdp_sim.figures.kit.style import BAND, BLUE, THEORY, VERMILION, canvas, owner_ticks, style
from asyncdp_sim.theory.predict.update_order import selection
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
LEVEL = 0.99


def by_owner(result: Result) -> Picture:
    """Draw each owner's share of the updates of all replicates, with 1/N and its 99 % band.

    The band holds 99 % of the counts Bin(number of updates, 1/N): what uniform choice, on which
    Theorem 2 of Async rests, would give. Where clocks differ and theory knows the shares, they
    are drawn too.

    Raises
    ------
    ResultError
        If the owners' table is absent or damaged, or nothing was updated.
    """
    from scipy.stats import binom

    owner, updates = result.columns("owners", "owner", "updates")
    owner = result.participants.places(owner)
    count = np.bincount(owner, weights=updates, minlength=result.n_owners + 1)[1:]
    total = int(count.sum())
    if total == 0:
        raise not_a_result(result.directory, "no updates")
    n_owners = result.n_owners
    tail = (1 - LEVEL) / 2
    low, high = (float(binom.ppf(q, total, 1 / n_owners)) / total for q in (tail, 1 - tail))
    share = count / total
    outside = int(np.count_nonzero((share < low) | (share > high)))
    known = result.theory(selection)
    theory = known if isinstance(known, Unknown) else np.array(known)
    law = np.full(n_owners, np.nan) if isinstance(theory, Unknown) else theory
    unequal = not isinstance(theory, Unknown) and not np.allclose(theory, 1 / n_owners)
    owners = np.arange(1, n_owners + 1)
    with style():
        figure, axes = canvas(height=3.0)
        axes.axhspan(
            low,
            high,
            color=BAND,
            alpha=0.35,
            linewidth=0,
            label="99 % under uniform choice",
        )
        axes.axhline(
            1 / n_owners,
            color=THEORY,
            linestyle="--",
            linewidth=1.2,
            label=f"uniform choice, 1/{n_owners:,}",
        )
        if unequal:
            axes.plot(
                owners,
                law,
                "_",
                color=VERMILION,
                markersize=20,
                markeredgewidth=1.6,
                label=r"law $\lambda_i / \Sigma\lambda$",
            )
        axes.plot(
            owners, share, "o", color=BLUE, markersize=5 if n_owners <= 30 else 3, label="measured"
        )
        reach = 1.4 * max(high - 1 / n_owners, float(np.abs(share - 1 / n_owners).max()))
        axes.set_ylim(max(0.0, 1 / n_owners - reach), 1 / n_owners + reach)
        axes.set_xlim(0.5, n_owners + 0.5)
        owner_ticks(axes, "x", result.participants)
        axes.set_xlabel("owner $i$")
        axes.set_ylabel("share of the updates")
        figure.legend(loc="outside upper right", ncols=4)
    table = {
        **owner_table(result.participants), "updates": count.astype(np.int64), "share": share,
        "uniform": np.full(n_owners, 1 / n_owners), "uniform_low": np.full(n_owners, low),
        "uniform_high": np.full(n_owners, high),
        "law": law,
    }  # fmt: skip
    caption = (
        f"Owners' shares of the {total:,} updates of all replicates; gray: 99 % band of uniform "
        f"choice, which {outside} of {n_owners:,} owners leave "
        f"(about {(1 - LEVEL) * n_owners:.2g} expected)"
    )
    return Picture(
        "shares", figure, table, f"{caption}; {_standing(theory, unequal)}.", label([result])
    )


def _standing(theory: Array | Unknown, unequal: bool) -> str:
    if isinstance(theory, Unknown):
        return f"uniform choice is a yardstick here, not a law, since {theory}"
    if unequal:
        return "clock rates differ, so the law is λ_i/Σλ"
    return "uniform choice is the law of this network"
