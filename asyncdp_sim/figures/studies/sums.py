"""The value of secure aggregation: the noise part of ψ over N, with sums and without."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from asyncdp_sim.core.words import known
from asyncdp_sim.figures.kit.axes import draw_line, key, legend, looks, number_ticks, scale
from asyncdp_sim.figures.kit.outcomes import Estimate
from asyncdp_sim.figures.kit.style import THEORY, canvas
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, ends
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario.paths import VARIANT

OWNERS = "owners.count"
SURE = 1.96
"""Standard errors on each side of a mean."""
_ROOM = 1.25
"""How many times the largest number the axis reaches, for what is written beside it."""


def select(sweep: Sweep) -> list[Series] | str:
    """Return a line for each variant of a sweep over N whose ψ was split, or why there is none."""
    if set(sweep.paths) != {OWNERS, VARIANT}:
        return f"a sweep of something else than {OWNERS} and variants"
    if any(np.isnan(noise_part(cell.result).value) for cell in sweep.cells):
        return "cells whose ψ was not split (run.split)"
    return Series.grouped(
        sweep.cells, lambda c: c.label([VARIANT]), lambda c: float(c.values[OWNERS])
    )


def noise_part(result: Result) -> Estimate:
    """Return what the noise of privacy adds to mean ψ at the end, with its 95 % interval."""
    split = result.summary.get("psi_split") or {}
    mean, error = known(split.get("noise")), SURE * known(split.get("noise_se"))
    return Estimate(mean, mean - error, mean + error)


def panels(found: Sequence[Series], rows: Sequence[Table]) -> Figure:
    """Draw the noise part of E ψ against N, a line for each variant; dashed, an N-th of the first.

    Beside the strokes stands how many times less it is in the second.
    """
    figure, axes = canvas(height=3.8)
    keys = []
    for line, table, look in zip(found, rows, looks(len(found), markersize=5.0), strict=True):
        draw_line(axes, table["owners"], ends(table, "noise"), **look)
        keys.append(key(line.name, **look))
    owners, first = rows[0]["owners"], rows[0]["noise"]
    dashed: dict[str, Any] = {"color": THEORY, "linestyle": "--", "linewidth": 0.9}
    axes.plot(owners, first / owners, zorder=0, **dashed)
    keys.append(key(f"1/N of “{found[0].name}”", **dashed))
    scale(axes, "xy", xlabel="number of owners $N$", ylabel="noise part of mean $\\psi$")
    number_ticks(axes, owners.tolist())
    for at, high, low in zip(owners, first, rows[1]["noise"], strict=True):
        axes.annotate(
            f"÷ {high / low:.2g}", (at, high), xytext=(5, -15), textcoords="offset points",
            fontsize=9, color="#444444",
        )  # fmt: skip
        axes.plot([at, at], [low, high], color="#bbbbbb", linewidth=0.8, zorder=0)
    axes.set_xlim(owners[0] / _ROOM, owners[-1] * _ROOM)
    legend(figure, keys, 2)
    return figure


def _caption(found: Sequence[Series], _: Sequence[Table]) -> str:
    return (
        "What the noise of privacy adds to mean ψ at the end, against the number of owners, which "
        "are equal and all have the same ε, where every answer is seen and where only their sums "
        f"are: mean over {len(found[0].results[0].replicates)} replicates and its 95 % interval. "
        f"Beside the strokes, how many times less it is in “{found[1].name}”. Dashed: an N-th of "
        "the first line, what sums are worth where nothing else matters."
    )


FIGURE = SweepFigure(
    "value-of-sums", select, lambda line: line.rows("variant", "owners", noise=noise_part),
    panels, _caption,
)  # fmt: skip
