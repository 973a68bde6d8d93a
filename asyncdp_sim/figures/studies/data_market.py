"""Study of a data market, where privacy has a price: ``data-market`` of the catalogue."""

import numpy as np

from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.studies.market import Offers, market
from asyncdp_sim.forecasts.advice.market import cheapest, demand
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario import Scenario, load

PRICES = (1.0, 1.0, 2.0, 0.5, 1.0, 0.25)
"""What each bank asks for a unit of its ε."""
TARGETS = (0.004, 0.06)
"""Least and largest expected ψ that are priced."""


def offers(scenario: Scenario) -> Offers:
    """Price targets by exact moments.

    Raises
    ------
    SpecError
        If exact moments do not apply, or there is not one price for each owner.
    """
    wanted, prices = demand(scenario, moments="common"), np.array(PRICES)
    targets = np.geomspace(*TARGETS, 33)
    bought = [cheapest(wanted, prices, target) for target in targets.tolist()]
    equal = np.sqrt(wanted.loss.sum() / (targets - wanted.free))
    return Offers(prices, targets, np.array([each.epsilon for each in bought]), equal, wanted.free)


def market_of(sweep: Sweep) -> Picture:
    """Draw the market, beside what the sweep's runs measured."""
    results = [cell.result for cell in sweep.cells]
    scenario, _ = load(results[0].directory / "scenario.toml")
    return market(offers(scenario), results)
