"""A link that answers share: owners at work against the closed network, and the open one.

Product form: with mean time s alone on the link and Z = 1/λ + mean time of all else, X(N) is that
of mean value analysis for any laws of the times. An owner leaves the link's network as N − 1 owners
have it, so that staleness is those of them at work. In turn it is M/D/1. Of every run 50 time
units at either end are left out.
"""

from math import exp

import numpy as np
import pytest

from asyncdp_sim.core.units import TICKS_PER_UNIT, to_ticks
from asyncdp_sim.network.channels.aloha import Bottleneck
from asyncdp_sim.network.protocols import Push, Rounds
from asyncdp_sim.theory.predict.all import predicted
from tests.tables import composed, table

from .networks import lasting, network, runs
from .zscores import LIMIT, fresh_seeds, require, score, seen, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("rate, staleness and answers at a time on a shared link"),
]

RUNS, EDGE, LENGTH = 20, 50, 1500
CASES = table(__file__, "bottleneck.toml")


def measure(name, *, seed=None, count=RUNS):
    """Return scores of updates, of staleness, and of answers on the link at a time."""
    channel = Bottleneck(airtime=0.4, queue="fifo" if "in turn" in name else "shared")
    parts = {"protocol": Push(), "channel": channel} | CASES[name]["parts"]
    net = lasting(CASES[name]["owners"], float(LENGTH + 2 * EDGE), **parts)
    rate, stale = predicted(net, "throughput"), predicted(net, "mean_staleness")
    load = predicted(net, "offered_load")
    rows = []
    usual = CASES[name]["seed"] if seed is None else seed
    for trace in runs(net, usual, count):
        tick = trace.updates["tick"]
        used = trace.updates[(tick >= to_ticks(EDGE)) & (tick < to_ticks(EDGE + LENGTH))]
        on_air = trace.on_air_ticks / trace.end_tick
        rows.append([len(used) / LENGTH, used["staleness"].sum() / LENGTH, on_air])
    through, late, on_air = np.array(rows).T
    found = [score("updates", through, rate), score("on the link", on_air, load)]
    if CASES[name]["owners"] > 1:
        found.append(score("staleness", late - stale * through, 0, stale * rate))
    return found


sound = shared(measure)


AIRTIME, MEAN = 0.4, 1.0
WAITED = table(__file__, "waited.toml")


@shared
def waited(name, longer=0.0):
    """Return the score of the time of an update, of which all runs have as many."""
    case, channel = WAITED[name], Bottleneck(airtime=AIRTIME + longer)
    net = network(case["owners"], 5000, channel=channel, **composed({}, [case["parts"]]))
    times = [trace.end_tick / TICKS_PER_UNIT / 5000 for trace in runs(net, case["seed"], RUNS)]
    return score(name, times, eval(case["exact"], {"MEAN": MEAN, "AIRTIME": AIRTIME, "exp": exp}))


@pytest.mark.parametrize("name", WAITED)
def test_rounds_and_requests_take_as_long_as_the_shared_link(name):
    require([waited(name)], error=0.003)


@pytest.mark.parametrize("name", WAITED)
def test_a_link_that_is_a_twentieth_slower_is_seen(name):
    assert seen([waited(name, AIRTIME / 20)]) > LIMIT


@pytest.mark.parametrize("n_owners", [1, 2, 7])
def test_rounds_of_owners_that_send_at_once_take_all_answers(n_owners):
    net = network(
        n_owners, 6, channel=Bottleneck(airtime=AIRTIME), protocol=Rounds(), answers_per_update=None
    )
    [trace] = runs(net, 939, 1)
    assert abs(trace.end_tick - 6 * n_owners * to_ticks(AIRTIME)) <= 6 * n_owners  # of rounding


def scores():
    """Return every score of a sound simulator."""
    return [each for name in CASES for each in sound(name)] + [waited(name) for name in WAITED]


@pytest.mark.parametrize("name", CASES)
def test_the_link_at_work_is_the_closed_network(name):
    require(sound(name), error=0.02)


test_fresh_seeds = fresh_seeds(measure, CASES, RUNS)
