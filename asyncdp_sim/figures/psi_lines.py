"""Mean ψ at the end against one swept number: a marker per cell, laws and bounds as lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from asyncdp_sim.core.arrays import Array, Bools, Columns
from asyncdp_sim.core.words import MOST_NUMBERS, numbers
from asyncdp_sim.figures.axes import (
    BETTER,
    LONGEST_AT_END,
    columns,
    draw_line,
    end_labels,
    key,
    legend,
    looks,
    number_ticks,
    scale,
    wrapped,
)
from asyncdp_sim.figures.outcomes import mean_psi_at_end
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.psi_surface import PROJECTED, PSI, projected, told_of_box
from asyncdp_sim.figures.references import Reference, measured_over, told_of_ratio
from asyncdp_sim.figures.style import THEORY, canvas
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure
from asyncdp_sim.results import Sweep, not_a_result
from asyncdp_sim.scenario.labels import axis as axis_name
from asyncdp_sim.scenario.labels import symbol

LEAST = 3  # cells that a slope is fitted to
MOST_SERIES = 7
LINES: tuple[Any, ...] = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class PsiSeries(Series):
    """The cells that share a marker; its name, such as ``n_i = 1,000``, is empty of one series."""

    @cached_property
    def x(self) -> Array:
        """The swept number, shape (J,)."""
        return np.array(self.at)

    @cached_property
    def psi(self) -> Array:
        """Mean over replicates and the ends of its 95 % interval; infinite where a run diverged.

        Shape (3, J).
        """
        return np.array([mean_psi_at_end(result) for result in self.results]).T

    @property
    def inside(self) -> Bools:
        """Where ψ is positive and finite, and Θ's box held hardly any model, shape (J,)."""
        free = np.array([projected(cell) <= PROJECTED for cell in self.cells])
        return np.asarray(free & np.isfinite(self.psi[0]) & (self.psi[0] > 0))

    @property
    def slope(self) -> float:
        """Exponent of the power law through the means inside; NaN of fewer than three."""
        return slope(self.x[self.inside], self.psi[0][self.inside])

    def of(self, reference: Reference) -> Array:
        """Return a reference's ψ in the cells, shape (J,)."""
        return np.array([reference.at(cell) for cell in self.cells])


def slope(x: Array, psi: Array) -> float:
    """Return a of ψ ∝ xᵃ, least squares of logarithms; NaN of fewer than three positive points."""
    positive = np.isfinite(psi) & (psi > 0)
    if np.count_nonzero(positive) < LEAST:
        return float("nan")
    return float(np.polyfit(np.log(x[positive]), np.log(psi[positive]), 1)[0])


