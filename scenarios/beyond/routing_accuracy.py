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

from analysis.beyond.accuracy_over_time import accuracy_over_time, best_step, mean_accuracy
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.papers.claims import Reason
from scenarios.papers.figure import read_figures
from scenarios.papers.resampled import standard_error

EVEN = "all alike, ten at a time"
CHOSEN = "the fast eight times as often, four at a time"
PUBLISHED = (0.1, 0.3)
LATE = 12.0
"""Six times what a slow owner takes for an answer."""


def cells(sweep: Sweep, name: str) -> list[Result]:
    """Return the runs of a choice, which differ in the step."""
    return [cell.result for cell in sweep.cells if cell.values[VARIANT] == name]


def accuracy(sweep: Sweep, name: str, time: float) -> float:
    """Return the mean accuracy of a choice after some time, with the best step."""
    return float(best_step(cells(sweep, name), np.array([time]))[0])


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
    chosen, even = (best_step(cells(sweep, name), times) for name in (CHOSEN, EVEN))
    return float(np.max(times[chosen / even - 1 >= PUBLISHED[0]], initial=0.0))


LATER = Reason(
    "how much is gained is of when one looks, which what was read does not state: less once slow "
    "owners' first answers are there, and nothing once both have learned what can be",
    (-0.1, 0.1), "measured: a unit earlier the gain is the published one",
)  # fmt: skip


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw accuracy over time."""
    choices = [(name, cells(sweep, name)) for name in (EVEN, CHOSEN)]
    ends = [mean_accuracy(each)[1][-1] for _, results in choices for each in results]
    times = np.linspace(0, min(LATE, *ends), 121)
    error = standard_error(lasts, [sweep]) or 0.0
    return [accuracy_over_time(choices, PUBLISHED, times, error, name="routing-accuracy")]


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
