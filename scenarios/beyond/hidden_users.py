"""Whole users hidden by a trusted aggregator, or by local noise: DECOR's synthetic curves.

Their squared distance to the optimum is read off the plot's own coordinates, the mean of five runs
with its standard deviation. Ours agrees within standard errors of both, below in proportion: a
squared distance is positive, and its runs are skewed.
"""

from math import exp, hypot, sqrt
from pathlib import Path

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.papers.claims import Range, cell_of
from scenarios.papers.figure import read_figures
from scenarios.papers.problem import SURE, uncertain

SEEDS = 5
LATE = 3300
"""Updates that are let pass: the last 200 are averaged."""
CURVATURE = float(np.mean(np.square(np.arange(1, 17) / 4)))


def distances(sweep: Sweep, name: str, epsilon: float) -> Array:
    """Return ‖θ − θ*‖² of each run; f(θ) − f(θ*) is half the curvature times it."""
    ran = cell_of(sweep, {VARIANT: name, "privacy.epsilon": epsilon}).result
    k, *figures = ran.columns("curve", "k", "fitness", "relative_fitness")
    f, psi = (each[k > LATE].reshape(len(ran.replicates), -1) for each in figures)
    return np.asarray((2 / CURVATURE * f * psi / (1 + psi)).mean(axis=1))


def distance(sweep: Sweep, name: str, epsilon: float) -> float:
    """Return its mean over runs."""
    return float(distances(sweep, name, epsilon).mean())


def near(sweep: Sweep, name: str, epsilon: float, mean: float, deviation: float) -> Range:
    """Return standard errors around what was published; below, those of the logarithm."""
    theirs, runs = deviation / sqrt(SEEDS - 1), distances(sweep, name, epsilon)
    ours = uncertain(runs)
    below = mean * exp(-SURE * hypot(theirs / mean, ours / float(runs.mean())))
    return below, mean + SURE * hypot(theirs, ours)


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
