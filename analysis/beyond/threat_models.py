"""Squared sensitivity of gossip with new noise in every round, over that of a curator."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, looks
from asyncdp_sim.results import Result


@dataclass(frozen=True, eq=False)
class View:
    """What an observer receives, and owners' μ² over a curator's: mean, least and most, (J,)."""

    name: str
    mean: Array
    least: Array
    most: Array


def threat_models(
    rounds: Ints, views: Sequence[View], apart: Array, results: Sequence[Result]
) -> Picture:
    """Draw μ² over a curator's against rounds, a line for each view.

    ``apart`` is the mean of the first view if its rounds are taken one by one.
    """
    drawn = looks(len(views), markersize=4.5)
    marks = [
        Layer("line", rounds, view.mean, name=view.name, look=look)
        for view, look in zip(views, drawn, strict=True)
    ]
    nearest = {"color": drawn[0]["color"], "alpha": 0.18}
    marks.append(Layer("band", rounds, None, views[0].least, views[0].most, look=nearest))
    dashed = {"color": THEORY, "linestyle": "--", "linewidth": 0.9}
    marks.append(Layer("line", rounds, apart, name=f"{views[0].name}, round by round", look=dashed))
    across = Side("rounds of gossip", ticks=rounds.tolist())
    side = Side("squared sensitivity\nover a curator's", True, grid=True)
    first, last = views[0].mean[-1], views[-1].mean[-1]
    title = (
        f"A node that receives sums learns {number(first)} times as much of a mean owner as from a "
        f"curator, an observer of every link {number(last)} times"
    )
    caption = (
        "Squared sensitivity of an owner's inputs, with new noise in every round, over that of a "
        "curator who publishes the noisy mean of each round: mean over owners, on a grid of 4 by 4 "
        "owners. Band: from the farthest to the nearest owner, against one node that receives "
        "sums. Dashed: that node's rounds, each taken by itself and added up."
    )
    table = {
        "rounds": np.tile(rounds, len(views) + 1),
        "view": np.repeat([*(view.name for view in views), "round by round"], len(rounds)),
        "mean": np.concatenate([*(view.mean for view in views), apart]),
    }
    said = Declaration([Panel(marks, across, side)], (6.5, 3.4), title)
    return Picture("threat-models", said, table, caption, label(list(results)))
