"""Oracles 10 and 11: owners that listen first; persistent ones, and those that detect collisions.

The channel starts idle, which is where its cycles begin anew; 60 airtimes are left out.
"""

from functools import partial
from math import exp

import numpy as np
import pytest

from asyncdp_sim.network.channels import Csma
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.theory.formulas.channels import (
    csma,
    csma_detecting,
    csma_giving_up,
    csma_one_persistent_infinite,
)
from tests.tables import table

from .networks import begun, network, runs
from .zscores import require, score, seen, shared, two_stages

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("answers started and answers that survive, of owners that listen first"),
]

RUNS, WARM = 40, 60.0


def measure(formula, rates, delay, window, seed, *, count=RUNS, kind=Csma, **channel):
    """Return scores of the answers that survive and, as far as there is a formula, are begun.

    The formulas for infinitely many owners tell the throughput; those for N owners all three.
    """
    airtime = channel.pop("airtime", 1.0)
    infinite = formula not in (csma, csma_detecting)
    net = network(
        len(rates),
        2**31 - 1,
        until=WARM * airtime + window + 60 * airtime,
        clock=PoissonClock(rate=rates),
        channel=kind(airtime=airtime, propagation_delay=delay, **channel),
        protocol=Push(own_tick="overlap" if infinite else "drop"),
    )
    rows = []
    for trace in runs(net, seed, count):
        sent, clear = begun(trace, WARM * airtime, WARM * airtime + window)
        rows.append([len(sent), np.count_nonzero(clear)])
    sent, clear = np.array(rows).T
    if infinite:
        load, a = sum(rates) * airtime, delay / airtime
        expected = formula(load, a) / airtime * window
        if formula is csma_one_persistent_infinite:
            chance = expected / (sum(rates) * window)  # each attempt is sent once
        else:
            chance = exp(-a * load) / (1 + a * load)  # alone, of 1 + Poisson(aG) in a busy period
    else:
        theory = formula(len(rates), rates[0], airtime, delay)
        expected, chance = theory.success_rate * window, theory.success_probability
    return [
        score("begun", sent, expected / chance),
        score("surviving", clear, expected),
        score("surviving of those begun", clear - chance * sent, 0, expected),
    ]


def infinite_population(load, delay, **how):
    """Return the throughput of an infinite population that gives up."""
    return csma_giving_up(load, delay, **how).success_rate


NAMED = {
    "csma": csma,
    "csma_detecting": csma_detecting,
    "csma_detecting_infinite": partial(infinite_population, detecting=True),
    "csma_infinite": infinite_population,
    "csma_one_persistent_infinite": csma_one_persistent_infinite,
}
CASES = {
    name: partial(measure, NAMED[formula], rates, *numbers, **channel)
    for name, (formula, rates, *numbers, channel) in table(__file__, "csma.toml").items()
}


CI = ("infinite, near", "ten owners", "persistent", "detecting")
"""What every run measures; the others' turn comes at night."""


@shared
def sound(name):
    return CASES[name]()


def scores():
    """Return every score of a sound simulator."""
    return [each for name in CI for each in sound(name)]


@pytest.mark.parametrize("name", CI)
def test_answers_begin_and_survive_as_often_as_they_should(name):
    *each, share = sound(name)
    require(each, error=0.003)
    require([share], error=0.01)


@pytest.mark.no_evidence
def test_the_formula_of_an_infinite_population_is_seen():
    _, rates, delay, window, _ = CASES["ten owners"].args
    surviving = sound("ten owners")[1]
    error = surviving.error * surviving.exact
    assert abs(surviving.mean - infinite_population(sum(rates), delay) * window) > 5 * error


@pytest.mark.no_evidence
def test_a_collision_that_is_not_detected_is_seen():
    assert seen(CASES["detecting"](collision_detection=False, count=20)) > 5


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_fresh_seeds(name):
    formula, rates, delay, window, _ = CASES[name].args
    fresh = partial(measure, formula, rates, delay, window, **CASES[name].keywords)
    two_stages(lambda seed, factor: fresh(seed, count=RUNS * factor))
