"""Mean ψ at the end over two swept numbers: markers and a surface, a law or a bound as a mesh."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from asyncdp_sim.core.arrays import Array, Bools, Columns
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.core.words import MOST_NUMBERS, number, numbers
from asyncdp_sim.figures.axes import BETTER, RAISED, key, legend, lettered
from asyncdp_sim.figures.outcomes import Estimate, mean_psi_at_end
from asyncdp_sim.figures.picture import Picture, row_labels
from asyncdp_sim.figures.references import (
    BOUNDED,
    Reference,
    measured_over,
    theorem_2,
    told_of_ratio,
)
from asyncdp_sim.figures.style import BAND, BLUE, THEORY, VERMILION, sheet
from asyncdp_sim.figures.sweep_figure import SweepFigure, estimates
from asyncdp_sim.results import Cell, Result, Sweep, not_a_result
from asyncdp_sim.scenario.labels import axis as axis_name
from asyncdp_sim.scenario.labels import symbol

LEAST = 2  # values of either number
LEAST_OF_FIGURE = 4  # values of either, where a sweep is drawn so unasked
PROJECTED = 0.01
"""Share of the updates in which the projection onto Θ may act where a law without it is fitted."""
PSI = "mean $\\psi$ at the end"
VIEW = (22.0, 40.0)
"""Elevation and azimuth in degrees."""


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
    references : tuple of Reference
        Drawn as meshes, or as surfaces where they are solid.
    """

    x: Array
    y: Array
    cells: dict[tuple[int, int], Cell]
    paths: tuple[str, str]
    references: tuple[Reference, ...] = ()

    @property
    def results(self) -> tuple[Result, ...]:
        """The results that are shown."""
        return tuple(cell.result for cell in self.cells.values())

    def of(self, value: Callable[[Cell], float | Estimate], *more: int) -> Array:
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


def projected(cell: Cell) -> float:
    """Return the share of a cell's updates in which the projection changed a model."""
    return float(np.nan_to_num(cell.result.projected))


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


def surface(sweep: Sweep, x: str, y: str, *, references: Sequence[Reference] = ()) -> Picture:
    """Draw mean ψ at the end over two swept numbers, all axes logarithmic.

    Parameters
    ----------
    sweep : Sweep
    x, y : str
        Swept paths with positive values.
    references : sequence of Reference
        Drawn as meshes, or as surfaces where they are solid.

    Raises
    ------
    ResultError
        As :func:`grid`, and if ψ is finite and positive nowhere.
    """
    figure = replace(FIGURE, select=partial(_select, x=x, y=y, beside=references))
    return figure.picture(sweep)


def _select(
    sweep: Sweep, x: str, y: str, beside: Sequence[Reference] | None = None
) -> list[Grid] | str:
    found = grid(sweep, x, y)
    if not np.isfinite(log10(found.mean)).any():
        return "no cell with a finite mean ψ"
    return [replace(found, references=tuple(references(found) if beside is None else beside))]


def references(found: Grid) -> list[Reference]:
    """Return what a sweep's surface is held against.

    Bounds beside entries that have some, else the fitted law c (x y)⁻², as privacy's cost falls
    with records and with ε; c is fitted to the cells inside. Owner 1's own model is known with
    ``run.alone`` (Async, figure 7).
    """
    laws: list[Reference] = []
    x, y = found.paths
    name = str(found.results[0].scenario["id"])
    if name in BOUNDED:
        laws = [*BOUNDED[name], theorem_2(found.cells.values())]
    elif {x, y} == {"owners.records", "privacy.epsilon"} and found.inside.any():
        product = found.x[:, None] * found.y[None, :]
        c = float(np.exp(np.log(found.mean * product**2)[found.inside].mean()))
        factor, _, power = f"{c:.3g}".partition("e")
        factor += f"·10{str(int(power)).translate(RAISED)}" if power != "" else ""
        law = Reference(
            f"fitted law {factor}/(ε n_i)²", "law",
            lambda cell: c / float(cell.values[x] * cell.values[y]) ** 2,
        )  # fmt: skip
        laws.append(law)
    if all("profits_psi" in result.summary for result in found.results):
        alone = Reference(
            "own model of owner 1, without noise", "psi_alone",
            lambda cell: float(cell.result.of_owners("psi_alone")[:, 0].mean()), solid=True,
        )  # fmt: skip
        laws.append(alone)
    return laws


def select(sweep: Sweep) -> list[Grid] | str:
    """Return the grid of a sweep over two positive numbers, or in words why there is none."""
    if len(sweep.varying) != 2:
        return "two settings are not swept"
    x, y = sorted(sweep.varying, key=lambda path: path == "privacy.epsilon")  # ε last
    if min(len(values) for values in sweep.varying.values()) < LEAST_OF_FIGURE:
        return f"fewer than {LEAST_OF_FIGURE} values of {x} or {y}"
    try:
        return _select(sweep, x, y)
    except ResultError as error:
        return "; ".join(error.lines())


