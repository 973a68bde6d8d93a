"""Synchronous learning against its exact moments: three owners of unequal sizes and budgets.

E ψ in the middle and at the end, of replays whose rounds all owners answer, against what a forecast
of the scenario says, which knows neither the algorithms' code nor the owners' own second moments.
"""

import numpy as np
import pytest

from analysis.exact.learning import exact
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.scenario import Scenario
from tests.scenes import fields
from tests.tables import table

from .zscores import require, score, shared

pytestmark = pytest.mark.oracle("E ψ of learning in rounds, at the middle and the end")

T, MIDDLE = 100, 40
RUNS = 2500
TABLE = table(__file__, "descent.toml")
ALGORITHMS = TABLE["algorithms"]
BUDGETS = TABLE["budgets"]


def given(name):
    """Return a scenario of three owners with second moments of their own."""
    raw = fields(**TABLE["scene"], algorithm=ALGORITHMS[name])
    raw["privacy"] |= {"epsilon": BUDGETS[name]}
    return Scenario.model_validate(raw)


@shared
def measured(name):
    """Return ψ in the middle and at the end of replays, shape (2, RUNS)."""
    scenario = given(name)
    task = population(scenario, private=False).problem.task
    trace = simulate(scenario.network, Streams(1).within("one"))
    scopes = [Streams(5).within(name, r) for r in range(RUNS)]
    path = replay([trace] * RUNS, task.steps, task.reply, scopes, MIDDLE, "central")
    return np.stack([task.objective.relative_fitness(at) for at in (path.central[1], path.final)])


def scored(name, curve):
    """Return the scores of replays against a curve of E ψ."""
    middle, end = measured(name)
    return [
        score(f"{name}, middle", middle, curve[MIDDLE]),
        score(f"{name}, end", end, curve[-1]),
    ]


@shared
def scores():
    """Return every score of sound moments."""
    return [each for name in ALGORITHMS for each in scored(name, expected(name).psi)]


def expected(name):
    """Return what a forecast takes for exact."""
    found = exact(population(given(name), private=False))
    assert not isinstance(found, tuple), found
    return found


@pytest.mark.long
def test_replays_come_to_what_the_forecast_says():
    require(scores(), error=0.01)
