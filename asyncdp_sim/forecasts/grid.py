"""The grid of a sweep, forecast: cells that differ in budgets alone share their recursions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data import Dataset
from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.forecasts.advice.who_profits import value_alone
from asyncdp_sim.forecasts.exact.choose import exact
from asyncdp_sim.forecasts.exact.moment_forecast import MomentForecast, moment_forecast
from asyncdp_sim.forecasts.exact.one_on_one import Recursions
from asyncdp_sim.forecasts.population import Moments, Population, population
from asyncdp_sim.progress import Progress, counted
from asyncdp_sim.provenance import digest
from asyncdp_sim.scenario import Scenario

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Point:
    """The forecast of one cell.

    Attributes
    ----------
    values : mapping
        The swept paths and their values.
    psi, noise_free : float or None
        Expected ψ at the end, with noise and without; None where exact moments do not apply.
    alone : array (N,) or None
        ψ of each owner's own optimum.
    doubts : tuple of str
        Why there is none.
    not_for_release : bool
        Whether private records were read.
    half_width : float
        Of a 95 % interval of the expected ψ; 0 where owners' own moments are used, which is exact.
    """

    values: Mapping[str, Any]
    psi: float | None
    noise_free: float | None
    alone: Array | None
    doubts: tuple[str, ...]
    not_for_release: bool
    half_width: float = 0.0


def grid(
    scenario: Scenario,
    *,
    moments: Moments = None,
    private: bool = False,
    heterogeneity: float | None = None,
    progress: Progress | None = None,
) -> list[Point]:
    """Forecast every cell of a scenario's sweep by exact moments; nothing is simulated.

    Parameters
    ----------
    scenario : Scenario
        With a sweep.
    moments, private, heterogeneity
        As for :func:`asyncdp_sim.forecasts.forecast`.
    progress : Progress, optional
        Told how many cells are done.

    Raises
    ------
    SpecError
        If the scenario has no sweep, or a cell's values do not fit together.
    DataError
        As :func:`asyncdp_sim.forecasts.forecast`.
    """
    if len(scenario.sweep) == 0:
        raise SpecError([Fault("sweep", "nothing", "allowed is a table of dotted paths and lists")])
    shared, records = Recursions(), dict[str, Dataset]()
    found, cells = [], list(scenario.grid())
    advance = counted(progress, "forecasting: cells", len(cells))
    for values in cells:
        cell = scenario.cell(values)
        key = _data(cell)
        known = population(cell, moments, private=private, dataset=records.get(key))
        records = {key: known.dataset}  # of one grid point at a time: they may be large
        found.append(_point(values, known, shared, heterogeneity))
        advance(1)
    return found


def _point(
    values: Mapping[str, Any],
    known: Population,
    shared: Recursions,
    heterogeneity: float | None,
) -> Point:
    found, objective = exact(known, shared), known.objective
    if isinstance(found, tuple) or objective is None:
        doubts = found if isinstance(found, tuple) else ()
        return Point(values, None, None, None, doubts, known.private)
    psi, quiet, half, apart = float(found.psi[-1]), float(found.noise_free[-1]), 0.0, 0.0
    if known.common:
        several = moment_forecast(known, heterogeneity)
        if not isinstance(several, MomentForecast):
            return Point(values, None, None, None, tuple(several), known.private)
        psi, quiet = float(several.psi[-1]), several.noise_free
        half, apart = several.half_width, several.apart
    alone = value_alone(known, objective, apart)
    return Point(values, psi, quiet, alone, (), known.private, half)


def _data(scenario: Scenario) -> str:
    """Return what tells apart cells that have other records."""
    raw = scenario.plain()
    return digest({"data": raw["data"], "owners": raw["owners"], "seed": raw["run"]["seed"]})
