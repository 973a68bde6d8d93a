"""Overview of a sweep: time, throughput, fairness, losses and ψ against the swept number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from asyncdp_sim.figures.kit.numbers import MOST_NUMBERS, columns, number, wrapped
from asyncdp_sim.figures.kit.outcomes import FIGURES
from asyncdp_sim.figures.kit.source import Cell, Result, Sweep
from asyncdp_sim.figures.kit.style import BLUE, MARKERS, colours, plain_numbers, small_panels
from asyncdp_sim.figures.sweeps.sweep_figure import SweepFigure, Table, key, strokes

Array = npt.NDArray[np.float64]
LEAST = 3  # values of the swept number
MOST_SERIES = 8
WIDE = 20.0  # values that span more than this ratio are on a logarithmic axis
SHARED = "#444444"  # of a line that stands for all series
NAMES = {
    "owners.count": "number of owners $N$",
    "owners.records": "records per owner $n_i$",
    "run.updates": "updates $T$",
    "algorithm.rho": "step $\\rho$",
    "clock.rate": "clock rate $\\lambda$ (ticks per unit)",
    "privacy.epsilon": "privacy budget $\\epsilon$",
    "model.regularisation": "regularisation $\\sigma$",
    "model.theta_max": "bound $\\theta_{max}$",
}
"""Names of the horizontal axis; other paths are named as they are."""


@dataclass(frozen=True)
class Varied:
    """The axis of this picture: the swept path, and the path of its lines.

    Attributes
    ----------
    path : str
        The swept number.
    other : str, optional
        What sets the series apart, if two paths are swept.
    """

    path: str
    other: str | None


@dataclass(frozen=True, eq=False)
class FigureSeries:
    """The cells that share a line: its name, its numbers in ascending order, and its figures."""

    name: str
    path: str
    x: Array
    figures: Mapping[str, Array]  # by name: value, low and high in every cell
    results: tuple[Result, ...]

    @classmethod
    def of(cls, name: str, cells: Sequence[Cell], path: str) -> "FigureSeries":
        """Read the figures of these cells."""
        ordered = sorted(cells, key=lambda cell: float(cell.values[path]))
        read = {
            what: np.array([figure(cell.result) for cell in ordered])
            for what, (_, figure) in FIGURES.items()
        }
        x = np.array([float(cell.values[path]) for cell in ordered])
        return cls(name, path, x, read, tuple(cell.result for cell in ordered))


def varied(sweep: Sweep) -> Varied | str:
    """Return the swept number to draw against, or in words why there is none."""
    values = {
        path: list(dict.fromkeys(c.values[path] for c in sweep.cells)) for path in sweep.paths
    }
    values = {path: some for path, some in values.items() if len(some) > 1}
    if len(values) > 2:
        return f"{len(values)} paths are swept, and one or two can be shown"
    able = [
        path
        for path, some in values.items()
        if path != "run.seed" and len(some) >= LEAST and all(map(_is_number, some))
    ]
    if len(able) == 0:
        return f"no number is swept over {LEAST} values or more"
    path = max(able, key=lambda each: len(values[each]))
    others = [each for each in values if each != path]
    if others and len(values[others[0]]) > MOST_SERIES:
        return f"{others[0]} has {len(values[others[0]])} values, more than {MOST_SERIES} lines"
    return Varied(path, others[0] if others else None)


def select(sweep: Sweep) -> list[FigureSeries] | str:
    """Return the lines against the swept number, or in words why there is none."""
    axis = varied(sweep)
    if isinstance(axis, str):
        return axis
    groups: dict[str, list[Cell]] = {}
    for cell in sweep.cells:
        groups.setdefault("" if axis.other is None else cell.label([axis.other]), []).append(cell)
    return [FigureSeries.of(name, cells, axis.path) for name, cells in groups.items()]


def panels(series: Sequence[FigureSeries], rows: Sequence[Table]) -> Figure:
    """Draw small panels of what matters most against the swept number, with 95 % intervals."""
    del rows  # the series have them by figure
    shown = _shown(series)
    shades = [BLUE] if len(series) == 1 else colours(len(series))
    names = [wrapped(each.name) for each in series]
    room = 0.16 * sum(name.count("\n") + 1 for name in names) if len(series) > 1 else 0.0
    figure, several = small_panels(len(shown), room)
    x = np.unique(np.concatenate([each.x for each in series]))
    for axes, what in zip(several, shown, strict=True):
        _draw(axes, what, series, shades, x)
        axes.set_ylabel(FIGURES[what][0])
    for axes in several[-2:]:
        axes.set_xlabel(NAMES.get(series[0].path, series[0].path))
    if len(series) > 1:
        keys = [key(*look) for look in zip(names, shades, MARKERS * 2, strict=False)]
        figure.legend(handles=keys, loc="outside upper left", ncols=columns(names))
    return figure


def _shown(series: Sequence[FigureSeries]) -> list[str]:
    return [what for what in FIGURES if _worth_drawing(what, series)]


def _draw(
    axes: Axes, what: str, series: Sequence[FigureSeries], shades: Sequence[str], x: Array
) -> None:
    """Draw one figure of all series against their numbers; what is not finite is left out."""
    looks = list(zip(series, shades, MARKERS * 2, strict=False))
    if len(series) > 1 and _alike(what, series):
        looks = [(series[0], SHARED, ".")]
    for each, shade, marker in looks:
        value, low, high = np.where(np.isfinite(each.figures[what]), each.figures[what], np.nan).T
        axes.errorbar(
            _places(each.x, x), value, yerr=strokes(value, low, high), fmt=marker,
            linestyle="-", color=shade, markersize=4, linewidth=1.1, elinewidth=1.2, capsize=2,
        )  # fmt: skip
    numbers = np.concatenate([each.figures[what].ravel() for each in series])
    known = numbers[np.isfinite(numbers)]
    if len(known) > 0 and known.min() > 0 and known.max() > WIDE * known.min():
        axes.set_yscale("log")
        plain_numbers(axes)
    elif what != "psi_final_median":
        top = float(known.max(initial=0.0))
        axes.set_ylim(0, 1.08 * top if top > 0 else None)
    axes.grid(axis="y")
    _horizontal(axes, x)


def _horizontal(axes: Axes, x: Array) -> None:
    """Scale the axis of the swept number, and put ∞ at its end if it takes that value."""
    finite = x[np.isfinite(x)]
    if _is_wide(finite):
        axes.set_xscale("log")
        ticks = LogLocator(subs=(1.0,)).tick_values(finite[0], finite[-1])
        inside = [tick for tick in ticks if finite[0] <= tick <= finite[-1]]
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        few = len(finite) <= MOST_NUMBERS
        ticks = finite.tolist() if few else MaxNLocator(5).tick_values(finite[0], finite[-1])
        inside = [tick for tick in ticks if finite[0] <= tick <= finite[-1]]
    if len(inside) < 2:
        inside = [finite[0], finite[-1]]
    if len(finite) < len(x):
        inside.append(_places(np.array([np.inf]), x)[0])
    names = {tick: number(tick) for tick in inside}
    if len(finite) < len(x):
        names[inside[-1]] = "∞"
    axes.xaxis.set_major_locator(FixedLocator(inside))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: names.get(tick, "")))


def _places(some: Array, x: Array) -> Array:
    """Return where numbers stand on an axis of the numbers x, ∞ a step behind the largest."""
    finite = x[np.isfinite(x)]
    low, high = finite[0], finite[-1]
    behind = high * (high / low) ** 0.2 if _is_wide(finite) else high + 0.2 * (high - low)
    return np.where(np.isfinite(some), some, behind)


def _is_wide(finite: Array) -> bool:
    return bool(finite[0] > 0 and finite[-1] >= WIDE * finite[0])


def _worth_drawing(what: str, series: Sequence[FigureSeries]) -> bool:
    """Return whether any cell knows the figure, and it is neither 0 nor unmoved in all that do."""
    values = np.concatenate([each.figures[what][:, 0] for each in series])
    known = values[np.isfinite(values)]
    if what == "psi_final_median":
        return len(known) > 0
    return len(known) > 0 and bool((known != 0).any()) and not _unmoved(what, series)


def _unmoved(what: str, series: Sequence[FigureSeries]) -> bool:
    """Return whether a figure other than 0 is the same in all cells, its interval too."""
    rows = np.concatenate([each.figures[what] for each in series])
    return bool(np.isfinite(rows[0, 0]) and rows[0, 0] != 0) and np.array_equal(
        rows, np.broadcast_to(rows[0], rows.shape), equal_nan=True
    )


def _alike(what: str, series: Sequence[FigureSeries]) -> bool:
    first = series[0]
    return all(
        np.array_equal(each.x, first.x)
        and np.array_equal(each.figures[what], first.figures[what], equal_nan=True)
        for each in series
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _rows(series: FigureSeries) -> Table:
    """Return what is drawn of one line: a row for every number."""
    table: Table = {"series": np.repeat([series.name], len(series.x)), series.path: series.x}
    for what, rows in series.figures.items():
        table |= {what: rows[:, 0], f"{what}_low": rows[:, 1], f"{what}_high": rows[:, 2]}
    return table


def _caption(series: Sequence[FigureSeries], rows: Sequence[Table]) -> str:
    del rows
    shown = _shown(series)
    names = [
        FIGURES[what][0].replace("\n", " ").replace("$\\psi$", "ψ").replace("$", "")
        for what in shown
    ]
    said = (
        f"What changes with {series[0].path}: {', '.join(names)}; strokes: "
        "95 % intervals over replicates (of the median of ψ exact ones, and of fewer than six "
        "replicates their whole range)"
    )
    if len(series) > 1 and any(_alike(what, series) for what in shown):
        said += "; gray where all lines coincide"
    ended = np.concatenate([each.figures["time_to_end"][:, 0] for each in series])
    missing = int(np.count_nonzero(np.isnan(ended)))
    if missing > 0:
        said += f"; in {missing} of {len(ended)} cells not all replicates reached T"
    same = [what for what in FIGURES if what not in shown and _unmoved(what, series)]
    if same:
        said += f"; the same in all cells: {', '.join(same).replace('_', ' ')}"
    rates = ("refusal_rate", "collision_rate", "loss_rate")
    zero = [what for what in rates if what not in (*shown, *same)]
    if zero:
        said += f"; nothing to show of {', '.join(each.replace('_', ' ') for each in zero)}"
    return said + "."


FIGURE = SweepFigure("against", select, lambda found: list(map(_rows, found)), panels, _caption)
