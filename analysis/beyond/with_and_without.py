"""ψ over the degree of something, with it and with all but it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import number, plus_minus
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side, measured
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import looks
from asyncdp_sim.results import Result


@dataclass(frozen=True, eq=False)
class Pair:
    """ψ of one of two kinds over degrees: measured, ± ``about``, and predicted; shape (J,).

    ``course`` is what is predicted over more degrees, (2, M): degrees and ψ. ``error`` is the
    standard error of the last ψ over the first.
    """

    name: str
    psi: Array
    about: Array
    exact: Array
    course: Array
    error: float


def with_and_without(
    degrees: Array,
    pairs: Sequence[Pair],
    chance: float,
    results: Sequence[Result],
    *,
    name: str = "with-and-without",
) -> Picture:
    """Draw ψ over degrees, a line for each of two kinds, and what was predicted.

    The mean chance of presence is ``chance`` times 1 less the degree.
    """
    marks = list[Layer]()
    apart = 0.01 * float(np.ptp(degrees))
    for pair, look, to in zip(pairs, looks(len(pairs), markersize=5), (-apart, apart), strict=True):
        ends = np.stack([pair.psi, pair.psi - pair.about, pair.psi + pair.about])
        name_of = f"{pair.name}, ± 2 standard errors"
        dashed = {"color": look["color"], "linestyle": "--", "linewidth": 1.2}
        marks += [measured(degrees + to, ends, name=name_of, **look | {"linestyle": "none"}),
                  Layer("line", pair.course[0], pair.course[1], name=f"{pair.name}: predicted",
                        look=dashed)]  # fmt: skip
    labels = [f"{number(degree)}\n{number(chance * (1 - degree))}" for degree in degrees]
    named = f"$\\gamma$, and below it the mean chance of presence, {number(chance)} (1 − $\\gamma$)"
    across = Side(named, ticks=degrees.tolist(), labels=labels)
    side = Side(f"mean $\\psi$ late in the run\n{BETTER}", limits=(0, None), grid=True)
    said = Declaration([Panel(marks, across, side)], (6.5, 3.0), growing(degrees, pairs))
    caption = (
        "Mean ψ late in the run against γ. Owners are online with probability p [(1 − γ) + γ sin], "
        "or with the mean of this probability at all times. Dashed: predicted. Marks are moved "
        "sideways to tell them apart."
    )
    table = {"degree": np.tile(degrees, len(pairs))} | {
        column: np.concatenate([getattr(pair, column) for pair in pairs])
        for column in ("psi", "about", "exact")
    }
    table["kind"] = np.repeat([pair.name for pair in pairs], len(degrees))
    return Picture(name, said, table, caption, label(list(results)))


def growing(degrees: Array, pairs: Sequence[Pair]) -> str:
    """Return how much ψ grows in both kinds, and which part of it the second has."""
    first, second = (f"{_growth(pair)} times {pair.name}" for pair in pairs)
    seen, exact = (_remains(pairs, of) for of in ("psi", "exact"))
    title = f"From γ = {number(degrees[0])} to {number(degrees[-1])}, mean ψ grows {first}, and "
    title += f"{second} (± 2 standard errors): {seen} of the logarithm remains "
    return f"{title}(predicted: {exact})"


def _growth(pair: Pair) -> str:
    """Return the last ψ over the first, ± two standard errors."""
    return plus_minus(pair.psi[-1] / pair.psi[0], 2 * pair.error)


def _remains(pairs: Sequence[Pair], of: str) -> str:
    """Return the part of the first kind's growth, in logarithms, that the second has."""
    psi = [getattr(pair, of) for pair in pairs]
    first, second = (np.log(values[-1] / values[0]) for values in psi)
    return f"{100 * second / first:.0f} %"
