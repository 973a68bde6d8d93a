"""The value of secure aggregation: the noise part of ψ over N, with sums and without."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.words import known
from asyncdp_sim.figures.kit.axes import draw_line, key, legend, looks, number_ticks, scale
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import THEORY, canvas, style
from asyncdp_sim.results import Cell, Sweep, not_a_result

Array = npt.NDArray[np.float64]
OWNERS, VARIANT = "owners.count", "variant"
SURE = 1.96
"""Standard errors on each side of a mean."""
_ROOM = 1.25
"""How many times the largest number the axis reaches, for what is written beside it."""


@dataclass(frozen=True, eq=False)
class NoiseParts:
    """The noise part of E ψ of one way to be heard.

    Attributes
    ----------
    name : str
    owners : array (J,)
        N, ascending.
    noise : array (3, J)
        Mean, and the ends of its 95 % interval.
    """

    name: str
    owners: Array
    noise: Array


def noise_parts(sweep: Sweep) -> list[NoiseParts]:
    """Return a line for each variant, from a sweep over N whose ψ was split.

    Raises
    ------
    ResultError
        If the sweep is another one.
    """
    if set(sweep.paths) != {OWNERS, VARIANT}:
        raise not_a_result(sweep.directory, f"a sweep of something else than {OWNERS} and variants")
    groups: dict[str, list[Cell]] = {}
    for cell in sorted(sweep.cells, key=lambda each: float(each.values[OWNERS])):
        groups.setdefault(cell.label([VARIANT]), []).append(cell)
    found = []
    for name, cells in groups.items():
        split = [cell.result.summary.get("psi_split") or {} for cell in cells]
        mean, error = (
            np.array([known(each.get(part)) for each in split]) for part in ("noise", "noise_se")
        )
        if np.isnan(mean).any():
            raise not_a_result(sweep.directory, "cells whose ψ was not split (run.split)")
        ends = np.stack([mean, mean - SURE * error, mean + SURE * error])
        found.append(NoiseParts(name, np.array([float(c.values[OWNERS]) for c in cells]), ends))
    return found


def value_of_sums(sweep: Sweep, *, name: str = "value-of-sums") -> Picture:
    """Draw the noise part of E ψ against N, a line for each variant; dashed, an N-th of the first.

    Raises
    ------
    ResultError
        As :func:`noise_parts`.
    """
    found = noise_parts(sweep)
    first = found[0]
    drawn = looks(len(found), markersize=5.0)
    with style():
        figure, axes = canvas(height=3.8)
        keys = []
        for each, look in zip(found, drawn, strict=True):
            draw_line(axes, each.owners, each.noise, **look)
            keys.append(key(each.name, **look))
        dashed: dict[str, Any] = {"color": THEORY, "linestyle": "--", "linewidth": 0.9}
        axes.plot(first.owners, first.noise[0] / first.owners, zorder=0, **dashed)
        keys.append(key(f"1/N of “{first.name}”", **dashed))
        scale(axes, "xy", xlabel="number of owners $N$", ylabel="noise part of mean $\\psi$")
        number_ticks(axes, first.owners.tolist())
        for at, high, low in zip(first.owners, first.noise[0], found[1].noise[0], strict=True):
            axes.annotate(
                f"÷ {high / low:.2g}", (at, high), xytext=(5, -15), textcoords="offset points",
                fontsize=9, color="#444444",
            )  # fmt: skip
            axes.plot([at, at], [low, high], color="#bbbbbb", linewidth=0.8, zorder=0)
        axes.set_xlim(first.owners[0] / _ROOM, first.owners[-1] * _ROOM)
        legend(figure, keys, 2)
    results = [cell.result for cell in sweep.cells]
    runs = len(results[0].replicates)
    caption = (
        "What the noise of privacy adds to mean ψ at the end, against the number of owners, which "
        "are equal and all have the same ε, where every answer is heard and where only their sums "
        f"are: mean over {runs} replicates and its 95 % interval. Beside the strokes, how many "
        f"times less it is in “{found[1].name}”. Dashed: an N-th of the first line, what sums are "
        "worth where nothing else matters."
    )
    table = {
        "variant": np.concatenate([[each.name] * len(each.owners) for each in found]),
        "owners": np.concatenate([each.owners for each in found]),
        **{
            end: np.concatenate([each.noise[row] for each in found])
            for row, end in enumerate(("noise", "noise_low", "noise_high"))
        },
    }
    return Picture(name, figure, table, caption, label(results))


__all__ = ["NoiseParts", "noise_parts", "value_of_sums"]
