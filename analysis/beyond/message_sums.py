"""A bound that adds up messages: the exact loss over it, by the hops between two nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.studies.over_distance import LEVELS, over_hops, quartile_marks, rows
from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, looks
from asyncdp_sim.results import Result

FEW = 30
"""Pairs below which a median is marked as one of few."""


@dataclass(frozen=True, eq=False)
class MessageSums:
    """Owners' losses against other nodes on one graph, exact and as summed over messages.

    Attributes
    ----------
    name : str
        Of the graph.
    hops : array of int (m,)
        Between the two, ≥ 1.
    exact, summed : array (m,)
        In one unit; both 0 where nothing was heard.
    """

    name: str
    hops: npt.NDArray[np.int64]
    exact: Array
    summed: Array

    @property
    def heard(self) -> int:
        """Pairs of which one received anything of the other."""
        return int(np.count_nonzero(self.summed > 0))

    def quartiles(self) -> tuple[npt.NDArray[np.int64], Array]:
        """Return distances at which anything was heard, and quartiles of exact over sum, (3, J)."""
        heard = self.summed > 0
        ratio, hops = self.exact[heard] / self.summed[heard], self.hops[heard]
        steps = np.unique(hops)
        return steps, np.array([np.quantile(ratio[hops == each], LEVELS) for each in steps]).T

    def columns(self) -> Columns:
        """Return quartiles over hops, with the median exact loss and the number of pairs."""
        steps, quartiles = self.quartiles()
        at = [(self.summed > 0) & (self.hops == step) for step in steps]
        return rows(self.name, steps, quartiles) | {
            "loss": np.array([np.median(self.exact[each]) for each in at]),
            "pairs": np.array([np.count_nonzero(each) for each in at]),
        }


def message_sums(
    graphs: Sequence[MessageSums], results: Sequence[Result], *, name: str = "message-sums"
) -> Picture:
    """Draw exact loss over sum against hops, a line for each graph, and where they are equal."""
    tables = [each.columns() for each in graphs]
    moved = [
        one | {
            "hops": one["hops"] + 0.2 * (place - (len(tables) - 1) / 2),
            "graph": np.repeat(f"{each.name} ({each.heard:,} of {len(each.hops):,} pairs)",
                               len(one["hops"])),
        }
        for place, (one, each) in enumerate(zip(tables, graphs, strict=True))
    ]  # fmt: skip
    table: Columns = {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}
    marks = quartile_marks(moved, looks(len(graphs), markersize=4.5))
    few = {"linestyle": "none", "marker": "o", "markersize": 2.5, "color": "white"}
    for one in moved:
        at = one["pairs"] < FEW
        marks.append(Layer("line", one["hops"][at], one["median"][at], look=few))
    ring = {"linestyle": "none", "marker": "o", "markersize": 5, "markerfacecolor": "none"}
    marks.append(Layer("line", name=f"fewer than {FEW} pairs", look=ring | {"color": THEORY}))
    dashed = {"color": THEORY, "linestyle": "--", "linewidth": 0.9}
    marks.append(Layer("level", y=1.0, name="equal: above it the sum is no bound", look=dashed))
    panel = Panel(marks, over_hops(tables), Side("exact loss / published sum", True, grid=True))
    said = Declaration([panel], (6.5, 3.2), no_bound(tables))
    caption = (
        "Exact privacy loss μ² of an owner's record from all messages that a node receives, "
        "divided by the published sum over single messages (at most 1/z²): median (line) and "
        "quartiles (band: the spread, no error) over pairs and replicates, by the distance between "
        "the two nodes. Pairs without a message are left out. Lines are moved sideways to tell "
        "them apart."
    )
    return Picture(name, said, table, caption, label(list(results)))


def no_bound(tables: Sequence[Columns]) -> str:
    """Return from which distances on the median exact loss is above the sum, and how far."""
    above = [one["hops"][one["median"] > 1] for one in tables]
    first = sorted({int(hops.min()) for hops in above if len(hops) > 0})
    if len(first) == 0:
        return "At no distance is the median exact loss above the published sum"
    most, loss, pairs = max(
        (float(one["median"][at]), float(one["loss"][at]), int(one["pairs"][at]))
        for one in tables for at in range(len(one["hops"]))
    )  # fmt: skip
    hops = " or ".join(map(str, first))
    text = f"From {hops} hops on, the sum bounds less than half of the pairs with messages; the "
    text += f"median exact loss is up to {number(most)} times as large, of {pairs} pairs where it "
    return f"{text}is {number(loss)} of the loss to an observer of every answer"
