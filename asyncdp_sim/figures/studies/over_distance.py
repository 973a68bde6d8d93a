"""Privacy over distance: an owner's ε against another, by the hops between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from asyncdp_sim.figures.kit.axes import key, legend, looks
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import THEORY, canvas, style
from asyncdp_sim.privacy.accountants.own import gaussian_epsilon
from asyncdp_sim.results import Result

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
LEVELS = (0.25, 0.5, 0.75)


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
    """

    name: str
    hops: Numbers
    squared: Array
    epsilon: float
    delta: float

    def quartiles(self) -> tuple[Numbers, Array]:
        """Return the distances that occur, and quartiles of ε at each, (3, J)."""
        steps = np.unique(self.hops)
        found = [
            np.quantile(self.squared[self.hops == hop], LEVELS, method="higher") for hop in steps
        ]
        told = [[epsilon_of(mu, self.delta) for mu in each] for each in found]
        return steps, np.array(told).T


def epsilon_of(squared: float, delta: float) -> float:
    """Return ε at δ of a Gaussian answer with μ²."""
    return 0.0 if squared == 0 else gaussian_epsilon(float(squared**-0.5), delta)


def draw_quartiles(
    axes: Axes,
    graphs: Sequence[tuple[str, Numbers, Array]],
    drawn: Sequence[Mapping[str, Any]],
) -> dict[str, npt.NDArray[Any]]:
    """Draw medians over hops with bands from quartile to quartile, and return the table of them.

    Parameters
    ----------
    axes : Axes
    graphs : sequence of tuple
        Name, distances (J,), and quartiles (3, J) of each graph.
    drawn : sequence of mapping
        The look of each.
    """
    rows: dict[str, list[Any]] = {each: [] for each in ("graph", "hops", "low", "median", "high")}
    for (name, hops, (low, middle, high)), look in zip(graphs, drawn, strict=True):
        axes.plot(hops, middle, **look)
        axes.fill_between(hops, low, high, color=look["color"], alpha=0.18, linewidth=0)
        if len(hops) == 1:  # a band without a width
            axes.plot([hops[0]] * 2, [low[0], high[0]], color=look["color"], linewidth=1.2)
        rows["graph"] += [name] * len(hops)
        for column, values in zip(
            ("hops", "low", "median", "high"), (hops, low, middle, high), strict=True
        ):
            rows[column] += np.asarray(values, dtype=float).tolist()
    axes.set_xlabel("hops between an owner and the owner that observes it")
    axes.grid(axis="y")
    return {column: np.array(values) for column, values in rows.items()}


def over_distance(
    graphs: Sequence[Pairs], results: Sequence[Result], *, name: str = "over-distance"
) -> Picture:
    """Draw ε against hops, a line for each graph: the median over pairs, and its quartiles."""
    drawn = looks(len(graphs), markersize=4.5)
    with style():
        figure, axes = canvas(height=3.4)
        table = draw_quartiles(axes, [(each.name, *each.quartiles()) for each in graphs], drawn)
        all_heard = max(pairs.epsilon for pairs in graphs)
        axes.axhline(all_heard, color=THEORY, linestyle="--", linewidth=0.9)
        axes.set_ylim(-0.03 * all_heard, 1.12 * all_heard)
        axes.set_xticks(range(1, 1 + max(int(pairs.hops.max()) for pairs in graphs)))
        axes.set_ylabel(f"$\\varepsilon$ of a record at $\\delta$ = {graphs[0].delta:g}")
        keys = [key(each.name, **look) for each, look in zip(graphs, drawn, strict=True)]
        keys.append(key("observer of every answer", color=THEORY, linestyle="--"))
        legend(figure, keys, 3)
    updates = int(results[0].scenario["run"]["updates"])
    n_owners = int(results[0].scenario["owners"]["count"])
    caption = (
        f"ε of one record of an owner against another owner, {n_owners} owners that put one noisy "
        f"vector in each and average it in {updates} meetings: median over pairs and replicates "
        "(line) and quartiles (band), by the distance between the two. Exact for the meetings that "
        "were simulated. Dashed: against an observer of every answer, which no pair exceeds."
    )
    return Picture(name, figure, table, caption, label(list(results)))


__all__ = ["Pairs", "draw_quartiles", "epsilon_of", "over_distance"]
