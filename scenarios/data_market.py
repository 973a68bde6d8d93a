"""What a model costs where privacy has a price: ``python -m scenarios.data_market DIR``.

DIR is the sweep directory of ``data-market`` of the catalogue, to which the figure is added.
"""

import sys
from pathlib import Path

import numpy as np

from analysis import captions
from analysis.market import Offers, market
from analysis.picture import save, write
from analysis.source import Sweep, not_a_result, open_directory
from asyncdp_sim.errors import Fault, InputError
from asyncdp_sim.forecast.market import cheapest, demand
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
    wanted, prices = demand(scenario), np.array(PRICES)
    targets = np.geomspace(*TARGETS, 33)
    bought = [cheapest(wanted, prices, target) for target in targets.tolist()]
    equal = np.sqrt(wanted.loss.sum() / (targets - wanted.free))
    return Offers(prices, targets, np.array([each.epsilon for each in bought]), equal, wanted.free)


def study(directory: Path) -> Path:
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
    picture = market(offers(scenario), results)
    folder = directory / "figures"
    write(folder / "captions-of-the-market.md", captions.page([(picture, results)], []).encode())
    return save(picture, folder)


def main(arguments: list[str]) -> int:
    """Add the figure to a sweep directory; return 0 done, 2 the input is wrong."""
    try:
        if len(arguments) != 1:
            allowed = "allowed is a sweep directory: python -m scenarios.data_market DIR"
            raise InputError([Fault("", f"{len(arguments)} arguments", allowed)])
        sys.stdout.write(f"{study(Path(arguments[0]))}\n")
    except InputError as error:
        sys.stderr.write("\n".join(error.lines()) + "\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