def panels(grids: Sequence[Grid], _: Sequence[Columns]) -> Figure:
    """Draw the measured means as markers and a surface, and the references."""
    [found] = grids
    x, y = found.paths
    figure = sheet(6.5, 5.4)
    axes: Any = figure.add_subplot(projection="3d")
    axes.view_init(*VIEW)
    axes.set_box_aspect(None, zoom=0.8)  # room for names, which run along the edges
    keys: list[Artist] = [measured_key()]
    across, along, psi = draw_surface(axes, found.x, found.y, found.mean)
    for cells, fill in ((found.inside, BLUE), (~found.inside, "white")):
        axes.scatter(
            across[cells], along[cells], psi[cells], s=14, depthshade=False,
            facecolors=fill, edgecolors=BLUE, linewidths=0.9,
        )  # fmt: skip
    for reference, shade in zip(found.references, (THEORY, VERMILION, BAND) * 2, strict=False):
        if reference.solid:
            look: dict[str, Any] = {"color": BAND, "alpha": 0.55, "linewidth": 0}
            axes.plot_surface(across, along, log10(found.of(reference.at)), shade=False, **look)
            keys.append(Patch(facecolor=to_rgba(BAND, 0.55), label=lettered(reference.name)))
        else:
            look = {"color": shade, "linewidth": 0.7}
            draw_mesh(axes, across, along, found.of(reference.at), **look)
            keys.append(key(lettered(reference.name), **look))
    if not found.inside.all():
        keys.append(measured_key("model at the bounds of $\\Theta$", face="white"))
    for axis, path, values in ((axes.xaxis, x, found.x), (axes.yaxis, y, found.y)):
        axis.set_label_text(axis_name(path))
        ticks(axis, np.log10(values))
    axes.set_zlabel(f"{PSI} {BETTER}")
    ticks(axes.zaxis)
    legend(figure, keys, 2)
    return figure


def measured_key(name: str = "measured, mean over replicates", face: str = BLUE) -> Line2D:
    """Return the legend text of the markers."""
    look: dict[str, Any] = {"marker": "o", "markersize": 4, "linestyle": "none"}
    return key(name, color=BLUE, markerfacecolor=face, **look)


def draw_surface(axes: Any, x: Array, y: Array, psi: Array) -> tuple[Array, Array, Array]:
    """Draw ψ over a grid as a surface; return the logarithms of all three, shape (X, Y) each."""
    across, along = np.meshgrid(np.log10(x), np.log10(y), indexing="ij")
    height = log10(psi)
    look = {"color": BLUE, "alpha": 0.35, "linewidth": 0, "shade": False}
    axes.plot_surface(across, along, height, rcount=len(x), ccount=len(y), **look)
    return across, along, height


def draw_mesh(axes: Any, across: Array, along: Array, law: Array, **look: Any) -> None:
    """Draw a law over a grid, of which the logarithms are given."""
    rows, columns = law.shape
    axes.plot_wireframe(across, along, log10(law), rcount=rows, ccount=columns, **look)


def _ascending(sweep: Sweep, path: str) -> list[float]:
    """Return a path's values, each once and in ascending order."""
    values = {cell.values[path] for cell in sweep.cells}
    able = all(isinstance(v, int | float | np.number) and 0 < v < np.inf for v in values)
    if not able or len(values) < LEAST:
        reason = f"{path} without {LEAST} values that are positive numbers"
        raise not_a_result(sweep.directory, reason)
    return sorted(map(float, values))


def log10(values: Array) -> Array:
    """Return decimal logarithms; NaN of what is not positive or not finite."""
    positive = np.where(np.isfinite(values) & (values > 0), values, np.nan)
    return np.asarray(np.log10(positive))


def _as_power(exponent: float, _: int | None = None) -> str:
    power = round(exponent)
    return f"$10^{{{power}}}$" if abs(exponent - power) < 1e-9 else number(10**exponent)


def ticks(axis: Any, values: Array | None = None) -> None:
    """Put ticks at a few values themselves, or else at whole decades; values are logarithms."""
    if values is not None and len(values) <= MOST_NUMBERS:
        axis.set_ticks(values, [number(round(10**exponent, 9)) for exponent in values])
        return
    low, high = axis.get_view_interval()
    powers = np.arange(np.ceil(low), np.floor(high) + 1)
    step = max(1, int(np.ceil(len(powers) / 7)))
    axis.set_ticks(powers[::step] if len(powers) >= LEAST else np.linspace(low, high, 4))
    axis.set_major_formatter(_as_power)


def _rows(found: Grid) -> Columns:
    x, y = found.paths
    across, along = np.meshgrid(found.x, found.y, indexing="ij")
    table = {x: across.ravel(), y: along.ravel()}
    table |= estimates("psi_final_mean", found.psi.reshape(-1, 3))
    table["projected"] = found.projected.ravel()
    places = [found.cells.get(place) for place in np.ndindex(found.projected.shape)]
    table |= row_labels([[] if cell is None else [cell.result] for cell in places])
    return table | {law.column: found.of(law.at).ravel() for law in found.references}


def _caption(grids: Sequence[Grid], _: Sequence[Columns]) -> str:
    [found] = grids
    x, y = found.paths
    replicates = numbers(float(len(c.result.replicates)) for c in found.cells.values())
    text = (
        f"Mean ψ after the last update of {replicates} replicates (markers and surface) against "
        f"{x} ({numbers(found.x)}) and {y} ({numbers(found.y)})"
    )
    for reference in found.references:
        manner = "surface in gray" if reference.solid else "mesh"
        text += f"; {manner}: {reference.name}{told_of_ratio(ratios(found, reference))}"
    a, b = slopes(found)
    if np.isfinite(a):
        text += f". Fitted: ψ ∝ {symbol(x)}^{a:.2f} · {symbol(y)}^{b:.2f}"
    held = int(np.count_nonzero(found.projected > PROJECTED))
    if held > 0:
        text += told_of_box(held, len(found.cells))
    left = int(np.count_nonzero(~np.isfinite(found.mean)))
    if left > 0:
        text += f"; {left} cells without a finite mean are left out"
    return f"{text}."


def told_of_box(held: int, cells: int) -> str:
    """Return the caption's text on cells in which the box of Θ acts."""
    return (
        f"; open: {held} of {cells} cells in which the projection onto Θ changed a model in more "
        f"than {100 * PROJECTED:g} % of the updates, left out of ratios and fits"
    )


FIGURE = SweepFigure("surface", select, _rows, panels, _caption)
