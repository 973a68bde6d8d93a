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

from .networks import begun, network, runs
from .shared import shared
from .zscores import require, score, two_stages

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


CASES = {
    "infinite, one clock": (
        Aloha(airtime=1.0),
        infinite(aloha_infinite, 0.25, 1.0),
        {"rates": (0.25,), "overlap": True, "warm": 2.0, "window": 16500.0, "seed": 601},
    ),
    "infinite, twenty clocks": (
        Aloha(airtime=0.4),
        infinite(aloha_infinite, 0.8, 0.4),
        {"rates": (0.04,) * 20, "overlap": True, "warm": 1.0, "window": 6000.0, "seed": 602},
    ),
    "infinite, capture": (
        Aloha(airtime=1.0, capture_ratio=2.0),
        infinite(partial(aloha_infinite_capture, threshold=2.0), 0.3, 1.0),
        {"rates": (0.1, 0.2), "overlap": True, "warm": 2.0, "window": 11000.0, "seed": 603},
    ),
    "two owners": (
        Aloha(airtime=0.3),
        aloha(2, 1.0, 0.3),
        {"rates": (1.0,) * 2, "overlap": False, "warm": 25.0, "window": 2700.0, "seed": 701},
    ),
    "ten owners": (
        Aloha(airtime=0.03),
        aloha(10, 1.0, 0.03),
        {"rates": (1.0,) * 10, "overlap": False, "warm": 25.0, "window": 640.0, "seed": 702},
    ),
    "five owners, capture": (
        Aloha(airtime=0.2, capture_ratio=0.5),
        aloha_capture(5, 1.0, 0.2, 0.5),
        {"rates": (1.0,) * 5, "overlap": False, "warm": 25.0, "window": 640.0, "seed": 703},
    ),
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
