"""Accuracy that routing gains: what the first of two papers states, after the same time.

Their networks, images and lengths of training were not read; ours is a small network on labels of
Gaussian records, without privacy, as theirs. The choice is the one that
:mod:`scenarios.beyond.routing` is expected to be quickest with, on other data and by another
measure: none of these runs has a part in it. All choices have the step that is best of four at the
time that is looked at. Nothing predicts the accuracy of a network in closed form.

How much is gained is of when one looks. Two things take the cause away: as many updates in the
place of as much time, and owners of one speed.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from analysis.one_panel import TRUTH, captioned, written
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import plus_minus
from asyncdp_sim.figures.drawer import Layer
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import BLUE
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.papers.figure import read_figures
from scenarios.papers.resampled import Redraws, held, standard_error

EVEN = "all alike, ten at a time"
CHOSEN = "the fast eight times as often, four at a time"
PUBLISHED = (0.1, 0.3)
SCORE = "held_out_accuracy"
LATE = 12.0
"""Six times what a slow owner takes for an answer."""


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


def cells(sweep: Sweep, name: str) -> list[Result]:
    """Return the runs of a choice, which differ in the step."""
    return [cell.result for cell in sweep.cells if cell.values[VARIANT] == name]


def accuracy(sweep: Sweep, name: str, time: float) -> float:
    """Return the mean accuracy of a choice after some time, with the best step."""
    return float(best_step(cells(sweep, name), np.array([time]))[0])


def gains(sweep: Sweep, times: Array) -> Array:
    """Return the relative gains in accuracy at times."""
    chosen, even = (best_step(cells(sweep, name), times) for name in (CHOSEN, EVEN))
    return chosen / even - 1


def gained(sweep: Sweep, time: float) -> float:
    """Return the relative gain in accuracy after some time."""
    return accuracy(sweep, CHOSEN, time) / accuracy(sweep, EVEN, time) - 1


def gained_by_updates(sweep: Sweep, time: float) -> float:
    """Return it after as many updates as all alike make in that time."""
    k, times, _ = mean_accuracy(cells(sweep, EVEN)[0])
    updates = np.interp(time, times, k)
    curves = [mean_accuracy(each) for each in cells(sweep, CHOSEN)]
    best = max(float(np.interp(updates, k, score)) for k, _, score in curves)
    return best / accuracy(sweep, EVEN, time) - 1


def lasts(sweep: Sweep) -> float:
    """Return the last time at which the gain is as large as the least that was published."""
    times = np.linspace(0, LATE, 241)
    return float(np.max(times[gains(sweep, times) >= PUBLISHED[0]], initial=0.0))


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw the gain in accuracy over time, beside the one that was published."""
    runs = [cells(sweep, name) for name in (EVEN, CHOSEN)]
    last = [mean_accuracy(each)[1][-1] for results in runs for each in results]
    times = np.linspace(0, min(LATE, *last), 121)
    gain = gains(sweep, times)
    known, redraws = held(sweep), Redraws()
    again = [gains(each, times) for (each,) in redraws.of([known])]
    about = 2 * np.std(again, axis=0, ddof=1)
    (low, high), band = (100 * each for each in PUBLISHED), {"color": BLUE, "alpha": 0.25}
    marks = [
        Layer("span", low=low, high=high, look={"color": "0.88"}),
        written(times[-1], high, f"published: {low:g} to {high:g} %", "inside"),
        Layer("level", y=0, look=TRUTH),
        Layer("band", times, None, 100 * (gain - about), 100 * (gain + about), look=band),
        Layer("line", times, 100 * gain, look={"color": BLUE}),
    ]
    table = {"time": times, "accuracy_gained": gain, "two_standard_errors": about}
    until = standard_error(lasts, [known], redraws) or 0.0
    title = lasting(times, gain, about, until)
    results = [each for some in runs for each in some]
    name, x = "routing-accuracy", {"limits": (0, float(times[-1]))}
    return [captioned(name, title, marks, table, results, x=x, chosen=CHOSEN, even=EVEN)]


def lasting(times: Array, gain: Array, about: Array, until: float) -> str:
    """Return when a gain is as large as the least that was published, and what it is at the end.

    Of several such spells the last, with the standard error of its end; ``about``: of gains.
    """
    enough = np.flatnonzero(gain >= PUBLISHED[0])
    when = "at no time"
    if len(enough) > 0:
        begun = enough[np.flatnonzero(np.diff(enough, prepend=-2) > 1)[-1]]
        when = f"only from {times[begun]:.2g} to {times[enough[-1]]:.2g} (± {2 * until:.1g}) units"
    end = plus_minus(100 * gain[-1], 100 * about[-1])
    return (
        f"Asking {CHOSEN}, raises accuracy by {100 * PUBLISHED[0]:g} % or more {when}; after "
        f"{times[-1]:g} units by {end} %"
    )


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
