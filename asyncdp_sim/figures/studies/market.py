"""Prices of a target where privacy has a price, and the budgets that are bought for it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import key, legend_above, looks, scale
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import BAND, THEORY, panels, style
from asyncdp_sim.results import Result

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Offers:
    """Purchases for many targets.

    Attributes
    ----------
    prices : array (N,)
        c_i.
    target : array (J,)
        Expected ψ.
    epsilon : array (J, N)
        The cheapest budgets.
    equal : array (J,)
        The budget that, the same for all owners, reaches the target.
    free : float
        E ψ without noise: what no money goes below.
    """

    prices: Array
    target: Array
    epsilon: Array
    equal: Array
    free: float


def market(offers: Offers, results: Sequence[Result]) -> Picture:
    """Draw the total price against the target, and budgets per owner; runs as markers.

    Parameters
    ----------
    offers : Offers
    results : sequence of Result
        Runs with some budgets, by which the forecast is held.
    """
    total, dear = offers.epsilon @ offers.prices, offers.equal * offers.prices.sum()
    owners = len(offers.prices)
    with style():
        figure, (above, below) = panels((1.0, 1.0), height=6.0)
        above.plot(offers.target, dear, color=THEORY, linestyle="--", linewidth=1.1)
        above.plot(offers.target, total, color=THEORY, linewidth=1.3)
        above.axvline(offers.free, color=BAND, linestyle=":", linewidth=1.1, zorder=0)
        for result in results:
            psi, low, high = mean_psi_at_end(result)
            epsilon = result.of_owners("epsilon")[0]
            bought = np.ptp(epsilon) > 0
            above.errorbar(
                [psi], [float(epsilon @ offers.prices)], xerr=[[psi - low], [high - psi]],
                color=THEORY, marker="o" if bought else "s", markersize=4.5, elinewidth=1.0,
                markerfacecolor=THEORY if bought else "white", capsize=2,
            )  # fmt: skip
        above.set_ylabel("total price $\\Sigma\\, c_i \\epsilon_i$")
        keys = [
            key("cheapest budgets, and runs with them", color=THEORY, marker="o", markersize=4.5),
            key(
                "equal budgets, and runs with them",
                color=THEORY,
                linestyle="--",
                marker="s",
                markersize=4.5,
                markerfacecolor="white",
            ),
            key("ψ without noise", color=BAND, linestyle=":"),
        ]
        whose = []
        for i, look in enumerate(looks(owners, markersize=3.5)):
            below.plot(offers.target, offers.epsilon[:, i], markevery=4, **look)
            whose.append(key(f"owner {i + 1}, $c$ = {number(offers.prices[i])}", **look))
        below.set_ylabel("budget bought $\\epsilon_i$")
        below.set_xlabel("target: expected $\\psi$ of the final model")
        for axes in (above, below):
            scale(axes, "xy")
        legend_above(above, keys, 2)
        legend_above(below, whose, 3)
    table: dict[str, Array] = {"target": offers.target, "total": total, "total_equal": dear}
    table |= {f"epsilon_{i + 1}": offers.epsilon[:, i] for i in range(owners)}
    ratio = dear / total
    said = (
        "What an expected ψ costs where owner i asks c_i for each unit of its ε. Above: the least "
        f"total price, by exact moments, beside that of equal budgets ({number(ratio.min())} to "
        f"{number(ratio.max())} times as much); markers: mean ψ of runs with such budgets "
        "(strokes: 95 % intervals). Dotted: ψ without any noise, below which no money goes. "
        "Below: the budgets that are bought."
    )
    return Picture("market", figure, dict(table), said, label(results))
