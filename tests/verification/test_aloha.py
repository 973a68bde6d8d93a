"""Oracles 6 and 7: answers sent at once, which collide or survive by being the strongest.

Counts are of answers begun in a window that opens after the start is forgotten: at once with
infinitely many owners, after 25 idle times with N. All runs of a case are equally long.
"""

from functools import partial

import pytest

from asyncdp_sim.network.channels import Aloha
from asyncdp_sim.theory.formulas import channels
from tests.tables import table

from .networks import pushing, runs, surviving
from .zscores import fresh_seeds, require, shared

pytestmark = pytest.mark.oracle("answers started and answers that survive")

RUNS = 40


def infinite(throughput, rate, airtime):
    """Return what a formula for infinitely many owners says per time unit, not per airtime."""
    return channels.RandomAccess(throughput(rate * airtime) / airtime / rate, rate)


FORMULAS = vars(channels) | {"infinite": infinite, "partial": partial}
CASES = table(__file__, "aloha.toml")
CI = ("infinite, one clock", "two owners", "five owners, capture")
"""What every run measures; the others' turn comes at night."""


def theory_of(name):
    return eval(CASES[name]["theory"], {}, FORMULAS)


def measure(name, *, seed=None, count=RUNS):
    """Return scores of the answers begun in a window, and of those that survive."""
    channel, how = Aloha(**CASES[name]["channel"]), CASES[name]["how"]
    until = how["warm"] + how["window"] + 2 * channel.airtime
    net = pushing(how["rates"], until, channel, "overlap" if how["overlap"] else "drop")
    traces = runs(net, how["seed"] if seed is None else seed, count)
    return surviving(traces, how["warm"], how["window"], theory_of(name))


sound = shared(measure)


@pytest.mark.parametrize("name", CI)
@pytest.mark.long
def test_answers_survive_as_often_as_they_should(name):
    require(sound(name), error=0.003)


@pytest.mark.no_evidence
@pytest.mark.long
def test_the_formula_of_an_infinite_population_is_seen():
    wrong = infinite(channels.aloha_infinite, theory_of("two owners").attempt_rate, 0.3)
    _, found, _ = sound("two owners")
    window = CASES["two owners"]["how"]["window"]
    assert abs(found.mean - wrong.success_rate * window) > 5 * found.error * found.exact


test_fresh_seeds = fresh_seeds(measure, CASES, RUNS)
