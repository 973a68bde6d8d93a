"""Oracle 14: requests that wait for a learner, first come first served.

A run starts with nobody waiting; a tenth of it is left out, at least 25 times what the queue takes
to forget (m/(1 − √ρ)²). In every run waits follow from arrivals and services by Lindley's
recursion, to the tick. The mean wait is a correlated series: 0.3 % of it takes millions of
requests, and is asked for at night.
"""

import numpy as np
import pytest

from asyncdp_sim.core.units import to_units
from asyncdp_sim.network import clocks, laws, protocols
from asyncdp_sim.theory.formulas.exchanges import fifo_wait
from tests.tables import table
from tests.theory.queueing import constant_tail, exponential_tail, mean_square

from .networks import lasting, runs
from .zscores import fresh_seeds, require, require_kinds, score, shared

pytestmark = [pytest.mark.long, pytest.mark.oracle("waiting time of requests")]

RUNS = 40
FIFO = protocols.Request(busy="queue", own_tick="queue")
CASES = table(__file__, "queue.toml")
CI = ("constant",)
"""What every run measures; the others' turn comes at night."""
N_OWNERS = 4


def traces(name, seed=None, count=RUNS):
    mean, _, _, rate, length, usual = CASES[name]
    law = laws.Constant(value=mean) if name == "constant" else laws.Exponential(mean=mean)
    clock = clocks.PoissonClock(rate=rate / N_OWNERS)
    net = lasting(N_OWNERS, length, clock=clock, compute=law, protocol=FIFO)
    return runs(net, usual if seed is None else seed, count)


def waits(trace):
    """Return arrivals and waits (ticks) in the order of arrival, of those served in the run."""
    rows = np.sort(trace.exchanges, order=["request_tick", "message"])
    return rows, rows["read_tick"] - rows["request_tick"]


def measure(name, **how):
    """Return scores of the mean wait, of its second moment, and of how many wait and for long."""
    m, (second, third), times, rate, length, _ = CASES[name]
    tail = constant_tail if name == "constant" else exponential_tail
    rows = []
    for trace in traces(name, **how):
        arrivals, wait = waits(trace)
        arrived, wait = to_units(arrivals["request_tick"]), to_units(wait)
        kept = wait[(arrived >= length / 10) & (arrived < length - 100 * m)]
        beyond = [np.mean(kept > t) for t in (0, *times)]
        rows.append([kept.mean(), np.mean(kept**2), *beyond])
    mean, square, waited, *late = np.array(rows).T
    waits_beyond = zip(times, late, strict=True)
    exact_square = mean_square(rate, m, second * m**2, third * m**3)
    tails = [score(f"wait longer than {t:g}", x, tail(rate, m, t)) for t, x in waits_beyond]
    return {
        "mean": [score("mean wait", mean, fifo_wait(rate, m, second * m**2))],
        "second": [score("mean square wait", square, exact_square)],
        "tail": [score("wait", waited, rate * m), *tails],
    }


sound = shared(measure)


@pytest.mark.parametrize("name", [*CI, pytest.param("exponential", marks=pytest.mark.nightly)])
def test_waits(name):
    require_kinds(sound(name), mean=0.01)


def follows_lindley(trace):
    """Return whether W_{j+1} = (W_j + S_j − A_{j+1})₊ to the tick (Lindley 1952)."""
    rows, wait = waits(trace)
    service, gap = rows["end_tick"] - rows["read_tick"], np.diff(rows["request_tick"])
    assert len(gap) > 1000
    return np.array_equal(wait[1:], np.maximum(wait[:-1] + service[:-1] - gap, 0))


@pytest.mark.parametrize("name", CASES)
def test_waits_follow_from_arrivals_and_services(name):
    assert all(follows_lindley(trace) for trace in traces(name, count=3))


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["exponential", "constant"])
def test_the_mean_wait_to_three_per_mille(name):
    require(measure(name, seed=1499, count=16 * RUNS)["mean"], error=0.003)


test_fresh_seeds = fresh_seeds(measure, CASES, RUNS)
