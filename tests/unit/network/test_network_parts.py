"""The network's own parts: the spec, who is told of what, and what a clock promises."""

from itertools import islice

import numpy as np

from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.clocks import DeterministicClock, ScriptedClock


def scope(seed: int = 1, replicate: int = 1) -> Scope:
    return Streams(seed).within("replicate", replicate)


def no_stream() -> np.random.Generator:
    raise AssertionError("this clock or law draws nothing")


def test_deterministic_ticks_are_multiples_never_accumulated() -> None:
    clock = DeterministicClock(rate=3.0, phase=(0.25, 0.0))
    ticks = list(islice(clock.ticks(0, no_stream, 1), 10**5))
    period = round(10**9 / 3)
    assert ticks[-1] == 250_000_000 + 10**5 * period
    assert next(clock.ticks(1, no_stream, 1)) == period


def test_nobody_ever_ticks() -> None:
    network = Network(answers_allowed=(5,), updates=9, clock=ScriptedClock(times=[[]]))
    trace = simulate(network, scope(), events=True)
    assert (trace.end_tick, len(trace.events), len(trace.updates)) == (0, 0, 0)
