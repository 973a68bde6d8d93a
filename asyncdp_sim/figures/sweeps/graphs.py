"""Graphs that owners talk over, and ψ at the end against how well each graph connects them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from asyncdp_sim.figures.kit.axes import BETTER, draw_line, looks, scale, wrapped
from asyncdp_sim.figures.kit.outcomes import psi_at_end
from asyncdp_sim.figures.kit.style import FEW_OWNERS, legible, sheet
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, ends
from asyncdp_sim.results import Sweep
from asyncdp_sim.theory.predict.protocols import facts_of
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
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
    graphs: list[GraphSeries] = []
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
        if all(edges != graph.edges for graph in graphs):
            name = cell.label(list(sweep.varying))
            graphs.append(GraphSeries(name, (1 - left,), (cell,), cell.result.n_owners, edges))
    if not 2 <= len(graphs) <= MOST:
        return f"{len(graphs)} graphs, and 2 to {MOST} can be shown"
    return graphs


def panels(found: Sequence[GraphSeries], rows: Sequence[Table]) -> Figure:
    """Draw every graph, and below them ψ against the spectral gap."""
    figure = sheet(7.2, 4.6)
    grid = figure.add_gridspec(2, len(found), height_ratios=(1.0, 1.9))
    several = [figure.add_subplot(grid[0, place]) for place in range(len(found))]
    axes = figure.add_subplot(grid[1, :])
    lines = looks(len(found), markersize=6, linestyle="none")
    for graph, table, small, look in zip(found, rows, several, lines, strict=True):
        _graph(small, graph, look)
        small.set_title(wrapped(graph.name, 16), fontsize=8, color=legible(str(look["color"])))
        draw_line(axes, table["spectral_gap"], ends(table, "psi_final_median"), **look)
    scale(axes, "xy", ylabel=f"$\\psi$ at the end, median\n{BETTER}")
    axes.set_xlabel("spectral gap of a meeting, $1 - \\lambda_2(E\\,W)$ (wide: well connected)")
    return figure


def _graph(axes: Axes, each: GraphSeries, look: Mapping[str, Any]) -> None:
    """Draw a marker for every owner, a square for a learner, and a line for every edge."""
    places = _places(each)
    for edge in each.edges:
        ends = [places[node] for node in edge]
        axes.plot(*zip(*ends, strict=True), color="#999999", linewidth=0.7, zorder=1)
    owners = [place for node, place in places.items() if node != LEARNER]
    axes.plot(*zip(*owners, strict=True), **{**look, "markersize": 3.5}, zorder=2)
    if LEARNER in places:
        axes.plot(*places[LEARNER], "s", color="black", markersize=5, zorder=2)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.1)


def _places(each: GraphSeries) -> dict[int, Array]:
    """Return places of nodes, with distances as in edges, so that a grid is drawn as a grid.

    On a circle where all owners are as far from one another, since no plane has such places.
    """
    import networkx as nx  # takes long to import

    graph = nx.Graph(each.edges)
    owners = range(1, each.nodes + 1)
    circle = nx.circular_layout(owners) | {LEARNER: np.zeros(2)}
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    if len({hops[start][other] for start, other in combinations(owners, 2)}) == 1:
        return {node: circle[node] for node in graph}
    places = nx.kamada_kawai_layout(graph, dist=hops, pos={node: circle[node] for node in graph})
    first, second = (places[node] for node in each.edges[0])
    x, y = (second - first) / np.linalg.norm(second - first)
    level = np.array([[x, y], [-y, x]])  # which turns the first edge to lie flat
    return {node: level @ place for node, place in places.items()}


def _rows(each: GraphSeries) -> Table:
    table = each.rows("graph", "spectral_gap", psi_final_median=psi_at_end)
    return table | {"edges": np.array([len(each.edges)])}


def _caption(found: Sequence[GraphSeries]) -> str:
    edges = ", ".join(f"{graph.name} {len(graph.edges)}" for graph in found)
    return (
        f"Above: pairs of owners that may communicate (square: a learner; edges: {edges}). "
        "Below: the median of ψ at the end against the spectral gap, with its 95 % interval over "
        "replicates (whole range of fewer than six)."
    )


FIGURE = SweepFigure("graphs", select, _rows, panels, lambda found, _: _caption(found))
