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


def threat_models(rounds: Ints, views: Sequence[View], results: Sequence[Result]) -> Picture:
    """Draw μ² over a curator's, a row for each view with its fewest and its most rounds."""
    places = np.arange(len(views), dtype=float)
    marks = [
        Layer("upright", 1.0, name="a curator who publishes each round's noisy mean",
              look={"color": THEORY, "linestyle": "--", "linewidth": 0.9}),
    ]  # fmt: skip
    for which, apart, look in zip((0, -1), (-0.16, 0.16), looks(2, markersize=5), strict=True):
        mean, least, most = (
            np.array([getattr(view, name)[which] for view in views])
            for name in ("mean", "least", "most")
        )
        name = f"{rounds[which]} rounds: mean owner (bar: from least to most exposed owner)"
        of = look | {"linestyle": "none"}
        marks.append(Layer("rows", mean, places + apart, least, most, name, look=of))
    names = [view.name for view in views]
    side = Side(limits=(len(views) - 0.4, -0.6), ticks=places.tolist(), labels=names)
    across = Side("squared sensitivity of an owner's inputs, over a curator's", log=True,
                  ticks=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30), grid=True)  # fmt: skip
    first, *_, last = (view.mean[-1] for view in views[:-1])
    title = (
        f"On a grid of 16, a node that receives sums learns {number(first)} times as much of the "
        f"mean owner as a curator's readers, an observer of every link {number(last)} times"
    )
    caption = (
        "Squared sensitivity of an owner's inputs, with new noise in every round, over that of a "
        "curator who publishes the noisy mean of each round, on a grid of 4 by 4 owners. Dots: "
        "mean over owners; bars: from the least to the most exposed owner, no uncertainty."
    )
    table = {
        "rounds": np.tile(rounds, len(views)),
        "view": np.repeat([name.replace("\n", " ") for name in names], len(rounds)),
    } | {
        column: np.concatenate([getattr(view, column) for view in views])
        for column in ("mean", "least", "most")
    }
    said = Declaration([Panel(marks, across, side)], (6.5, 3.0), title)
    return Picture("threat-models", said, table, caption, label(list(results)))
