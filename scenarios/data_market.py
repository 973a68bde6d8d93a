"""Study of a data market, where privacy has a price: ``python -m scenarios.data_market DIR``.

DIR is the sweep directory of ``data-market`` of the catalogue, to which the market's figure is
added.
"""

import sys
from pathlib import Path

import numpy as np

from analysis.market import Offers, market
from asyncdp_sim.figures.draw import add
from asyncdp_sim.forecasts.advice.market import cheapest, demand
from asyncdp_sim.results import Sweep, not_a_result, open_directory
from asyncdp_sim.scenario import Scenario, load
from scenarios.study_command import study_command

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


def study(directory: Path) -> list[Path]:
    """Draw the market of a sweep directory, and return where.

    Raises
    ------
    ResultError
        If the directory is no sweep.
    """
    sweep = open_directory(directory)
    if not isinstance(sweep, Sweep):
        raise not_a_result(directory, "a result without a sweep")
    results = [cell.result for cell in sweep.cells]
    scenario, _ = load(results[0].directory / "scenario.toml")
    return add(directory, [(market(offers(scenario), results), results)], "the-market")


def main(arguments: list[str]) -> int:
    """Add the figure to a sweep directory; return 0 done, 2 the input is wrong."""
    return study_command("scenarios.data_market", study, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
