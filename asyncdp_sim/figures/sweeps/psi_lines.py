"""Mean ψ at the end against one swept number: a marker per cell, laws and bounds as lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from asyncdp_sim.figures.kit.numbers import MOST_NUMBERS, columns, number, numbers, wrapped
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.source import Cell, Sweep, not_a_result, symbol
from asyncdp_sim.figures.kit.style import MARKERS, THEORY, canvas, colours, plain_numbers, style
from asyncdp_sim.figures.sweeps.overview import NAMES
from asyncdp_sim.figures.sweeps.psi_surface import PROJECTED, PSI, Reference, projected, told_of_box
from asyncdp_sim.figures.sweeps.sweep_figure import strokes

Array = npt.NDArray[np.float64]
LEAST = 3  # cells that a slope is fitted to
MOST_SERIES = 7
LINES: tuple[Any, ...] = ("-", "--", ":", "-.")


@dataclass(frozen=True, eq=False)
class PsiSeries:
    """The cells that share a marker, in ascending order of the swept number.

    Attributes
    ----------
    name : str
        Such as ``n_i = 1,000``; empty where there is one series.
    x : array (J,)
    psi : array (J, 3)
        Mean over replicates and the ends of its 95 % interval; infinite where a run diverged.
    cells : tuple of Cell
    """

    name: str
    x: Array
    psi: Array
    cells: tuple[Cell, ...]

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Where ψ is positive and finite, and Θ's box held hardly any model, shape (J,)."""
        free = np.array([projected(cell) <= PROJECTED for cell in self.cells])
        return free & np.isfinite(self.psi[:, 0]) & (self.psi[:, 0] > 0)

    @property
    def slope(self) -> float:
        """Exponent of the power law through the means inside; NaN of fewer than three."""
        return slope(self.x[self.inside], self.psi[self.inside, 0])

    def of(self, reference: Reference) -> Array:
        """Return a reference's ψ in the cells, shape (J,)."""
        return np.array([reference.at(cell) for cell in self.cells])


