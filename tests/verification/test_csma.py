"""Oracles 10 and 11: owners that listen first; persistent ones, and those that detect collisions.

The channel starts idle, which is where its cycles begin anew; 60 airtimes are left out.
"""

from functools import partial
from math import exp

import pytest

from asyncdp_sim.network.channels import Csma
from asyncdp_sim.theory.formulas import channels
from asyncdp_sim.theory.formulas.channels import RandomAccess
from tests.tables import table

from .networks import pushing, runs, surviving
from .zscores import fresh_seeds, require, seen, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("answers started and answers that survive, of owners that listen first"),
]

RUNS, WARM = 40, 60.0


def infinite_population(load, delay, **how):
    """Return the throughput of an infinite population that gives up."""
    return channels.csma_giving_up(load, delay, **how).success_rate


INFINITE = {
    "csma_detecting_infinite": partial(infinite_population, detecting=True),
    "csma_infinite": infinite_population,
    "csma_one_persistent_infinite": channels.csma_one_persistent_infinite,
}
CASES = table(__file__, "csma.toml")
CI = ("infinite, near", "ten owners", "persistent", "detecting")
"""What every run measures; the others' turn comes at night."""


def theory_of(formula, rates, airtime, delay):
    """Return what survives and is begun; formulas of infinitely many owners tell the throughput."""
    if formula not in INFINITE:
        return getattr(channels, formula)(len(rates), rates[0], airtime, delay)
    load, a = sum(rates) * airtime, delay / airtime
    survive = INFINITE[formula](load, a) / airtime
    if formula == "csma_one_persistent_infinite":
        return RandomAccess(survive / sum(rates), sum(rates))  # each attempt is sent once
    chance = exp(-a * load) / (1 + a * load)  # alone, of 1 + Poisson(aG) in a busy period
    return RandomAccess(chance, survive / chance)


def measure(name, *, seed=None, count=RUNS, **planted):
    """Return scores of the answers that are begun and of those that survive."""
    formula, rates, delay, window, usual, more = CASES[name]
    channel = Csma(**{"airtime": 1.0, "propagation_delay": delay, **more, **planted})
    airtime = channel.airtime
    until = WARM * airtime + window + 60 * airtime
    net = pushing(rates, until, channel, "overlap" if formula in INFINITE else "drop")
    traces = runs(net, usual if seed is None else seed, count)
    return surviving(traces, WARM * airtime, window, theory_of(formula, rates, airtime, delay))


sound = shared(measure)


@pytest.mark.parametrize("name", CI)
def test_answers_begin_and_survive_as_often_as_they_should(name):
    *each, share = sound(name)
    require(each, error=0.003)
    require([share], error=0.01)


@pytest.mark.no_evidence
def test_the_formula_of_an_infinite_population_is_seen():
    _, rates, delay, window, *_ = CASES["ten owners"]
    _, found, _ = sound("ten owners")
    wrong = infinite_population(sum(rates), delay) * window
    assert abs(found.mean - wrong) > 5 * found.error * found.exact


@pytest.mark.no_evidence
def test_a_collision_that_is_not_detected_is_seen():
    assert seen(measure("detecting", collision_detection=False, count=20)) > 5


test_fresh_seeds = fresh_seeds(measure, CASES, RUNS)
