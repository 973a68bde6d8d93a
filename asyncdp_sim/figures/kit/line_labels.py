"""Names written at the ends of lines, apart from one another, instead of a legend."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

GAP = 0.055  # between two names, as a share of the axes' height


def end_labels(
    axes: Axes, ends: Sequence[float], names: Sequence[str], colours: Sequence[str]
) -> None:
    """Write each line's name right of the axes, at the height of its end.

    Parameters
    ----------
    axes : Axes
        All lines drawn; their limits are fixed here.
    ends : sequence of float
        Where each line ends, in data units.
    """
    axes.set_ylim(axes.get_ylim())
    to_share = axes.transData + axes.transAxes.inverted()
    points = [(axes.get_xlim()[1], end if np.isfinite(end) else np.inf) for end in ends]
    heights = [
        float(np.clip(to_share.transform(point)[1], 0, 1)) if np.isfinite(point[1]) else 1.0
        for point in points
    ]
    for height, name, colour in zip(spread(heights, GAP), names, colours, strict=True):
        axes.text(
            1.022, height, name, color=colour, transform=axes.transAxes, va="center", fontsize=8
        )


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


def _bottom(group: list[float], gap: float) -> float:
    return float(np.mean(group)) - gap * (len(group) - 1) / 2


def _top(group: list[float], gap: float) -> float:
    return float(np.mean(group)) + gap * (len(group) - 1) / 2
