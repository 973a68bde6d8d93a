"""Privacy over distance: an owner's ε against another, by the hops between them.

The networks of ``privacy-over-distance`` of the catalogue are simulated again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis import one_panel
from analysis.again import traces_of
from asyncdp_sim.core.arrays import Array, Columns, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.convergence import Look
from asyncdp_sim.figures.drawer import Declaration, Layer
from asyncdp_sim.figures.style import GRAY, THEORY, looks
from asyncdp_sim.figures.sweep_figure import SweepFigure
from asyncdp_sim.privacy.accountants import gaussian_epsilon
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario import Scenario, load

LEVELS = (0.25, 0.5, 0.75)
HEARD: dict[str, Any] = {"color": THEORY, "linestyle": "--", "linewidth": 0.9}


@dataclass(frozen=True, eq=False)
class Pairs:
    """Owners' records against other owners on one graph, over all replicates.

    Attributes
    ----------
    name : str
        Of the graph.
    hops : array of int (m,)
        Between the two, ≥ 1.
    squared : array (m,)
        μ² of the record against the other owner; 0 where it has learned nothing.
    epsilon, delta : float
        What the record costs against an observer of every answer, and δ of all ε.
    results : tuple of Result
        Whose networks they are.
    """

    name: str
    hops: Ints
    squared: Array
    epsilon: float
    delta: float
    results: tuple[Result, ...] = ()

    def quartiles(self) -> tuple[Ints, Array]:
        """Return the distances that occur, and quartiles of ε at each, (3, J)."""
        steps = np.unique(self.hops)
        found = [
            np.quantile(self.squared[self.hops == hop], LEVELS, method="higher") for hop in steps
        ]
        epsilon = [[epsilon_of(mu, self.delta) for mu in each] for each in found]
        return steps, np.array(epsilon).T


def epsilon_of(squared: float, delta: float) -> float:
    """Return ε at δ of a Gaussian answer with μ²."""
    return 0.0 if squared == 0 else gaussian_epsilon(float(squared**-0.5), delta)


def pairs(scenario: Scenario, name: str, results: tuple[Result, ...] = ()) -> Pairs:
    """Return what every owner has learned of every other, in all replicates of a scenario.

    Raises
    ------
    SpecError
        If its observer is no node.
    """
    observer, n_owners = scenario.privacy.listener, scenario.owners.count
    # Only it knows pairs, not owners alone; what is no node is refused, and nothing chosen.
    if not isinstance(observer, NodeObserver):
        given = f"{observer.kind!r}"
        raise SpecError([Fault("privacy.observer.kind", given, "allowed is node")])
    accountant = scenario.accountant
    multiplier = accountant.multiplier
    if multiplier is None:
        raise ValueError("an observer that is a node needs Gaussian noise")
    squared = [observer.squared(multiplier, t)[:, :n_owners] for t in traces_of(scenario)]
    apart = ~np.eye(n_owners, dtype=np.bool_)
    return Pairs(
        name,
        np.tile(distances(scenario)[apart], len(squared)),
        np.concatenate([each[apart] for each in squared]),
        float(accountant.epsilon.max()),
        accountant.delta,
        results,
    )


def distances(scenario: Scenario) -> Ints:
    """Return the hops between owners on the graph of a scenario's gossip, (N, N)."""
    import networkx as nx

    n_owners = scenario.owners.count
    graph = scenario.protocol.graph.build(n_owners)  # type: ignore[union-attr]
    found = dict(nx.all_pairs_shortest_path_length(graph))
    owners = range(1, n_owners + 1)
    return np.array([[found[a][b] for b in owners] for a in owners], dtype=np.int64)


def select(sweep: Sweep) -> list[Pairs]:
    """Simulate the networks of a sweep again, and return what owners learn of one another.

    Raises
    ------
    SpecError
        If a cell has another observer.
    """
    named = [(cell.result, cell.label(sweep.paths)) for cell in sweep.cells]
    return [pairs(load(each.directory / "scenario.toml")[0], name, (each,)) for each, name in named]


def rows(name: str, hops: Ints, quartiles: Array) -> Columns:
    """Return a graph's name, distances (J,), and quartiles (3, J), as columns."""
    levels = dict(zip(("low", "median", "high"), quartiles, strict=True))
    return {"graph": np.repeat([name], len(hops)), "hops": hops.astype(float)} | levels


def quartile_marks(graphs: Sequence[Columns], drawn: Sequence[Look]) -> list[Layer]:
    """Return medians over hops with bands from quartile to quartile."""
    marks = []
    for table, look in zip(graphs, drawn, strict=True):
        hops, low, high = table["hops"], table["low"], table["high"]
        marks.append(Layer("line", hops, table["median"], name=str(table["graph"][0]), look=look))
        band = {"color": look["color"], "alpha": 0.18}
        marks.append(Layer("band", hops, None, low, high, look=band))
        if len(hops) == 1:  # a band without a width
            stroke = {"color": look["color"], "linewidth": 1.2}
            marks.append(Layer("strokes", hops, None, low, high, look=stroke))
    quartiles = {"color": GRAY, "alpha": 0.3}
    return [*marks, Layer("band", name="middle half of these pairs", look=quartiles)]


def declared(graphs: Sequence[Pairs], tables: Sequence[Columns]) -> Declaration:
    """Say ε against hops, a line for each graph: the median over pairs, and its quartiles."""
    marks = quartile_marks(tables, looks(len(graphs), markersize=4.5))
    all_heard = max(graph.epsilon for graph in graphs)
    marks.append(Layer("level", y=all_heard, name="observer of every answer", look=HEARD))
    x = {"ticks": range(1, 1 + int(max(table["hops"].max() for table in tables)))}
    y: dict[str, Any] = {"limits": (-0.03 * all_heard, 1.12 * all_heard)}
    y["name"] = f"$\\varepsilon$ of a record at $\\delta$ = {graphs[0].delta:g}"
    return one_panel.declared("over-distance", near_and_far(tables, all_heard), marks, x=x, y=y)


def near_and_far(tables: Sequence[Columns], most: float) -> str:
    """Return the largest median ε of neighbours, and the least of owners far apart."""
    near = max(float(table["median"][0]) for table in tables)
    far = min(float(table["median"][-1]) for table in tables)
    hops = int(max(table["hops"].max() for table in tables))
    return (
        f"Half of all neighbours learn less than ε = {number(near)}, and half of owners up to "
        f"{hops} hops away less than {number(far)}; who hears all learns {number(most)}"
    )


def _caption(graphs: Sequence[Pairs], _: Sequence[Columns]) -> str:
    result = graphs[0].results[0]
    return one_panel.text("over-distance", owners=result.n_owners, meetings=result.updates)


FIGURE = SweepFigure(
    "over-distance", select, lambda graph: rows(graph.name, *graph.quartiles()), declared, _caption
)
STUDIES = {"privacy-over-distance": FIGURE}
