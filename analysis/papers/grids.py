"""Mean ψ at the end on a grid of two swept numbers, which figures of papers are judged by."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.studies.psi_lines import PROJECTED, Reference, measured_over, projected
from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.figures.sweep_figure import OutcomeEstimate, mean_psi_at_end
from asyncdp_sim.results import Cell, Result, Sweep, not_a_result

LEAST = 2  # values of either number


@dataclass(frozen=True, eq=False)
class Grid:
    """Mean ψ at the end on a grid of two swept numbers, both ascending.

    Attributes
    ----------
    x, y : array (X,), array (Y,)
    cells : dict
        The cell at each place (row, column) of the grid.
    paths : tuple of str
        Of x and y.
    """

    x: Array
    y: Array
    cells: dict[tuple[int, int], Cell]
    paths: tuple[str, str]

    @property
    def results(self) -> tuple[Result, ...]:
        """The results that are shown."""
        return tuple(cell.result for cell in self.cells.values())

    def of(self, value: Callable[[Cell], float | OutcomeEstimate], *more: int) -> Array:
        """Return what cells have on the grid, shape (X, Y, …); NaN where a cell is missing."""
        values = np.full((len(self.x), len(self.y), *more), np.nan)
        for place, cell in self.cells.items():
            values[place] = value(cell)
        return values

    @cached_property
    def psi(self) -> Array:
        """Mean over replicates and the ends of its 95 % interval, shape (X, Y, 3).

        Infinite where a run diverged.
        """
        return self.of(lambda cell: mean_psi_at_end(cell.result), 3)

    @property
    def mean(self) -> Array:
        """Mean ψ, shape (X, Y)."""
        return np.asarray(self.psi[:, :, 0])

    @cached_property
    def projected(self) -> Array:
        """Share of the updates in which the projection changed a model, shape (X, Y)."""
        return self.of(projected)

    @property
    def inside(self) -> Bools:
        """Where ψ is positive and finite, and Θ's box held hardly any model, shape (X, Y)."""
        return (self.projected <= PROJECTED) & np.isfinite(self.mean) & (self.mean > 0)


def grid(sweep: Sweep, x: str, y: str) -> Grid:
    """Read mean ψ at the end over two swept paths.

    Raises
    ------
    ResultError
        If they are not swept over two positive numbers or more each, if a third path is, or if a
        cell's curve is absent or damaged.
    """
    for path in (x, y):
        if path not in sweep.paths:
            raise not_a_result(sweep.directory, f"a sweep that does not vary {path}")
    across, along = _ascending(sweep, x), _ascending(sweep, y)
    cells = {}
    for cell in sweep.cells:
        place = (across.index(float(cell.values[x])), along.index(float(cell.values[y])))
        if place in cells:
            raise not_a_result(sweep.directory, f"several cells with one {x} and {y}")
        cells[place] = cell
    return Grid(np.array(across), np.array(along), cells, (x, y))


def slopes(found: Grid) -> tuple[float, float]:
    """Return a and b of ψ ∝ xᵃ yᵇ, least squares of logarithms inside; NaN of too few cells."""
    rows, columns = np.nonzero(found.inside)
    design = np.stack([np.ones(len(rows)), np.log(found.x[rows]), np.log(found.y[columns])], 1)
    if len(rows) < design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        return np.nan, np.nan
    fitted = np.linalg.lstsq(design, np.log(found.mean[rows, columns]), rcond=None)[0]
    return float(fitted[1]), float(fitted[2])


def ratios(found: Grid, reference: Reference) -> Array:
    """Return mean ψ over the reference inside, where that is positive and finite, as one row."""
    return measured_over(found.mean[found.inside], found.of(reference.at)[found.inside])


def _ascending(sweep: Sweep, path: str) -> list[float]:
    """Return a path's values, each once and in ascending order."""
    values = {cell.values[path] for cell in sweep.cells}
    able = all(isinstance(v, int | float | np.number) and 0 < v < np.inf for v in values)
    if not able or len(values) < LEAST:
        reason = f"{path} without {LEAST} values that are positive numbers"
        raise not_a_result(sweep.directory, reason)
    return sorted(map(float, values))
