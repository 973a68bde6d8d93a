"""E ψ of every cell of a sweep: cells that differ in budgets alone share their recursions."""

from dataclasses import dataclass
from typing import Any

from analysis.exact.learning import Recursions, exact
from asyncdp_sim.forecasts.population import Population, population
from asyncdp_sim.results.manifest import digest
from asyncdp_sim.scenario import Scenario


@dataclass(frozen=True)
class Point:
    """The expected ψ of one cell at the end.

    Attributes
    ----------
    psi, noise_free : float or None
        With noise and without; None where exact moments do not apply.
    doubts : tuple of str
        Why there is none.
    """

    psi: float | None
    noise_free: float | None
    doubts: tuple[str, ...] = ()


def grid(scenario: Scenario, *, shared: Recursions | None = None) -> list[Point]:
    """Return E ψ of every cell of a scenario's sweep; nothing is simulated.

    Parameters
    ----------
    scenario : Scenario
        With a sweep.
    shared : Recursions, optional
        What other grids have run; no bit depends on it.
    """
    cells = [scenario.cell(values) for values in scenario.grid()]
    alike: dict[str, list[int]] = {}
    for place, cell in enumerate(cells):
        alike.setdefault(_data(cell), []).append(place)
    own = Recursions() if shared is None else Recursions(shared.known)
    points = dict[int, Point]()
    for places in alike.values():  # cells with the same records, which may be large
        last: Population | None = None
        for place in places:
            read: Any = {} if last is None else {"dataset": last.dataset, "like": last.problem}
            last = population(cells[place], private=True, **read)
            points[place] = _point(last, own)
    return [points[place] for place in range(len(cells))]


def _point(known: Population, shared: Recursions) -> Point:
    result = exact(known, shared)
    if isinstance(result, tuple):
        return Point(None, None, result)
    return Point(float(result.psi[-1]), float(result.noise_free[-1]))


def _data(scenario: Scenario) -> str:
    """Return what tells apart cells that have other records."""
    raw = scenario.plain()
    return digest({"data": raw["data"], "owners": raw["owners"], "seed": raw["run"]["seed"]})
