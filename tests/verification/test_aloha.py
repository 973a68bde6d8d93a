"""Oracles 6 and 7: answers sent at once, which collide or survive by being the strongest.

Counts are of answers begun in a window that opens after the start is forgotten: at once with
infinitely many owners, after 25 idle times with N. All runs of a case are equally long.
"""

from functools import partial

import numpy as np
import pytest

from asyncdp_sim.network.channels import Aloha
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.theory.formulas.channels import (
    RandomAccess,
    aloha,
    aloha_capture,
    aloha_infinite,
    aloha_infinite_capture,
)
from tests.tables import table

from .networks import begun, network, runs
from .zscores import require, score, shared, two_stages

pytestmark = pytest.mark.oracle("answers started and answers that survive")

MANY = 2**31 - 1
RUNS = 40


def measure(channel, theory, rates, *, overlap, window, warm, seed, count=RUNS, factor=1):
    """Return scores of the answers begun in a window, and of those that survive."""
    airtime = channel.airtime
    net = network(
        len(rates),
        MANY,
        until=warm + window + 2 * airtime,
        clock=PoissonClock(rate=rates),
        channel=channel,
        protocol=Push(own_tick="overlap" if overlap else "drop"),
    )
    rows = []
    for trace in runs(net, seed, count * factor):
        sent, clear = begun(trace, warm, warm + window)
        rows.append([len(sent), np.count_nonzero(clear)])
    sent, clear = np.array(rows).T
    expected = theory.success_rate * window
    return [
        score("begun", sent, theory.attempt_rate * window),
        score("surviving", clear, expected),
        score("surviving of those begun", clear - theory.success_probability * sent, 0, expected),
    ]


def infinite(throughput, rate, airtime):
    """Return what a formula for infinitely many owners says per time unit, not per airtime."""
    surviving = throughput(rate * airtime) / airtime
    return RandomAccess(surviving / rate, rate)


FORMULAS = {each.__name__: each for each in (aloha, aloha_capture, aloha_infinite,
            aloha_infinite_capture, infinite, partial)}  # fmt: skip
CASES = {
    name: (Aloha(**case["channel"]), eval(case["theory"], FORMULAS.copy()), case["how"])
    for name, case in table(__file__, "aloha.toml").items()
}


CI = ("infinite, one clock", "two owners", "five owners, capture")
"""What every run measures; the others' turn comes at night."""


@shared
def sound(name):
    channel, theory, how = CASES[name]
    return measure(channel, theory, **how)


def scores():
    """Return every score of a sound simulator."""
    return [each for name in CI for each in sound(name)]


@pytest.mark.parametrize("name", CI)
@pytest.mark.long
def test_answers_survive_as_often_as_they_should(name):
    require(sound(name), error=0.003)


@pytest.mark.no_evidence
@pytest.mark.long
def test_the_formula_of_an_infinite_population_is_seen():
    channel, theory, how = CASES["two owners"]
    wrong = infinite(aloha_infinite, theory.attempt_rate, channel.airtime)
    surviving = sound("two owners")[1]
    error = surviving.error * surviving.exact
    assert abs(surviving.mean - wrong.success_rate * how["window"]) > 5 * error


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_fresh_seeds(name):
    channel, theory, how = CASES[name]

    def fresh(seed, factor):
        return measure(channel, theory, **{**how, "seed": seed}, factor=factor)

    two_stages(fresh)
