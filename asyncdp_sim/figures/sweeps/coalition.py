"""The value of a coalition: what the first m owners learn together, as ever more of them join."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import BETTER, draw_line, key, legend, looks, scale, wrapped
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end
from asyncdp_sim.figures.kit.style import FEW_OWNERS, canvas, plain_text
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, ends
from asyncdp_sim.results import Cell, Sweep

MEMBERS = "availability.probability"
LEAST, MOST_SERIES = 3, 5  # coalitions, and lines
LETTERS = 9  # of an owner's name in one line below the axis
RING: dict[str, Any] = {"marker": "o", "markersize": 11, "markerfacecolor": "none"}


def select(sweep: Sweep) -> list[Series] | str:
    """Return a sweep's coalitions, or in words why it has none.

    A coalition is the owners that are always online, where all others never are; each must hold
    the smaller ones. The others' records still count in f, so that ψ is of one objective.
    """
    if MEMBERS not in sweep.paths:
        return "who takes part is not swept"
    rest = [path for path in sweep.paths if path != MEMBERS]
    if any(_members(cell) is None for cell in sweep.cells):
        return "an owner that is online at times is neither in nor out"
    cells = [cell for cell in sweep.cells if cell.result.summary["updates"] > 0]
    series = Series.grouped(cells, lambda c: c.label(rest), _members)
    if len(series) == 0 or min(len(item.at) for item in series) < LEAST:
        return f"fewer than {LEAST} coalitions"
    if len(series) > MOST_SERIES:
        return f"{len(series)} lines, more than {MOST_SERIES}"
    sizes = [cell.result.of_owners("records")[0] for cell in sweep.cells]
    if not all(np.array_equal(item, sizes[0]) for item in sizes):
        return "owners are not the same in all cells"
    return series


def panels(found: Sequence[Series], rows: Sequence[Table]) -> Figure:
    """Draw ψ of all records against the coalition, with a ring around the least of each line."""
    figure, axes = canvas(height=3.9)
    keys = []
    for place, (table, look) in enumerate(zip(rows, looks(len(found)), strict=True)):
        look |= {"markersize": 4 + 1.8 * (len(rows) - 1 - place)}  # lines that coincide are seen
        values = ends(table, "psi_final_mean")
        draw_line(axes, table["members"], values, linewidth=1.2, elinewidth=1.1, **look)
        best = int(np.argmin(values[0]))
        axes.plot(table["members"][best], values[0][best], color=look["color"], **RING)
        keys.append(key(str(table["line"][0]) or "model", **look))
    keys.append(key("the best coalition", linestyle="none", color="#444444", **RING))
    scale(axes, ylabel=f"mean $\\psi$, all owners' records\n{BETTER}")
    _joined(axes, found)
    legend(figure, keys, 2)
    return figure


def _joined(axes: Axes, found: Sequence[Series]) -> None:
    """Label the axis of coalitions; under each of a few, the last owner and its settings."""
    largest = found[0].results[-1]
    records, epsilon = largest.of_owners("records")[0], largest.of_owners("epsilon")[0]
    counts = sorted({count for series in found for count in series.at})
    if len(records) <= FEW_OWNERS:
        owners = largest.participants
        names = [
            f"{wrapped(plain_text(owners.labels[m - 1]), LETTERS, 3)}\n{number(records[m - 1])}\n"
            f"{number(epsilon[m - 1])}"
            for m in counts
        ]
        axes.set_xticks(counts, names)
        of = f" (of: {found[0].name})" if len(found) > 1 else ""
        axes.set_xlabel(
            "owners 1 to $m$ have joined; below, of the last to join:\n"
            f"rows trained on $n_m$, and $\\epsilon_m${of}"
        )
    else:
        axes.set_xlabel("owners 1 to $m$ have joined")


def _rows(line: Series) -> Table:
    """Return what is drawn of one line: a row for every coalition."""
    records, epsilon = (
        np.array([
            result.of_owners(name)[0][members - 1]
            for members, result in zip(line.at, line.results, strict=True)
        ])
        for name in ("records", "epsilon")
    )  # fmt: skip
    table = line.rows("line", "members", psi_final_mean=mean_psi_at_end)
    names = line.results[-1].participants.names
    if len(names) > 0:
        table["last_to_join"] = np.array([names[members - 1] for members in line.at])
    return table | {"records": records, "epsilon": epsilon}


def _members(cell: Cell) -> int | None:
    """Return m where owners 1 to m are always online and all others never; None elsewhere."""
    probability = cell.result.scenario["availability"].get("probability")
    if not isinstance(probability, list):
        return None
    online = [float(chance) for chance in probability]
    count = online.count(1.0)
    return count if count > 0 and online == [1.0] * count + [0.0] * (len(online) - count) else None


_CAPTION = (
    "The model that owners 1 to m learn jointly. The other owners are never online, so that "
    "their answers are not used; f, θ* and ψ are over the records of all owners, so that "
    "coalitions are comparable: mean over replicates of ψ of the last model (strokes: 95 % "
    "intervals). Rings: the least value of each line."
)

FIGURE = SweepFigure("coalition", select, _rows, panels, lambda *_: _CAPTION)
