"""The grid of a sweep, forecast: cells that differ in budgets alone share their recursions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress, counted
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.forecasts.benefit import value_alone
from asyncdp_sim.forecasts.by_moments import MomentForecast, moment_forecast
from asyncdp_sim.forecasts.moments import Recursions, exact
from asyncdp_sim.forecasts.population import Moments, Population, population
from asyncdp_sim.forecasts.uncertainty import REDRAWS, half_width_of
from asyncdp_sim.results.provenance import digest
from asyncdp_sim.scenario import Scenario


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
        Of a 95 % interval of the expected ψ; 0 where each owner's moments are used, which is exact.
    may_be_off : float or None
        Half width of a 95 % interval of ψ over redraws of a table's substitute rows; None
        where there are no such rows.
    uncertain : str or None
        How often that was drawn again, and what it is.
    left_out : tuple of str
        What is not in that half width.
    """

    values: Mapping[str, Any]
    psi: float | None
    noise_free: float | None
    alone: Array | None
    doubts: tuple[str, ...]
    not_for_release: bool
    half_width: float = 0.0
    may_be_off: float | None = None
    uncertain: str | None = None
    left_out: tuple[str, ...] = ()


def grid(
    scenario: Scenario,
    *,
    moments: Moments = None,
    private: bool = False,
    heterogeneity: float | None = None,
    shared: Recursions | None = None,
    progress: Progress | None = None,
) -> list[Point]:
    """Forecast every cell of a scenario's sweep by exact moments; nothing is simulated.

    Parameters
    ----------
    scenario : Scenario
        With a sweep.
    moments, private, heterogeneity
        As for :func:`asyncdp_sim.forecasts.forecast`.
    shared : Recursions, optional
        What other grids have run; no bit depends on it.
    progress : Progress, optional
        Told how many cells are done.

    Raises
    ------
    SpecError
        If the scenario has no sweep, or a cell's values do not fit together.
    DataError
        As :func:`asyncdp_sim.forecasts.forecast`.
    """
    scenario.require_sweep()
    cells = [(values, scenario.cell(values)) for values in scenario.grid()]
    alike: dict[str, list[int]] = {}
    for place, (_, cell) in enumerate(cells):
        alike.setdefault(_data(cell), []).append(place)
    own = Recursions() if shared is None else Recursions(shared.known)
    points_at = dict[int, Point]()
    advance = counted(progress, "forecasting: cells", len(cells))
    for places in alike.values():  # cells with the same records, which may be large
        dataset, several = None, list[Population]()
        for place in places:
            values, cell = cells[place]
            like = several[-1].problem if len(several) > 0 else None
            data = population(cell, moments, private=private, dataset=dataset, like=like)
            points_at[place], dataset = _point(values, data, own, heterogeneity), data.dataset
            several.append(data)
            advance(1)
        points = [points_at[place] for place in places]
        with_off = _with_off(points, several, moments, heterogeneity)
        points_at.update(zip(places, with_off, strict=True))
    return [points_at[place] for place in range(len(cells))]


def _with_off(
    points: Sequence[Point],
    several: Sequence[Population],
    moments: Moments,
    heterogeneity: float | None,
) -> list[Point]:
    """Return forecasts of cells that have the same records with how far they may be off."""
    cell, data = several[0].scenario, several[0].scenario.data
    places = [at for at, point in enumerate(points) if point.psi is not None]
    if data.uncertain is None or len(places) == 0:
        return list(points)
    options = (cell.owners.whole, cell.all_records, Streams(cell.run.seed))
    drawn: dict[int, list[float]] = {at: [] for at in places}
    for redrawn in cell.read_data.redraws(REDRAWS, *options):
        shared, dataset = Recursions(), cell.part(redrawn)
        for at in places:
            redrawn_data = population(several[at].scenario, moments, private=False, dataset=dataset)
            psi = _point(points[at].values, redrawn_data, shared, heterogeneity).psi
            drawn[at].append(np.inf if psi is None else psi)
    results = list(points)
    for at in places:
        half = half_width_of(np.array(drawn[at]), points[at].psi or 0.0)
        uncertain = f"{REDRAWS} {data.uncertain}"
        results[at] = replace(
            results[at], may_be_off=half, uncertain=uncertain, left_out=several[at].dataset.doubts
        )
    return results


def _point(
    values: Mapping[str, Any],
    known: Population,
    shared: Recursions,
    heterogeneity: float | None,
) -> Point:
    result, objective = exact(known, shared), known.objective
    if isinstance(result, tuple) or objective is None:
        doubts = result if isinstance(result, tuple) else ()
        return Point(values, None, None, None, doubts, known.private)
    psi, quiet, half, apart = float(result.psi[-1]), float(result.noise_free[-1]), 0.0, 0.0
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
