"""The price and the worth of local steps: ψ over time, and over exchanges, at the same ε."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import (
    BETTER,
    draw_line,
    key,
    legend_above,
    log_axis,
    looks,
    scale,
)
from asyncdp_sim.figures.kit.style import sheet
from asyncdp_sim.figures.runs.convergence import quartiles
from asyncdp_sim.figures.studies.curves import curve_rows, curves, draw_curve, of_panel
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table
from asyncdp_sim.results import Cell, Sweep
from asyncdp_sim.scenario.paths import VARIANT

ALIKE = "data.split.dirichlet"


@dataclass(frozen=True)
class AlikeSeries(Series):
    """The cells whose owners are equally alike, by their number of exchanges.

    Attributes
    ----------
    alpha : float
    unlike : bool
        Whether owners are least alike, so that ψ is drawn over time.
    """

    alpha: float
    unlike: bool


def select(sweep: Sweep) -> list[AlikeSeries] | str:
    """Return a line for each α; all cells take the same number of gradients."""
    if set(sweep.paths) != {ALIKE, VARIANT}:
        return f"a sweep of something else than variants and {ALIKE}"
    if len({_local(cell) * _exchanges(cell) for cell in sweep.cells}) > 1:
        return "a sweep without variants that all take as many gradients"
    alphas = sorted({float(cell.values[ALIKE]) for cell in sweep.cells})
    return [
        AlikeSeries.ordered(
            f"{'alike' if alpha >= 1e3 else 'unlike'} (α = {alpha:g})",
            [cell for cell in sweep.cells if cell.values[ALIKE] == alpha],
            lambda cell: -_exchanges(cell),
            alpha=alpha, unlike=alpha == alphas[0],
        )
        for alpha in alphas
    ]  # fmt: skip


def _local(cell: Cell) -> int:
    return int(cell.result.scenario["algorithm"].get("local_steps", 1))


def _exchanges(cell: Cell) -> int:
    return int(cell.result.scenario["run"]["updates"])


def _rows(line: AlikeSeries) -> Table:
    """Return quartiles of ψ at the end, and where owners are least alike those over time."""
    last = np.array([quartiles(result, "k")[1][:, -1] for result in line.results]).T
    tables = [curve_rows("end", line.name, -np.array(line.at, dtype=float), last)]
    if line.unlike:
        tables += [
            curve_rows("time", cell.label([VARIANT]), *quartiles(cell.result, "time", 0.5))
            for cell in line.cells
        ]
    return curves(tables)


def panels(found: Sequence[AlikeSeries], rows: Sequence[Table]) -> Figure:
    """Draw ψ against time where owners are least alike, and at the end against exchanges."""
    figure = sheet(7.6, 3.8)
    learned, ended = figure.subplots(1, 2)
    over_time = of_panel(rows[0], "time")
    drawn = looks(len(over_time), markersize=4.0)
    for table, look in zip(over_time.values(), drawn, strict=True):
        draw_curve(learned, table, look)
    log_axis(learned, "x")
    scale(learned, ylabel=f"relative fitness $\\psi$\n{BETTER}")
    learned.set_xlabel("time (units)")
    legend_above(learned, [key(name, **look) for name, look in zip(over_time, drawn, strict=True)],
                 3)  # fmt: skip
    lines = looks(len(found), markersize=5.0)
    for line, table, look in zip(found, rows, lines, strict=True):
        shown = of_panel(table, "end")[line.name]
        draw_line(ended, shown["x"], np.stack([shown["y"], shown["low"], shown["high"]]), **look)
    log_axis(ended, "x")
    ended.set(ylim=(0.0, None), xlabel="exchanges with each owner, $T$")
    ended.set_ylabel(f"$\\psi$ at the end\n{BETTER}")
    legend_above(ended, [key(line.name, **look) for line, look in zip(found, lines, strict=True)],
                 2)  # fmt: skip
    for axes in (learned, ended):
        axes.grid(axis="y")
    return figure


def _caption(found: Sequence[AlikeSeries], rows: Sequence[Table]) -> str:
    cells, last = found[0].cells, of_panel(rows[0], "end")[found[0].name]["y"]
    ends = "; ".join(
        f"{cell.label([VARIANT])}: {number(end)}" for cell, end in zip(cells, last, strict=True)
    )
    return (
        f"{_local(cells[0]) * _exchanges(cells[0])} noisy gradients of each owner, E in each "
        "exchange, with the same noise at the same ε. Left: median ψ over time and its 25–75 % "
        f"band, owners least alike (α = {found[0].alpha:g}). Right: ψ at the end against the "
        "number of exchanges, median and 25–75 % over replicates. At the end, least alike: "
        f"{ends}."
    )


FIGURE = SweepFigure("local-steps", select, _rows, panels, _caption)
