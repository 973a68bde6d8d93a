"""Prices of a target where privacy has a price, and the budgets that are bought for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import key, legend, looks, scale
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end
from asyncdp_sim.figures.kit.style import BAND, THEORY
from asyncdp_sim.figures.kit.style import panels as stacked_panels
from asyncdp_sim.figures.sweeps.sweep_figure import SweepFigure, Table
from asyncdp_sim.forecasts.advice.market import cheapest, demand
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario import load

Array = npt.NDArray[np.float64]
PRICES = (1.0, 1.0, 2.0, 0.5, 1.0, 0.25)
"""What each bank asks for a unit of its ε."""
TARGETS = (0.004, 0.06)
"""Least and largest expected ψ that are priced."""


@dataclass(frozen=True, eq=False)
class Offers:
    """Purchases for many targets.

    Attributes
    ----------
    results : tuple of Result
        Runs with some budgets, by which the forecast is held.
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

    results: tuple[Result, ...]
    prices: Array
    target: Array
    epsilon: Array
    equal: Array
    free: float


def select(sweep: Sweep) -> list[Offers]:
    """Price targets by exact moments.

    Raises
    ------
    SpecError
        If exact moments do not apply, or there is not one price for each owner.
    """
    results = tuple(cell.result for cell in sweep.cells)
    scenario, _ = load(results[0].directory / "scenario.toml")
    wanted, prices = demand(scenario, moments="common"), np.array(PRICES)
    targets = np.geomspace(*TARGETS, 33)
    epsilon = [cheapest(wanted, prices, target).epsilon for target in targets.tolist()]
    equal = np.sqrt(wanted.loss.sum() / (targets - wanted.free))
    return [Offers(results, prices, targets, np.array(epsilon), equal, wanted.free)]


def _rows(offers: Offers) -> Table:
    table: Table = {"target": offers.target, "total": offers.epsilon @ offers.prices}
    table["total_equal"] = offers.equal * offers.prices.sum()
    bought = {f"epsilon_{i}": column for i, column in enumerate(offers.epsilon.T, start=1)}
    return table | bought


def panels(found: Sequence[Offers], rows: Sequence[Table]) -> Figure:
    """Draw the total price against the target, and budgets per owner; runs as markers."""
    [offers], [table] = found, rows
    look: dict[str, Any] = {"color": THEORY, "markersize": 4.5}
    cheap = look | {"marker": "o"}
    dear = look | {"marker": "s", "markerfacecolor": "white"}
    figure, (above, below) = stacked_panels((1.0, 1.0), height=6.0)
    above.plot(offers.target, table["total_equal"], color=THEORY, linestyle="--", linewidth=1.1)
    above.plot(offers.target, table["total"], color=THEORY, linewidth=1.3)
    above.axvline(offers.free, color=BAND, linestyle=":", linewidth=1.1, zorder=0)
    for result in offers.results:
        psi, low, high = mean_psi_at_end(result)
        epsilon = result.of_owners("epsilon")[0]
        above.errorbar(
            [psi], [float(epsilon @ offers.prices)], xerr=[[psi - low], [high - psi]],
            elinewidth=1.0, capsize=2, **(cheap if np.ptp(epsilon) > 0 else dear),
        )  # fmt: skip
    above.set_ylabel("total price $\\Sigma\\, c_i \\epsilon_i$")
    keys = [
        key("cheapest budgets, and runs with them", **cheap),
        key("equal budgets, and runs with them", linestyle="--", **dear),
        key("ψ without noise", color=BAND, linestyle=":"),
    ]
    for i, shade in enumerate(looks(len(offers.prices), markersize=3.5)):
        below.plot(offers.target, offers.epsilon[:, i], markevery=4, **shade)
        keys.append(key(f"owner {i + 1}, $c$ = {number(offers.prices[i])}", **shade))
    below.set_ylabel("budget bought $\\epsilon_i$")
    below.set_xlabel("target: expected $\\psi$ of the final model")
    for axes in (above, below):
        scale(axes, "xy")
    legend(figure, keys, 2)
    return figure


def _caption(_: Sequence[Offers], rows: Sequence[Table]) -> str:
    ratio = rows[0]["total_equal"] / rows[0]["total"]
    return (
        "What an expected ψ costs where owner i asks c_i for each unit of its ε. Above: the least "
        f"total price, by exact moments, beside that of equal budgets ({number(ratio.min())} to "
        f"{number(ratio.max())} times as much); markers: mean ψ of runs with such budgets "
        "(strokes: 95 % intervals). Dotted: ψ without any noise, below which no money goes. "
        "Below: the budgets that are bought."
    )


FIGURE = SweepFigure("market", select, _rows, panels, _caption)
