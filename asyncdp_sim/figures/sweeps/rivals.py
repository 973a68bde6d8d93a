"""Rival ways of learning: ψ at the end, and the time that it took, against ε and N."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from asyncdp_sim.core.words import known
from asyncdp_sim.figures.kit.axes import (
    BETTER,
    draw_line,
    key,
    legend,
    log_axis,
    looks,
    number_ticks,
)
from asyncdp_sim.figures.kit.outcomes import psi_at_end
from asyncdp_sim.figures.kit.style import sheet
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, ends
from asyncdp_sim.privacy.label import PLAIN, mechanism_kind
from asyncdp_sim.results import Cell, Result, Sweep
from asyncdp_sim.scenario.labels import choice

PSI = "psi_final_median"
MOST_PANELS = 4


@dataclass(frozen=True)
class RivalSeries(Series):
    """A rival's best cells for one N, in ascending order of ε.

    Attributes
    ----------
    n_owners : int
        N.
    paths : tuple of str
        What else is swept, which tells the rival's settings apart.
    """

    n_owners: int
    paths: tuple[str, ...]


def best(cells: Sequence[Cell]) -> list[Cell]:
    """Return the best cell of each rival for each N and ε: that of the least median ψ.

    Cells of one rival differ in settings that its budget does not pay for, such as the step.
    """
    least: dict[tuple[str, int, float], tuple[float, Cell]] = {}
    for cell in cells:
        result, epsilon = cell.result, _epsilon(cell)
        if not np.isfinite(epsilon) or result.summary["updates"] == 0:
            continue
        place, psi = (rival(result), result.n_owners, epsilon), psi_at_end(result).value
        if place not in least or psi < least[place][0]:
            least[place] = psi, cell
    return [cell for _, cell in least.values()]


def rival(result: Result) -> str:
    """Return the settings that identify a rival: algorithm, mechanism, and budget rule."""
    privacy = result.scenario["privacy"]
    bound = (privacy.get("sensitivity") or {"kind": "no bound"})["kind"]
    mechanism = mechanism_kind(result.manifest)
    noise = [] if mechanism == PLAIN else [mechanism]
    choices = [choice("privacy.sensitivity.kind", bound)]
    choices.append(choice("privacy.budget.kind", privacy["budget"]["kind"]))
    return ", ".join([result.scenario["algorithm"]["kind"], *noise, *choices])


def select(sweep: Sweep) -> list[RivalSeries] | str:
    """Return a line for each N and rival, or in words why there is nothing to compare."""
    cells = best(sweep.cells)
    if len(set(map(_epsilon, cells))) < 2:
        return "fewer than two budgets"
    if len({rival(cell.result) for cell in cells}) < 2:
        return "fewer than two rivals with an ε"
    counts = sorted({cell.result.n_owners for cell in cells})
    if len(counts) > MOST_PANELS:
        return f"{len(counts)} numbers of owners, more than {MOST_PANELS} panels"
    rest = tuple(path for path in sweep.paths if path != "owners.count")
    series: list[RivalSeries] = []
    for count in counts:
        alike = [cell for cell in cells if cell.result.n_owners == count]
        series += RivalSeries.grouped(
            alike, lambda cell: rival(cell.result), _epsilon, n_owners=count, paths=rest
        )
    return series


def panels(found: Sequence[RivalSeries], rows: Sequence[Table]) -> Figure:
    """Draw two rows of panels, one column for each N: ψ at the end, and the time it took."""
    names = list(dict.fromkeys(series.name for series in found))
    lines = dict(zip(names, looks(len(names), markersize=4, linewidth=1.1), strict=True))
    counts = list(dict.fromkeys(series.n_owners for series in found))
    figure = sheet(7.2, 4.6)
    grid = figure.subplots(2, len(counts), sharex=True, sharey="row", squeeze=False)
    for series, table in zip(found, rows, strict=True):
        above, below = grid[:, counts.index(series.n_owners)]
        draw_line(above, table["epsilon"], ends(table, PSI), **lines[series.name])
        below.plot(table["epsilon"], table["time"], **lines[series.name])
    for axes in grid.flat:
        log_axis(axes, "xy")
        number_ticks(axes, [epsilon for series in found for epsilon in series.at])
        axes.grid(axis="y")
    for (above, below), count in zip(grid.T, counts, strict=True):
        above.set_title(f"$N$ = {count}", fontsize=9)
        below.set_xlabel("privacy budget $\\epsilon$")
    grid[0, 0].set_ylabel(f"$\\psi$ at the end, median\n{BETTER}")
    grid[1, 0].set_ylabel("time of the last update\n(units, median)")
    legend(figure, [key(name, **look) for name, look in lines.items()], 2)
    return figure


def _rows(line: RivalSeries) -> Table:
    """Return what is drawn of one line: a row for every ε."""
    settings = [cell.label([p for p in line.paths if p in cell.values]) for cell in line.cells]
    return line.rows("rival", "epsilon", **{PSI: psi_at_end}) | {
        "setting": np.array(settings),
        "owners": np.repeat(line.n_owners, len(line.at)),
        "time": np.array(list(map(_time, line.results))),
    }


def _epsilon(cell: Cell) -> float:
    return known(cell.result.scenario["privacy"].get("epsilon"))


def _time(result: Result) -> float:
    """Return the median over replicates of the time of the last update."""
    return float(np.median(result.last("time")[0]))


_CAPTION = (
    "ψ of the last model (median; strokes: its 95 % interval over replicates) and the time of "
    "the last update (median) against ε, for every number of owners. Each algorithm has the "
    "best setting in hindsight, whose choice is not charged. ψ is relative to the optimum on "
    "the records of the run, which a bounded domain changes."
)

FIGURE = SweepFigure("rivals", select, _rows, panels, lambda *_: _CAPTION)
