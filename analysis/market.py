"""Prices of a target where privacy has a price, and the budgets that are bought for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.figures.kit.axes import key, legend_above, looks, scale
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import BAND, THEORY, colours, panels, style
from asyncdp_sim.results import Result
from asyncdp_sim.words import number

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


@dataclass(frozen=True, eq=False)
class Bargains:
    """Agreements of learner and owners, for many worths of ψ; rows go together.

    Attributes
    ----------
    costs : array (N,)
        c_i of c_i ε_i^a.
    growth : float
        a.
    worth : array (J,)
        v.
    psi, paid : array (J, 3)
        E ψ and Σ r_i ε_i: a price for each owner, one for all, and c_i asked whatever ε_i is.
    epsilon, asked : array (J, N)
        Budgets with a price for each owner, and where c_i is asked.
    surplus : array (J,)
        Of the owners, with a price for each.
    """

    costs: Array
    growth: float
    worth: Array
    psi: Array
    paid: Array
    epsilon: Array
    asked: Array
    surplus: Array


WAYS = ("a price $r_i$ for each owner", "one price for all", "$c_i$ asked for each unit (market)")


def bargains(found: Bargains, results: Sequence[Result]) -> Picture:
    """Draw what the learner pays for ψ as the game has it, beside the market, and who gives what.

    Parameters
    ----------
    found : Bargains
    results : sequence of Result
        Of the scenario that is bargained over.
    """
    owners = len(found.costs)
    looks: tuple[dict[str, Any], ...] = ({}, {"linestyle": "-."}, {"linestyle": "--"})  # fmt: skip
    with style():
        figure, (above, below) = panels((1.0, 1.0), height=6.0)
        keys = []
        for way, look in enumerate(looks):
            above.plot(found.psi[:, way], found.paid[:, way], linewidth=1.3, color=THEORY, **look)
            keys.append(key(WAYS[way], color=THEORY, **look))
        above.set_ylabel("paid in all $\\Sigma\\, r_i \\epsilon_i$")
        whose = []
        for i, shade in enumerate(colours(owners)):
            below.plot(found.psi[:, 0], found.epsilon[:, i], color=shade)
            below.plot(found.psi[:, 2], found.asked[:, i], color=shade, linestyle="--", linewidth=1)
            whose.append(key(f"owner {i + 1}, $c$ = {number(found.costs[i])}", color=shade))
        below.set_ylabel("budget given $\\epsilon_i$")
        below.set_xlabel("expected $\\psi$ of the final model")
        for axes in (above, below):
            scale(axes, "xy")
        legend_above(above, keys, 2)
        legend_above(below, whose, 3)
    table: dict[str, Array] = {"worth": found.worth, "surplus": found.surplus}
    for way, name in enumerate(("each", "one", "asked")):
        table |= {f"psi_final_{name}": found.psi[:, way], f"paid_{name}": found.paid[:, way]}
    table |= {f"epsilon_{i + 1}": found.epsilon[:, i] for i in range(owners)}
    said = (
        f"What the learner pays where sharing costs owner i c_i ε_i^{number(found.growth)}: it "
        "names a price for each owner, or one for all, and each owner gives the budget that leaves "
        "it most (the game that Collab's section V sketches; utilities are ours). Dashed: the "
        "market, where c_i is asked for each unit however many are bought. Below: budgets with a "
        "price for each (solid), and of the market (dashed)."
    )
    return Picture("bargains", figure, table, said, label(results))
