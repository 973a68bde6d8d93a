"""ψ over the length of an owner's cycles of presence and absence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import number, plus_minus
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side, measured
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
        What does not depend on cycles.
    results : sequence of Result
        What was run.
    """
    ours, *shades = colours(1 + len(flat))
    x, y, about = (np.array(each) for each in zip(*dots, strict=True))
    marks = [
        Layer("line", lengths, curve, name="predicted", look={"color": THEORY, "linewidth": 1.2}),
        measured(x, np.array([y, y - about, y + about]), color=ours, marker="o", markersize=5,
                 name="unbiased steps, ± 2 standard errors", linestyle="none"),
    ]  # fmt: skip
    for each, shade in zip(flat, shades, strict=True):
        band = {"color": shade, "alpha": 0.3}
        dashed = {"color": shade, "linestyle": "--", "linewidth": 1.2}
        named = f"{each.name} (band: measured)"
        marks += [Layer("span", low=each.psi - each.about, high=each.psi + each.about, look=band),
                  Layer("level", y=each.exact, name=named, look=dashed)]  # fmt: skip
    across = Side("mean cycle of the owner that comes and goes (time units)", log=True)
    side = Side("relative fitness $\\psi$", limits=(0, None), grid=True)
    worst = int(np.argmax(y))
    title = f"Mean ψ rises to {plus_minus(y[worst], about[worst])} for cycles of "
    title += f"{number(x[worst])} units; it is "
    title += ", ".join(f"{number(each.psi)} {each.name}" for each in flat)
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
