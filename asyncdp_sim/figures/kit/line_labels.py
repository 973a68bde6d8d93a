"""Names written at the ends of lines, apart from one another, instead of a legend."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from asyncdp_sim.figures.kit.numbers import lettered
from asyncdp_sim.figures.kit.style import legible

LONGEST_AT_END = 18  # letters of a name that fits beside its line; longer ones go on top
GAP = 0.055  # between two names, as a share of the axes' height


def end_labels(
    axes: Axes,
    ends: Sequence[float],
    names: Sequence[str],
    colours: Sequence[str],
    marks: Sequence[str | None] | None = None,
) -> None:
    """Write each line's name right of the axes, at the height of its end.

    Parameters
    ----------
    axes : Axes
        All lines drawn; their limits are fixed here.
    ends : sequence of float
        Where each line ends, in data units.
    marks : sequence, optional
        Markers of the lines, which stand before their names.
    """
    axes.set_ylim(axes.get_ylim())
    to_share = axes.transData + axes.transAxes.inverted()
    points = [(axes.get_xlim()[1], end if np.isfinite(end) else np.inf) for end in ends]
    heights = [
        float(np.clip(to_share.transform(point)[1], 0, 1)) if np.isfinite(point[1]) else 1.0
        for point in points
    ]
    signs = [None] * len(names) if marks is None else marks
    placed = lifted(spread(heights, GAP), GAP)
    for height, name, colour, sign in zip(placed, names, colours, signs, strict=True):
        left = 1.022
        if sign is not None:
            look: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
            axes.plot(left, height, sign, color=colour, markersize=4.5, scalex=False,
                      scaley=False, **look)  # fmt: skip
            left += 0.018
        axes.text(
            left, height, lettered(name), color=legible(colour), transform=axes.transAxes,
            va="center", fontsize=8,
        )  # fmt: skip


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Return heights moved as little as needed to lie ``gap`` apart, in the same order.

    Neighbours that are too close form a group, centred on the mean of its members' heights.
    """
    order = np.argsort(heights, kind="stable")
    groups: list[list[float]] = []
    for height in (heights[i] for i in order):
        groups.append([height])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap):
            last = groups.pop()
            groups[-1] += last
    placed = [_bottom(group, gap) + gap * step for group in groups for step in range(len(group))]
    result = [0.0] * len(heights)
    for where, height in zip(order, placed, strict=True):
        result[int(where)] = height
    return result


def lifted(heights: Sequence[float], gap: float) -> list[float]:
    """Return heights that lie ``gap`` apart with those below the axes moved up, in their order."""
    result, least = list(heights), 0.0
    for place in np.argsort(heights, kind="stable"):
        result[int(place)] = max(result[int(place)], least)
        least = result[int(place)] + gap
    return result


def _bottom(group: list[float], gap: float) -> float:
    return float(np.mean(group)) - gap * (len(group) - 1) / 2


def _top(group: list[float], gap: float) -> float:
    return float(np.mean(group)) + gap * (len(group) - 1) / 2