def slope(x: Array, psi: Array) -> float:
    """Return a of ψ ∝ xᵃ, least squares of logarithms; NaN of fewer than three positive points."""
    known = np.isfinite(psi) & (psi > 0)
    if np.count_nonzero(known) < LEAST:
        return float("nan")
    return float(np.polyfit(np.log(x[known]), np.log(psi[known]), 1)[0])


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
    groups: dict[Any, list[Cell]] = {}
    for cell in sweep.cells:
        groups.setdefault(None if by is None else cell.values[by], []).append(cell)
    wanted = list(groups) if chosen is None else [each for each in groups if each in chosen]
    if chosen is None and len(groups) > MOST_SERIES:
        wanted = [wanted[0], wanted[len(wanted) // 2], wanted[-1]]
    if len(wanted) == 0:
        raise not_a_result(sweep.directory, f"no cell with the chosen values of {by}")
    return [_series(sweep, x, by, groups[each]) for each in wanted]


def markers(
    sweep: Sweep,
    x: str,
    by: str | None = None,
    *,
    chosen: Sequence[float] | None = None,
    references: Sequence[Reference] = (),
    name: str = "markers",
) -> Picture:
    """Draw mean ψ at the end against a swept number on logarithmic axes, with 95 % intervals.

    Parameters
    ----------
    sweep, x, by, chosen
        As in :func:`series_of`.
    references : sequence of Reference
        Each a line per series, in the series' colour; black where it is the same for all.
    name : str
        Of the files.

    Raises
    ------
    ResultError
        As :func:`series_of`.
    """
    found = series_of(sweep, x, by, chosen)
    shades = [THEORY] if len(found) == 1 else colours(len(found))
    with style():
        figure, axes = canvas(height=4.2)
        axes.set_xscale("log")
        axes.set_yscale("log")
        keys = []
        for each, shade, marker in zip(found, shades, MARKERS * 2, strict=False):
            value, low, high = np.where(np.isfinite(each.psi), each.psi, np.nan).T
            errors = strokes(value, low, high)
            look: dict[str, Any] = {"color": shade, "marker": marker, "markersize": 5}
            axes.errorbar(each.x, value, yerr=errors, linestyle="none", capsize=2, **look)
            held = ~each.inside
            hollow = look | {"markerfacecolor": "white"}
            axes.plot(each.x[held], value[held], linestyle="none", zorder=3, **hollow)
            said = "measured" if each.name == "" else each.name
            keys.append(Line2D([], [], linestyle="none", label=said, **look))
        for reference, dash in zip(references, LINES * 2, strict=False):
            lines = [each.of(reference) for each in found]
            shared = len(found) == 1 or all(np.array_equal(lines[0], line) for line in lines)
            drawn = list(zip(found, lines, shades, strict=True))
            for each, line, shade in drawn[:1] if shared else drawn:
                tone = THEORY if shared else shade
                axes.plot(each.x, line, color=tone, linestyle=dash, linewidth=1.1, zorder=1)
            tone = THEORY if shared else "#666666"
            keys.append(
                Line2D([], [], color=tone, linestyle=dash, label=reference.name, linewidth=1.1)
            )
        places = np.unique(np.concatenate([each.x for each in found]))
        if len(places) <= MOST_NUMBERS:
            axes.set_xticks(places, list(map(number, places.tolist())))
            axes.xaxis.set_minor_formatter(NullFormatter())
        plain_numbers(axes)
        axes.grid(axis="y")
        axes.set_xlabel(NAMES.get(x, x))
        axes.set_ylabel(PSI)
        names = [wrapped(str(key.get_label())) for key in keys]
        figure.legend(handles=keys, loc="outside upper left", ncols=columns(names))
    results = [cell.result for each in found for cell in each.cells]
    said = _caption(found, x, by, references)
    return Picture(name, figure, _table(found, x, references), said, label(results))


def _series(sweep: Sweep, x: str, by: str | None, cells: Sequence[Cell]) -> PsiSeries:
    ordered = sorted(cells, key=lambda cell: float(cell.values[x]))
    at = np.array([float(cell.values[x]) for cell in ordered])
    if len(np.unique(at)) < len(at) or not (at > 0).all() or not np.isfinite(at).all():
        given = f"several cells of one series with one {x}, or one that is not positive"
        raise not_a_result(sweep.directory, given)
    psi = np.array([mean_psi_at_end(cell.result) for cell in ordered])
    return PsiSeries("" if by is None else ordered[0].label([by]), at, psi, tuple(ordered))


def _table(
    found: Sequence[PsiSeries], x: str, references: Sequence[Reference]
) -> dict[str, npt.NDArray[Any]]:
    mean, low, high = np.concatenate([each.psi for each in found]).T
    table: dict[str, npt.NDArray[Any]] = {
        "series": np.repeat([each.name for each in found], [len(each.x) for each in found]),
        x: np.concatenate([each.x for each in found]),
        "psi_final_mean": mean,
        "psi_final_mean_low": low,
        "psi_final_mean_high": high,
        "projected": np.array([projected(cell) for each in found for cell in each.cells]),
    }
    for reference in references:
        table[reference.column] = np.concatenate([each.of(reference) for each in found])
    return table


def _caption(
    found: Sequence[PsiSeries], x: str, by: str | None, references: Sequence[Reference]
) -> str:
    results = [cell.result for each in found for cell in each.cells]
    said = (
        f"Mean ψ after the last update of {numbers(float(len(r.replicates)) for r in results)} "
        f"replicates (markers; strokes: 95 % intervals of the mean) against {x}"
    )
    said += "" if by is None else f", a series for each {by}"
    for each in references:
        said += f"; line: {each.name}{_ratio(found, each)}"
    fitted = [f"{each.name or 'all'} {each.slope:.2f}" for each in found if np.isfinite(each.slope)]
    if fitted:
        said += f". Fitted exponents of {symbol(x)}: {', '.join(fitted)}"
    held = sum(projected(cell) > PROJECTED for each in found for cell in each.cells)
    if held > 0:
        said += told_of_box(held, len(results))
    return f"{said}."


def _ratio(found: Sequence[PsiSeries], reference: Reference) -> str:
    """Return how the measured means compare with a reference, in words; nothing if they cannot."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.concatenate(
            [(each.psi[:, 0] / each.of(reference))[each.inside] for each in found]
        )
    ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
    if len(ratio) == 0:
        return ""
    middle = number(float(np.exp(np.log(ratio).mean())))
    return f", measured over it {middle} ({number(ratio.min())} to {number(ratio.max())})"
