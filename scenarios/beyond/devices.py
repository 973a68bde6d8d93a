"""Five devices of unequal speed: the updates and the ε of the fastest over those of the slowest.

What is expected of ε needs no run: m answers with noise multiplier z are as one with z/√m.
"""

from pathlib import Path

import numpy as np

from asyncdp_sim.privacy.accountants import gaussian_epsilon, gaussian_multiplier
from asyncdp_sim.results import Result, Sweep
from scenarios.papers.claims import Range
from scenarios.papers.figure import read_figures
from scenarios.papers.problem import scenario

FAST, SLOW = 1, 5
SETTLED = 2e-3
"""Relatively, what whole numbers of answers in single runs may move a ratio of ε by."""


def fast_over_slow(sweep: Sweep, column: str) -> float:
    """Return a column's mean of the fastest device, over that of the slowest."""
    fast, slow = _means(sweep.cells[0].result, column)
    return fast / slow


def composed(sweep: Sweep) -> Range:
    """Return the ratio of ε that Gaussian composition gives their numbers of answers."""
    ran = sweep.cells[0].result
    privacy = scenario(ran).privacy
    whole = gaussian_multiplier(float(ran.columns("owners", "epsilon")[0].max()), privacy.delta)
    part = np.array(_means(ran, "answers_released")) / privacy.budget.answers  # type: ignore[union-attr]
    fast, slow = (gaussian_epsilon(whole / each, privacy.delta) for each in np.sqrt(part))
    return fast / slow * (1 - SETTLED), fast / slow * (1 + SETTLED)


def _means(result: Result, column: str) -> tuple[float, float]:
    owners, values = result.columns("owners", "owner", column)
    return float(values[owners == FAST].mean()), float(values[owners == SLOW].mean())


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
