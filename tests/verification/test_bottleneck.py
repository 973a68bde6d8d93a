"""A link that answers share: owners at work against the closed network, and the open one.

Product form: with mean time s alone on the link and Z = 1/λ + mean time of all else, X(N) is that
of mean value analysis for any laws of the times. An owner leaves the link's network as N − 1 owners
have it, so that staleness is those of them at work. Of every run 50 time units at either end are
left out.
"""

import numpy as np
import pytest

from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network import Latency
from asyncdp_sim.network.channels.bottleneck import Bottleneck
from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import Lognormal, Uniform
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.theory.predict.all import predicted

from .networks import network, runs
from .shared import shared
from .zscores import require, score, two_stages

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("rate, staleness and answers at a time on a shared link"),
]

RUNS, EDGE, LENGTH = 20, 50, 1500
TRAVELS = Latency(answer=Uniform(low=0.0, high=0.4))
CASES = {
    "alone": (1, {"clock": PoissonClock(rate=2.0)}, 931),
    "four": (4, {"clock": PoissonClock(rate=0.8)}, 932),
    "four that compute": (
        4,
        {
            "clock": PoissonClock(rate=2.0), "latency": TRAVELS,
            "compute": Lognormal(mean=0.5, cv=1.0),
        },
        933,
    ),
    "ten, full": (10, {"clock": PoissonClock(rate=2.0), "latency": TRAVELS}, 934),
    "always busy": (5, {"clock": SaturatedClock(), "compute": Lognormal(mean=1.5, cv=0.5)}, 935),
    "open": (
        3,
        {
            "clock": PoissonClock(rate=0.4), "protocol": Push(own_tick="overlap"),
            "latency": TRAVELS,
        },
        936,
    ),
}  # fmt: skip
"""Owners, parts of the network, seed."""


def network_of(name, channel):
    n_owners, parts, _ = CASES[name]
    parts = {"protocol": Push()} | parts
    return network(n_owners, 2**31 - 1, until=float(LENGTH + 2 * EDGE), channel=channel, **parts)


def measure(name, *, seed=None, count=RUNS, channel=None):
    """Return scores of updates, of staleness, and of answers on the link at a time."""
    net = network_of(name, Bottleneck(airtime=0.4))
    rate, stale = predicted(net, "throughput"), predicted(net, "mean_staleness")
    load = predicted(net, "offered_load")
    rows = []
    usual = CASES[name][2] if seed is None else seed
    for trace in runs(network_of(name, channel) if channel else net, usual, count):
        tick = trace.updates["tick"]
        used = trace.updates[(tick >= to_ticks(EDGE)) & (tick < to_ticks(EDGE + LENGTH))]
        on_air = trace.on_air_ticks / trace.end_tick
        rows.append([len(used) / LENGTH, used["staleness"].sum() / LENGTH, on_air])
    through, late, on_air = np.array(rows).T
    found = [score("updates", through, rate), score("on the link", on_air, load)]
    if CASES[name][0] > 1:
        found.append(score("staleness", late - stale * through, 0, stale * rate))
    return found


sound = shared(measure)


def scores():
    """Return every score of a sound simulator."""
    return [each for name in CASES for each in sound(name)]


@pytest.mark.parametrize("name", CASES)
def test_the_link_at_work_is_the_closed_network(name):
    require(sound(name), error=0.02)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_fresh_seeds(name):
    two_stages(lambda seed, factor: measure(name, seed=seed, count=RUNS * factor))
