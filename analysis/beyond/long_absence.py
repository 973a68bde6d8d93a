"""ψ over the length of an owner's cycles of presence and absence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.figures.axes import log_axis
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, canvas, colours, style
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
    with style():
        figure, axes = canvas(height=3.2)
        axes.plot(lengths, curve, color=THEORY, linewidth=1.2, label="predicted")
        x, y, about = (np.array(each) for each in zip(*dots, strict=True))
        axes.errorbar(x, y, yerr=about, fmt="o", color=ours, markersize=5, capsize=2,
                      label="unbiased steps, ± 2 standard errors")  # fmt: skip
        for each, shade in zip(flat, shades, strict=True):
            axes.axhspan(each.psi - each.about, each.psi + each.about, color=shade, alpha=0.3,
                         linewidth=0)  # fmt: skip
            said = f"{each.name} (band: measured)"
            axes.axhline(each.exact, color=shade, linestyle="--", linewidth=1.2, label=said)
        log_axis(axes, "x")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("mean cycle of the owner that comes and goes (time units)")
        axes.set_ylabel("relative fitness $\\psi$")
        axes.grid(axis="y")
        figure.legend(loc="outside upper left", ncols=2)
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
    return Picture(name, figure, table, caption, label(list(results)))
