"""Graphs that owners talk over, and ψ at the end against how well each graph connects them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from asyncdp_sim.figures.kit.lines import draw_line, looks, scale
from asyncdp_sim.figures.kit.numbers import number, wrapped
from asyncdp_sim.figures.kit.outcomes import psi_at_end
from asyncdp_sim.figures.kit.source import Sweep
from asyncdp_sim.figures.kit.style import FEW_OWNERS, sheet
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, ends
from asyncdp_sim.theory.predict.table import facts_of
from asyncdp_sim.theory.prediction import Unknown

MOST = 7
MOST_OWNERS = 4 * FEW_OWNERS
LEARNER = 0


@dataclass(frozen=True)
class GraphSeries(Series):
    """The cell of one graph.

    Attributes
    ----------
    nodes : int
        Owners, from 1.
    edges : tuple of pair
        Node 0 is a learner amid the owners.
    """

    nodes: int
    edges: tuple[tuple[int, int], ...]


def select(sweep: Sweep) -> list[GraphSeries] | str:
    """Return a sweep's graphs, a cell for each, or in words why there are none."""
    found: list[GraphSeries] = []
    for cell in sweep.cells:
        network = cell.result.network
        meetings = None if isinstance(network, Unknown) else facts_of(network).meetings
        if meetings is None:
            return "owners do not gossip over a graph"
        if cell.result.n_owners > MOST_OWNERS:
            return f"more than {MOST_OWNERS} owners"
        if cell.result.summary["updates"] == 0:
            continue
        edges, left = meetings
        if all(edges != each.edges for each in found):
            name = cell.label(list(sweep.varying))
            found.append(GraphSeries(name, (1 - left,), (cell,), cell.result.n_owners, edges))
    if not 2 <= len(found) <= MOST:
        return f"{len(found)} graphs, and 2 to {MOST} can be shown"
    return found


def panels(found: Sequence[GraphSeries], rows: Sequence[Table]) -> Figure:
    """Draw every graph, and below them ψ against the spectral gap."""
    figure = sheet(7.2, 4.6)
    grid = figure.add_gridspec(2, len(found), height_ratios=(1.0, 1.9))
    several = [figure.add_subplot(grid[0, place]) for place in range(len(found))]
    axes = figure.add_subplot(grid[1, :])
    lines = looks(len(found), markersize=6, linestyle="none")
    for each, some, small, look in zip(found, rows, several, lines, strict=True):
        _graph(small, each, str(look["color"]))
        small.set_title(f"{wrapped(each.name, 16)}\n{len(each.edges)} edges", fontsize=8)
        draw_line(axes, some["spectral_gap"], ends(some, "psi_final_median"), **look)
        axes.annotate(
            each.name, (some["spectral_gap"][0], some["psi_final_median"][0]), xytext=(8, 4),
            textcoords="offset points", fontsize=8,
        )  # fmt: skip
    scale(axes, "xy", ylabel="$\\psi$ at the end\n(median)")
    axes.set_xlabel("spectral gap of a meeting, $1 - \\lambda_2(E\\,W)$ (wide: well connected)")
    return figure


def _graph(axes: Axes, each: GraphSeries, shade: str) -> None:
    """Draw owners on a circle, a learner in its middle, and a line for every edge."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(each.nodes) / each.nodes
    around = np.column_stack([np.cos(angle), np.sin(angle)])
    places = np.concatenate([[[0.0, 0.0]], around])
    for edge in each.edges:
        (x, y), (to_x, to_y) = places[list(edge)]
        axes.plot([x, to_x], [y, to_y], color="#999999", linewidth=0.7, zorder=1)
    axes.plot(*around.T, "o", color=shade, markersize=4, zorder=2)
    if any(LEARNER in edge for edge in each.edges):
        axes.plot(0, 0, "s", color="black", markersize=5, zorder=2)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.1)


def _rows(each: GraphSeries) -> Table:
    table = each.rows("graph", "spectral_gap", psi_final_median=psi_at_end)
    return table | {"edges": np.array([len(each.edges)])}


def _caption(found: Sequence[GraphSeries], rows: Sequence[Table]) -> str:
    del found
    told = sorted(rows, key=lambda some: float(some["spectral_gap"][0]))
    said = ", ".join(
        f"{some['graph'][0]} {number(float(some['psi_final_median'][0]))} "
        f"(gap {number(float(some['spectral_gap'][0]))})"
        for some in told
    )
    return (
        "Above: who may talk to whom (owners on a circle; square: a learner). Below: the median "
        "of ψ at the end against the spectral gap, with its 95 % interval over replicates (whole "
        f"range of fewer than six); from the narrowest gap: {said}."
    )


FIGURE = SweepFigure("graphs", select, _rows, panels, _caption)
