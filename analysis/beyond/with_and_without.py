"""ψ over the degree of something, with it and with all but it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side, measured
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, looks
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
    marks, dashed = list[Layer](), {"color": THEORY, "linestyle": "--", "linewidth": 0.9}
    for pair, look in zip(pairs, looks(len(pairs), markersize=5), strict=True):
        ends = np.stack([pair.psi, pair.psi - pair.about, pair.psi + pair.about])
        name_of = f"{pair.name}, ± 2 standard errors"
        marks += [measured(degrees, ends, name=name_of, **look),
                  Layer("line", degrees, pair.exact, look=dashed)]  # fmt: skip
    marks.append(Layer("line", name="predicted", look=dashed))
    across = Side("$\\gamma$: how much chances of presence swing", ticks=degrees.tolist())
    side = Side("relative fitness $\\psi$", limits=(0, None), grid=True)
    grown = [f"{number(pair.psi[-1] / pair.psi[0])} times {pair.name}" for pair in pairs]
    title = f"From γ = {number(degrees[0])} to {number(degrees[-1])}, mean ψ grows "
    title += ", ".join(grown)
    said = Declaration([Panel(marks, across, side)], (6.5, 2.8), title)
    caption = (
        "Mean ψ late in the run against γ. Owners are online with probability p [(1 − γ) + γ sin], "
        "or with the mean of this probability at all times. Dashed: predicted."
    )
    table = {"degree": np.tile(degrees, len(pairs))} | {
        column: np.concatenate([getattr(pair, column) for pair in pairs])
        for column in ("psi", "about", "exact")
    }
    table["kind"] = np.repeat([pair.name for pair in pairs], len(degrees))
    return Picture(name, said, table, caption, label(list(results)))
