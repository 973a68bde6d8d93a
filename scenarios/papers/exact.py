"""The exact forecast beside what a sweep measured."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.exact.assumptions import nonlinear, out_of_order
from analysis.exact.learning import Recursions, grid
from analysis.studies.psi_lines import Reference, series_of, slope
from asyncdp_sim.results import Cell, Result, Sweep, read_manifest
from asyncdp_sim.scenario import load

STANDARD_ERRORS = 4.0
"""Within which the mean of the runs must be."""


def exactly(sweep: Sweep) -> Reference:
    """Return E ψ of every cell by exact moments; NaN where they do not apply.

    Owners' own second moments are taken, those that the sweep's runs learned from. Clipped
    gradients have no exact moments: theirs are those of the same noise on gradients as they are,
    which holds where hardly any record is clipped.
    """
    clipped = _clipped(sweep)
    name = "exact, were nothing clipped" if clipped else "exact forecast"
    return Reference(name, "exact", _at(sweep, 0))


def quiet(sweep: Sweep) -> Reference:
    """Return E ψ of every cell without noise, by exact moments; NaN where they do not apply."""
    return Reference("without noise", "noise_free", _at(sweep, 1))


def _at(sweep: Sweep, place: int) -> Callable[[Cell], float]:
    settings = ("privacy.sensitivity.kind=declared",) if _clipped(sweep) else ()
    known = _moments(sweep, settings)
    return lambda cell: known[cell.number][place]


def flattest(sweep: Sweep, x: str, by: str) -> float:
    """Return the exponent nearest to 0 of exact E ψ in x, over all values of by."""
    known, every = exactly(sweep), sorted({float(cell.values[by]) for cell in sweep.cells})
    return max(slope(each.x, each.of(known)) for each in series_of(sweep, x, by, every))


def run_over_exact(sweep: Sweep) -> float:
    """Return mean ψ at the end over its expectation, the geometric mean over cells inside."""
    exact = exactly(sweep)
    found = [
        cell.result.mean_psi / exact.at(cell) for cell in sweep.cells if isfinite(exact.at(cell))
    ]
    return float(np.exp(np.mean(np.log(found)))) if len(found) > 0 else nan


def by_chance(sweep: Sweep) -> tuple[float, float]:
    """Return where a mean of R draws of χ² with one degree of freedom is, four standard errors.

    ψ is quadratic in the noise: one draw on all coordinates spreads most, √(2/R) of its mean. Cells
    share their draws, so that more of them are no more certain.
    """
    error = STANDARD_ERRORS * np.sqrt(2 / len(sweep.cells[0].result.replicates))
    return float(1 / (1 + error) ** 2), float(1 + error)


@dataclass(frozen=True)
class Mean(Result):
    """A result whose only replicate ends at the expectation of ψ.

    Attributes
    ----------
    origin : Result
    psi : float
    """

    origin: Result
    psi: float

    @property
    def summary(self) -> dict[str, Any]:
        """The origin's, with the expectation of ψ at the end."""
        return {**self.origin.summary, "psi_final": {"mean": self.psi}}

    def columns(self, name: str, *wanted: str) -> tuple[npt.NDArray[Any], ...]:
        """Return columns of a table; of ``curve`` the end alone."""
        if name != "curve":
            return self.origin.columns(name, *wanted)
        row = {"replicate": 0, "k": self.updates, "time": nan, "relative_fitness": self.psi}
        return tuple(np.array([row[column]]) for column in wanted)


def expected(sweep: Sweep) -> Sweep | None:
    """Return a sweep that ends at expectations, by exact moments; None where no cell has any.

    A cell that has none, such as one whose models Θ's box holds, ends at NaN.
    """
    if _clipped(sweep):
        return None
    known = _moments(sweep, ())
    if not any(isfinite(psi) for psi, _ in known.values()):
        return None
    cells = tuple(
        replace(cell, result=Mean(each.directory, each.manifest, each, known[cell.number][0]))
        for cell in sweep.cells
        for each in (cell.result,)
    )
    return replace(sweep, cells=cells)


def _clipped(sweep: Sweep) -> bool:
    said = read_manifest(sweep.directory)["scenario"]["privacy"]["sensitivity"]
    return said is not None and bool(said["kind"] == "clip")


def _moments(sweep: Sweep, settings: tuple[str, ...]) -> dict[int, tuple[float, float]]:
    """Return E ψ at the end by number of cell, with noise and without."""
    name = (str(read_manifest(sweep.directory)["digest"]), settings)
    if name not in _FORECASTS:
        _FORECASTS[name] = _forecast(sweep.directory, settings)
    return dict(enumerate(_FORECASTS[name]))


_SHARED = Recursions()
"""What has been run for one figure, and serves others of the same records and network."""
_FORECASTS: dict[tuple[str, tuple[str, ...]], tuple[tuple[float, float], ...]] = {}
"""By the scenario's digest, wherever its results lie: figures may have a scenario in common."""


def _forecast(directory: Path, settings: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    scenario, _ = load(directory / "scenario.toml", settings)
    cells = [scenario.cell(values) for values in scenario.grid()]
    if all(len(nonlinear(cell) + out_of_order(cell)) > 0 for cell in cells):
        return ((nan, nan),) * len(cells)  # whatever the records are, which are not drawn
    return tuple(
        (nan, nan) if isinstance(e, tuple) else (float(e.psi[-1]), float(e.noise_free[-1]))
        for e in grid(scenario, shared=_SHARED)
    )
