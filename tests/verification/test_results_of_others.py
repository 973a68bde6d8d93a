"""Predictions of results of others, against runs: where learning ends, and how it goes.

The predictions are those of ``scenarios.beyond``: moments of linear recursions that owners move at
random, or that waves or a Markov chain switch, and of steps by stale answers given who answers
when, over networks simulated apart. Runs are the catalogue's own, at fewer replicates; each of
these is one observation.
"""

from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import AsyncGossip, FedAsync, FedBuff, ParameterServer
from asyncdp_sim.network.availability import Always, Bernoulli, Diurnal, Outages
from asyncdp_sim.network.protocols import Dispatch, Request, Rounds
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.catalogue import entry
from asyncdp_sim.sweeps.sweep import sweep
from scenarios.beyond import absence, lasting, routing, waves
from scenarios.beyond.prices import expected_course
from scenarios.papers.claims import result
from scenarios.papers.problem import ends, late_psi, objective, scenario
from tests.tables import table

from .zscores import Score, deviate, require, score, seen, shared, two_stages

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("limit and rate of learning with absent owners or with dispatched tasks"),
]

TABLE = table(__file__, "results_of_others.toml")
LIKE, RUNS, ERRORS, FAULTS = (TABLE[name] for name in ("like", "runs", "errors", "faults"))
CHOICES = ((routing.EVEN_CHANCES, 10), ("the fast eight times as often", 4))
AFTER, NETWORKS = 40, 200
"""Update k at which tasks handed out are looked at, and networks of the prediction."""


@cache
def played(name, seed, count, *settings):
    """Return the sweep of an entry with few replicates."""
    few = (f"run.replicates={count}", f"run.seed={seed}", *settings)
    folder = Path(mkdtemp())
    sweep(entry(name).scenario(few), folder / "result", workers=1)
    return Sweep.read(folder / "result")


def of_bias(found, known):
    away = abs(absence.printed(known) - absence.wanted(known))
    for name in absence.NAMES:
        exact = absence.exactly(known, name)
        yield score(f"model, {name}", ends(result(found, name))[:, 0], exact.mean[0], away)
        yield score(f"ψ, {name}", late_psi(result(found, name)), exact.psi(objective(known)))


def of_psi(study, found, known):
    for name in study.NAMES:
        yield score(f"ψ, {name}", late_psi(result(found, name)), study.exact_psi(known, name))


OF = {"bias": of_bias, "waves": partial(of_psi, waves), "lasting": partial(of_psi, lasting)}


def measure(name, *, seed=None, count=None, settings=()):
    """Return scores of runs with settings, beside what is exact of the entry with that seed.

    A seed is that of the records too.
    """
    if name == "routing":
        return list(tasks_handed_out(seed=seed or 1, count=count))
    seed = entry(LIKE[name]).scenario().run.seed if seed is None else seed
    found = played(LIKE[name], seed, count or RUNS[name], *settings)
    return list(OF[name](found, played(LIKE[name], seed, 2)))


def apart(name, found, expected):
    """Compare two means that both have an error."""
    mean, exact = float(found.mean()), float(expected.mean())
    error = np.hypot(*(each.std(ddof=1) / np.sqrt(len(each)) for each in (found, expected)))
    runs = min(len(found), len(expected))
    return Score(name, mean, exact, deviate((mean - exact) / error, runs), float(error / exact))


def course_of(found, records, oblivious=False):
    """Return the course that is expected of a cell; planted bug: no answer is stale."""
    scene = scenario(found)
    if oblivious:
        alone = scene.protocol.model_copy(update={"tasks": 1})
        scene = scene.model_copy(update={"protocol": alone})
    return expected_course(scene, objective(records), NETWORKS)


def tasks_handed_out(*, seed=1, count=None, oblivious=False):
    """Return scores of ψ after some updates, and of the time until then."""
    runs, known = (
        played("whom-to-ask", seed, number, 'sweep."protocol.tasks"=[4, 10]')
        for number in (count or RUNS["routing"], 2)
    )
    for name, tasks in CHOICES:
        cell = routing.chosen(runs, name, tasks).result
        exact = course_of(routing.chosen(known, name, tasks).result, known, oblivious)
        k, time, psi = cell.columns("curve", "k", "time", "relative_fitness")
        at = AFTER // scenario(cell).run.record_every
        yield apart(f"ψ, {name}, {tasks}", psi[k == AFTER], exact.psi[:, at])
        yield apart(f"time, {name}, {tasks}", time[k == AFTER], exact.times[:, at])


KINDS = {
    "bias": {Bernoulli, Rounds, Request, ParameterServer, FedAsync, AsyncGossip},
    "waves": {Diurnal, Bernoulli, Rounds, ParameterServer},
    "lasting": {Outages, Bernoulli, Always, Request, AsyncGossip},
    "routing": {Always, Dispatch, FedBuff},
}
"""Availability, protocols and algorithms that the predictions are of."""


@pytest.mark.parametrize("name", KINDS)
def test_the_entries_are_of_these_kinds(name):
    asked = entry(LIKE.get(name, "whom-to-ask")).scenario()
    cells = [asked.cell(values) for values in asked.grid()]
    parts = [(each.availability, each.protocol, each.algorithm) for each in cells]
    assert {type(part) for each in parts for part in each} == KINDS[name]


once = shared(measure)


@pytest.mark.parametrize("name", RUNS)
def test_runs_are_as_predicted(name):
    require(once(name), error=ERRORS[name])


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_seen(fault):
    name, *settings = FAULTS[fault]
    assert seen(measure(name, settings=settings, count=30)) > 5


def test_answers_that_are_taken_for_fresh_are_seen():
    assert seen(list(tasks_handed_out(oblivious=True))) > 5


@pytest.mark.nightly
@pytest.mark.parametrize("name", RUNS)
def test_fresh_seeds(name):
    two_stages(lambda seed, factor: measure(name, seed=seed, count=RUNS[name] * factor))
