"""ψ over the degree of something, with it and with all but it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.figures.axes import draw_line, looks
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, canvas, style
from asyncdp_sim.results import Result


@dataclass(frozen=True, eq=False)
class Pair:
    """ψ of one of two kinds over degrees: measured, ± ``about``, and predicted; shape (J,)."""

    name: str
    psi: Array
    about: Array
    exact: Array


def with_and_without(
    degrees: Array,
    pairs: Sequence[Pair],
    results: Sequence[Result],
    *,
    name: str = "with-and-without",
) -> Picture:
    """Draw ψ over degrees, a line for each kind, and what was predicted."""
    with style():
        figure, axes = canvas(height=3.0)
        for pair, look in zip(pairs, looks(len(pairs), markersize=5), strict=True):
            ends = np.stack([pair.psi, pair.psi - pair.about, pair.psi + pair.about])
            draw_line(axes, degrees, ends, label=f"{pair.name}, ± 2 standard errors", **look)
            axes.plot(degrees, pair.exact, "--", color=THEORY, linewidth=0.9)
        axes.plot([], [], "--", color=THEORY, linewidth=0.9, label="predicted")
        axes.set_ylim(bottom=0)
        axes.set_xticks(degrees)
        axes.set_xlabel("$\\gamma$: how much chances of presence swing")
        axes.set_ylabel("relative fitness $\\psi$")
        axes.grid(axis="y")
        figure.legend(loc="outside upper left", ncols=2)
    caption = (
        "Mean ψ late in the run against γ. Owners are online with probability p [(1 − γ) + γ sin], "
        "or with the mean of this probability at all times. Dashed: predicted."
    )
    table = {"degree": np.tile(degrees, len(pairs))} | {
        column: np.concatenate([getattr(pair, column) for pair in pairs])
        for column in ("psi", "about", "exact")
    }
    table["kind"] = np.repeat([pair.name for pair in pairs], len(degrees))
    return Picture(name, figure, table, caption, label(list(results)))
