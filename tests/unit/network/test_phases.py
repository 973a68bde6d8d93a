"""Phases of owners' days: each its own, for clocks of their own and for one of all."""

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.availability import Diurnal
from asyncdp_sim.network.clocks import PoissonClock

PHASES = (0.0, 0.5, 0.25)
PERIOD = 10.0


@pytest.mark.parametrize("population", ["per-owner", "superposed"])
def test_each_owner_is_online_in_its_own_half_of_the_day(population):
    """A mutant lived in which all owners had the phase of the first under one clock.

    Updates of owner i have the density (1 + sin 2π(t/period + φ_i))/period: the mean of
    e^{−2πi t/period} is −i e^{2πi φ_i}/2, with a standard error of √(3/4/n) or less.
    """
    network = Network(
        answers_allowed=[10**6] * 3,
        updates=6000,
        clock=PoissonClock(rate=10.0, population=population),
        availability=Diurnal(period=PERIOD, low=0.0, high=1.0, phase=PHASES),
    )
    trace = simulate(network, Streams(1).within("replicate", 1))
    for owner, phase in enumerate(PHASES, start=1):
        rows = trace.updates["owner"] == owner
        turns = trace.updates["tick"][rows] / 1e9 / PERIOD
        whole = turns < np.floor(turns.max())
        found = np.mean(np.exp(-2j * np.pi * turns[whole]))
        expected = -0.5j * np.exp(2j * np.pi * phase)
        assert abs(found - expected) < 5 * np.sqrt(0.75 / np.count_nonzero(whole))
