"""ψ over the length of an owner's cycles of presence and absence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side, measured
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, colours
from asyncdp_sim.results import Result


@dataclass(frozen=True)
class Ending:
    """ψ of a way of learning that has no cycles: measured, ± ``about``, and predicted."""

    name: str
    psi: float
    about: float
    exact: float


def long_absence(
    lengths: Array,
    curve: Array,
    dots: Sequence[tuple[float, float, float]],
    flat: Sequence[Ending],
    crossing: float,
    online: float,
    results: Sequence[Result],
    *,
    name: str = "long-absence",
) -> Picture:
    """Draw ψ over the length of cycles: a predicted curve, dots with intervals, and level lines.

    Parameters
    ----------
    lengths, curve : array (J,)
        Cycles, and E ψ in the long run.
    dots : sequence of (float, float, float)
        Cycles, mean ψ and half the width of its interval.
    flat : sequence of Ending
        What does not depend on cycles; the first: to leave the owner out.
    crossing : float
        Cycles from which on it is better to leave the owner out.
    online : float
        The owner's share of time online.
    results : sequence of Result
        What was run.
    """
    ours, *shades = colours(1 + len(flat))
    x, y, about = (np.array(each) for each in zip(*dots, strict=True))
    marks = [
        Layer("line", lengths, curve, name="unbiased steps: predicted",
              look={"color": THEORY, "linewidth": 1.2}),
        measured(x, np.array([y, y - about, y + about]), color=ours, marker="o", markersize=5,
                 name="unbiased steps: measured, ± 2 standard errors", linestyle="none"),
    ]  # fmt: skip
    for each, shade in zip(flat, shades, strict=True):
        band = {"color": shade, "alpha": 0.3}
        dashed = {"color": shade, "linestyle": "--", "linewidth": 1.2}
        named = f"{each.name}: predicted (band: measured, ± 2 standard errors)"
        marks += [Layer("span", low=each.psi - each.about, high=each.psi + each.about, look=band),
                  Layer("level", y=each.exact, name=named, look=dashed)]  # fmt: skip
    better = f"from {number(crossing)} units on, leaving it out is better"
    dotted = {"color": THEORY, "linestyle": ":", "linewidth": 1.2}
    marks.append(Layer("upright", crossing, name=better, look=dotted))
    share = f"an owner that is online {100 * online:.0f} % of the time"
    across = Side(f"mean cycle of {share} (time units)", log=True)
    side = Side(f"mean $\\psi$ late in the run\n{BETTER}", limits=(0, None), grid=True)
    worst = int(np.argmax(y))
    title = f"With {share}, ψ rises up to {number(y[worst] / flat[-1].psi)} "
    title += f"times; leaving it out pays from cycles of {number(crossing)} units on"
    said = Declaration([Panel(marks, across, side)], (6.5, 3.0), title)
    caption = (
        "Mean ψ late in the run against the mean length of one owner's cycles of presence and "
        "absence. Its share of time online is constant. Curve: predicted; dots: measured. Dashed: "
        "without this owner, and with its presence drawn anew at every tick; bands: two standard "
        "errors of the measured values."
    )
    table = {
        "cycle": np.concatenate([x, np.full(len(flat), np.nan)]),
        "psi": np.concatenate([y, [each.psi for each in flat]]),
        "two_standard_errors": np.concatenate([about, [each.about for each in flat]]),
        "predicted": np.concatenate([np.interp(x, lengths, curve), [e.exact for e in flat]]),
    }
    return Picture(name, said, table, caption, label(list(results)))
