"""Accuracy over time by whom the learner asks, beside a gain that was published."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import GRAY, looks
from asyncdp_sim.results import Result

SCORE = "held_out_accuracy"


def mean_accuracy(result: Result) -> tuple[Array, Array, Array]:
    """Return k, the mean times and the mean accuracy on held-out rows, at the recorded k."""
    k, time, score = result.columns("curve", "k", "time", SCORE)
    every, place = np.unique(k, return_inverse=True)
    count = np.bincount(place)
    means = [np.bincount(place, weights=each) / count for each in (time, score)]
    return every.astype(float), means[0], means[1]


def uncertainty(result: Result, times: Array) -> Array:
    """Return two standard errors of the mean accuracy at times, (J,)."""
    replicate, time, score = result.columns("curve", "replicate", "time", SCORE)
    runs = [
        np.interp(times, time[replicate == one], score[replicate == one])
        for one in np.unique(replicate)
    ]
    return np.asarray(2 * np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs)))


def best_step(cells: Sequence[Result], times: Array) -> Array:
    """Return the mean accuracy at times, each with the step that is best there."""
    found = [np.interp(times, *mean_accuracy(each)[1:]) for each in cells]
    return np.asarray(np.max(found, axis=0))


def accuracy_over_time(
    choices: Sequence[tuple[str, Sequence[Result]]],
    gain: tuple[float, float],
    times: Array,
    uncertain: float,
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
    uncertain : float
        Standard error of the last time at which the gain is the least that was published.
    name : str
        Of the files.
    """
    curves = [best_step(cells, times) for _, cells in choices]
    errors = [np.max([uncertainty(cell, times) for cell in cells], axis=0) for _, cells in choices]
    low, high = gain
    every = looks(len(choices), markersize=4, markevery=max(1, len(times) // 12))
    marks = [
        *(Layer("line", times, curve, name=said, look=look)
          for (said, _), curve, look in zip(choices, curves, every, strict=True)),
        *(Layer("band", times, None, curve - error, curve + error,
                look={"color": look["color"], "alpha": 0.25})
          for curve, error, look in zip(curves, errors, every, strict=True)),
    ]  # fmt: skip
    gained = curves[1] / curves[0] - 1
    about = np.hypot(*(error / curve for error, curve in zip(errors, curves, strict=True)))
    about *= 1 + gained
    color, published = every[1]["color"], f"published: {100 * low:g} to {100 * high:g} % more"
    ratio = [
        Layer("span", low=100 * low, high=100 * high, name=published, look={"color": "0.85"}),
        Layer("level", y=0, look={"color": GRAY, "linewidth": 0.9}),
        Layer("line", times, 100 * gained, look={"color": color}),
        Layer("band", times, None, 100 * (gained - about), 100 * (gained + about),
             "bands around lines: ± 2 standard errors", look={"color": color, "alpha": 0.25}),
    ]  # fmt: skip
    across = Side("time (units; a slow owner takes 2)", limits=(0, float(times[-1])))
    named = "accuracy on held-out rows,\nbest step for each time"
    sides = (Side(named, limits=(0.5, 1), grid=True),
             Side("relative gain in accuracy (%)", grid=True))  # fmt: skip
    panels = [Panel(which, across, side)
              for which, side in zip((marks, ratio), sides, strict=True)]  # fmt: skip
    title = lasting(choices[1][0], times, gained, low, uncertain)
    said = Declaration(panels, (6.5, 3.0), title)
    caption = (
        "Mean accuracy on held-out rows over time, for each policy by which the learner chooses "
        "owners; at every time with the best step for that time; bands: ± 2 standard errors, the "
        "largest of all steps. Gray: the published gain over the first line. The best step is "
        "chosen after the fact, which flatters both."
    )
    table = {
        "choice": np.repeat([said for said, _ in choices], len(times)),
        "time": np.tile(times, len(choices)),
        "accuracy": np.concatenate(curves),
        "two_standard_errors": np.concatenate(errors),
    }
    results = [each for _, cells in choices for each in cells]
    return Picture(name, said, table, caption, label(results))


def lasting(choice: str, times: Array, gained: Array, least: float, about: float) -> str:
    """Return when a choice gains at least so much, up to ± ``about``, and what at the end.

    Of several such spells the last.
    """
    enough = np.flatnonzero(gained >= least)
    if len(enough) > 0:
        begun = enough[np.flatnonzero(np.diff(enough, prepend=-2) > 1)[-1]]
        when = f"from {times[begun]:.2g} to {times[enough[-1]]:.2g} ± {about:.1g} units"
    else:
        when = "at no time"
    text = f"Asking “{choice}” is at least {100 * least:g} % more accurate {when}"
    verb = "gains" if gained[-1] > 0 else "loses"
    return f"{text}; after {times[-1]:g} units it {verb} {100 * abs(gained[-1]):.1f} %"
