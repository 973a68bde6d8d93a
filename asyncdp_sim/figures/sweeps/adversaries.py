"""Damage by owners that lie: ψ at the end against how many of them there are."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import BETTER, draw_line, key, legend, looks, scale, wrapped
from asyncdp_sim.figures.kit.outcomes import psi_at_end
from asyncdp_sim.figures.kit.style import THEORY, small_panels
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, ends
from asyncdp_sim.results import Cell, Sweep

PSI = "psi_final_median"
OWNERS, FACTOR = "adversary.owners", "adversary.factor"
MOST_SERIES = 8
MOST_PANELS = 4
WIDTH = 44  # letters of a name in the legend
ASIDE = 0.05  # by how much each line stands beside the one before, so that equal ones are seen
TURN: dict[str, Any] = {"color": THEORY, "linestyle": "--", "linewidth": 0.9}


@dataclass(frozen=True)
class LiarSeries(Series):
    """One line of a panel: its cells, from the fewest owners that lie to the most."""

    factor: float | None


def liars(cell: Cell) -> int:
    """Return the number of dishonest owners of a cell, from the list as JSON text."""
    owners = cell.values[OWNERS]
    return len(json.loads(owners) if isinstance(owners, str) else owners)


def select(sweep: Sweep) -> list[LiarSeries] | str:
    """Return the lines of all panels, or in words why nothing is drawn against liars."""
    values = sweep.varying
    if len({liars(cell) for cell in sweep.cells if OWNERS in cell.values}) < 2:
        return f"{OWNERS} is not swept over two numbers of owners or more"
    factors: Sequence[float | None] = sorted(map(float, values.pop(FACTOR, [])))
    rest = [path for path in values if path != OWNERS]
    if len(rest) > 1 or len(factors) > MOST_PANELS:
        return f"too much is swept besides {OWNERS}: {', '.join([*rest, FACTOR])}"
    if rest and len(values[rest[0]]) > MOST_SERIES:
        return f"{rest[0]} has {len(values[rest[0]])} values, more than {MOST_SERIES} lines"
    series: list[LiarSeries] = []
    for factor in factors or (None,):
        cells = [c for c in sweep.cells if factor is None or c.values[FACTOR] == factor]
        series += LiarSeries.grouped(cells, lambda c: c.label(rest), liars, factor=factor)
    return series


def panels(found: Sequence[LiarSeries], rows: Sequence[Table]) -> Figure:
    """Draw the median of ψ after the last update against the number of dishonest owners."""
    names = list(dict.fromkeys(line.name for line in found))
    factors = list(dict.fromkeys(line.factor for line in found))
    shown = [wrapped(name, WIDTH) for name in names]
    by_name = dict(zip(names, looks(len(names), markersize=4, linewidth=1.1), strict=True))
    room = 0.16 * sum(name.count("\n") + 1 for name in shown) / 2 if len(names) > 1 else 0.0
    figure, several = small_panels(len(factors), room + 0.9)
    for axes, factor in zip(several, factors, strict=True):
        part = [(e, table) for e, table in zip(found, rows, strict=True) if e.factor == factor]
        for line, table in part:
            aside = ASIDE * (names.index(line.name) - (len(names) - 1) / 2)
            draw_line(axes, table["liars"] + aside, ends(table, PSI), **by_name[line.name])
        _finish(axes, [line for line, _ in part])
    top = max(axes.get_ylim()[1] for axes in several)
    for axes in several:
        axes.set_ylim(min(other.get_ylim()[0] for other in several), top)
    several[0].set_ylabel(f"$\\psi$ at the end, median\n{BETTER}")
    if len(names) > 1:
        keys = [key(name, **look) for name, look in zip(shown, by_name.values(), strict=True)]
        legend(figure, [*keys, key("lies outweigh answers", **TURN)], 2)
    return figure


_CAPTION = (
    "Median of the relative fitness ψ of the last model against the number of dishonest owners, "
    "with 95 % intervals (the whole range for fewer than six replicates). ψ and θ* use all "
    "owners' records, dishonest ones included. Dashed: number from which false answers outweigh "
    "honest ones, for equal owners and without a filter. Lines are shifted slightly."
)


def _finish(axes: Axes, lines: Sequence[LiarSeries]) -> None:
    """Scale and name the axes, and mark where lies outweigh honest answers."""
    counts = sorted({count for line in lines for count in line.at})
    result, factor = lines[0].results[0], lines[0].factor
    adversary = result.scenario["adversary"]
    times, flipped = float(adversary["factor"]), adversary["kind"] == "flip"
    xlabel = f"owners that send {'−' if flipped else ''}{number(times)} × the answer"
    scale(axes, xlabel="owners that lie" if factor is None else xlabel)
    turn = result.n_owners / (1 + times)
    if flipped and turn <= counts[-1]:
        axes.axvline(turn, zorder=0, **TURN)
    axes.set_xticks(counts)


def _rows(line: LiarSeries) -> Table:
    """Return what is drawn of one line: a row for every number of owners that lie."""
    factor = np.full(len(line.at), np.nan if line.factor is None else line.factor)
    return line.rows("series", "liars", **{PSI: psi_at_end}) | {"factor": factor}


FIGURE = SweepFigure("liars", select, _rows, panels, lambda *_: _CAPTION)
