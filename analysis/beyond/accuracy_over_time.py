"""Accuracy over time by whom the learner asks, beside a gain that was published."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import looks
from asyncdp_sim.results import Result

SCORE = "held_out_accuracy"


def mean_accuracy(result: Result) -> tuple[Array, Array, Array]:
    """Return k, the mean times and the mean accuracy on held-out rows, at the recorded k."""
    k, time, score = result.columns("curve", "k", "time", SCORE)
    every, place = np.unique(k, return_inverse=True)
    count = np.bincount(place)
    means = [np.bincount(place, weights=each) / count for each in (time, score)]
    return every.astype(float), means[0], means[1]


def best_step(cells: Sequence[Result], times: Array) -> Array:
    """Return the mean accuracy at times, each with the step that is best there."""
    found = [np.interp(times, *mean_accuracy(each)[1:]) for each in cells]
    return np.asarray(np.max(found, axis=0))


def accuracy_over_time(
    choices: Sequence[tuple[str, Sequence[Result]]],
    gain: tuple[float, float],
    times: Array,
    *,
    name: str = "accuracy-over-time",
) -> Picture:
    """Draw the accuracy of choices over time, and the first one's with a gain.

    Parameters
    ----------
    choices : sequence of (str, sequence of Result)
        Each with runs that differ in the step; the first is what the gain is over.
    gain : (float, float)
        Published, relative: least and largest.
    times : array (J,)
        Within what all runs have seen.
    name : str
        Of the files.
    """
    curves = [best_step(cells, times) for _, cells in choices]
    low, high = gain
    every = looks(len(choices), markersize=4, markevery=max(1, len(times) // 12))
    gray = {"color": "0.85"}
    marks = [
        Layer("band", times, None, (1 + low) * curves[0], np.minimum(1.0, (1 + high) * curves[0]),
             f"published: {low:.0%} to {high:.0%} above the first", look=gray),
        *(Layer("line", times, curve, name=said, look=look)
          for (said, _), curve, look in zip(choices, curves, every, strict=True)),
    ]  # fmt: skip
    named = "time (units; a slow owner takes 2 for an answer)"
    side = Side("accuracy on held-out rows", limits=(0.5, 1), grid=True)
    panel = Panel(marks, Side(named, limits=(0, float(times[-1]))), side)
    ends = [
        f"{curve[-1]:.3f} ({called})" for (called, _), curve in zip(choices, curves, strict=True)
    ]
    title = f"After {times[-1]:g} units the accuracy is {', '.join(ends)}"
    said = Declaration([panel], (6.5, 3.0), title)
    caption = (
        "Mean accuracy on held-out rows over time, for each policy by which the learner chooses "
        "owners; at every time with the best step for that time. Gray: the published gain over the "
        "first line."
    )
    table = {
        "choice": np.repeat([said for said, _ in choices], len(times)),
        "time": np.tile(times, len(choices)),
        "accuracy": np.concatenate(curves),
    }
    results = [each for _, cells in choices for each in cells]
    return Picture(name, said, table, caption, label(results))