def series_of(
    sweep: Sweep, x: str, by: str | None = None, chosen: Sequence[float] | None = None
) -> list[PsiSeries]:
    """Read mean ψ at the end against a swept number, a series for each value of another.

    Parameters
    ----------
    sweep : Sweep
    x : str
        Swept path with positive values.
    by : str, optional
        What sets the series apart; needed where two paths vary.
    chosen : sequence of float, optional
        The values of ``by`` to show. By default all of a few, else first, middle and last.

    Raises
    ------
    ResultError
        If ``x`` or ``by`` is not swept so, if another path varies too, or if a cell's curve is
        absent or damaged.
    """
    for path in (x,) if by is None else (x, by):
        if path not in sweep.paths:
            raise not_a_result(sweep.directory, f"a sweep that does not vary {path}")
    apart = [] if by is None else [by]
    cells = [
        cell for cell in sweep.cells if chosen is None or by is None or cell.values[by] in chosen
    ]
    series = PsiSeries.grouped(cells, lambda c: c.label(apart), lambda c: float(c.values[x]))
    if chosen is None and len(series) > MOST_SERIES:
        series = [series[0], series[len(series) // 2], series[-1]]
    if len(series) == 0:
        raise not_a_result(sweep.directory, f"no cell with the chosen values of {by}")
    for line in series:
        if len(set(line.at)) < len(line.at) or not (0 < line.at[0] <= line.at[-1] < np.inf):
            reason = f"several cells of one series with one {x}, or one that is not positive"
            raise not_a_result(sweep.directory, reason)
    return series


def lines(
    name: str,
    x: str,
    by: str | None = None,
    *,
    chosen: Sequence[float] | None = None,
    references: Sequence[Reference] = (),
    select: Callable[[Sweep], list[PsiSeries]] | None = None,
) -> SweepFigure[PsiSeries]:
    """Return the figure of mean ψ at the end against a swept number, with 95 % intervals.

    Parameters
    ----------
    name : str
        Of the files.
    x, by, chosen
        As in :func:`series_of`, whose errors drawing it raises.
    references : sequence of Reference
        Each a line per series, in the series' colour; black where it is the same for all.
    select : callable, optional
        What series are drawn of a sweep; absent, those of :func:`series_of`.
    """
    return SweepFigure(
        name,
        select or (lambda sweep: series_of(sweep, x, by, chosen)),
        lambda each: _rows(each, x, references),
        lambda found, _: _drawn(found, x, references),
        lambda found, _: _caption(found, x, by, references),
    )


def markers(
    sweep: Sweep,
    x: str,
    by: str | None = None,
    *,
    chosen: Sequence[float] | None = None,
    references: Sequence[Reference] = (),
    name: str = "markers",
) -> Picture:
    """Draw that figure of a sweep."""
    return lines(name, x, by, chosen=chosen, references=references).picture(sweep)


def _drawn(found: Sequence[PsiSeries], x: str, references: Sequence[Reference]) -> Figure:
    figure, axes = canvas(height=4.2)
    drawn = looks(len(found), markersize=5, linestyle="none")
    if len(found) == 1:
        drawn[0]["color"] = THEORY
    names = [item.name for item in found]
    at_ends = len(found) > 1 and max(map(len, names)) <= LONGEST_AT_END
    keys = [key("mean and 95 % interval", color="#666666", marker="o", linestyle="none")] * at_ends
    for item, look in zip(found, drawn, strict=True):
        draw_line(axes, item.x, item.psi, elinewidth=1.5, **look)
        hollow = look | {"markerfacecolor": "white"}
        axes.plot(item.x[~item.inside], item.psi[0][~item.inside], zorder=3, **hollow)
        keys += [key(wrapped(item.name or "measured"), **look)] * (not at_ends)
    if not all(item.inside.all() for item in found):
        open_one = {"color": "#666666", "marker": "o", "markerfacecolor": "white"}
        keys.append(key("model at the bounds of $\\Theta$", linestyle="none", **open_one))
    for reference, dash in zip(references, LINES * 2, strict=False):
        values = [item.of(reference) for item in found]
        shared = len(found) == 1 or all(np.array_equal(values[0], line) for line in values)
        plain: dict[str, Any] = {"linestyle": dash, "linewidth": 1.1}
        for place in range(1 if shared else len(found)):
            tone = THEORY if shared else drawn[place]["color"]
            axes.plot(found[place].x, values[place], color=tone, zorder=1, **plain)
        keys.append(key(wrapped(reference.name), color=THEORY if shared else "#666666", **plain))
    scale(axes, "xy", xlabel=axis_name(x), ylabel=f"{PSI}\n{BETTER}")
    places = {place for item in found for place in item.at}
    if len(places) <= MOST_NUMBERS:
        number_ticks(axes, places)
    if at_ends:
        ends = [float(item.psi[0][-1]) for item in found]
        tones, signs = ([look[part] for look in drawn] for part in ("color", "marker"))
        end_labels(axes, ends, names, tones, signs)
    legend(figure, keys, columns([wrapped(str(item.get_label())) for item in keys]))
    return figure


def _rows(each: PsiSeries, x: str, references: Sequence[Reference]) -> Columns:
    """Return what is drawn of one series: a row for every cell."""
    table = each.rows("series", x, psi_final_mean=mean_psi_at_end)
    table["projected"] = np.array(list(map(projected, each.cells)))
    return table | {reference.column: each.of(reference) for reference in references}


def _caption(
    found: Sequence[PsiSeries], x: str, by: str | None, references: Sequence[Reference]
) -> str:
    results = [cell.result for item in found for cell in item.cells]
    text = (
        f"Mean ψ after the last update of {numbers(float(len(r.replicates)) for r in results)} "
        f"replicates (markers; error bars: 95 % intervals of the mean) against {x}"
    )
    text += "" if by is None else f", a series for each {by}"
    for item in references:
        psi = np.concatenate([series.psi[0][series.inside] for series in found])
        law = np.concatenate([series.of(item)[series.inside] for series in found])
        text += f"; line: {item.name}{told_of_ratio(measured_over(psi, law))}"
    fitted = [f"{item.name or 'all'} {item.slope:.2f}" for item in found if np.isfinite(item.slope)]
    if fitted:
        text += f". Fitted exponents of {symbol(x)}: {', '.join(fitted)}"
    held = sum(projected(cell) > PROJECTED for item in found for cell in item.cells)
    if held > 0:
        text += told_of_box(held, len(results))
    return f"{text}."
