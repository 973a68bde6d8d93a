"""The count of numbers that an owner draws at a time never shows in a trace."""

import sys
from itertools import islice

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import block_to_ticks
from asyncdp_sim.network import Latency, Network, build, simulate
from asyncdp_sim.network.clocks import Clock, GammaClock, PoissonClock
from asyncdp_sim.network.laws import (
    DrawnLaw,
    Empirical,
    Exponential,
    Gamma,
    Law,
    Lognormal,
    Uniform,
)
from asyncdp_sim.trace import Trace
from tests.conformance.members import examples, said


def traced(clock: Clock, n_owners: int = 3) -> Trace:
    network = Network(
        answers_allowed=(40,) * n_owners,
        updates=100,
        clock=clock,
        latency=Latency(
            request=Uniform(low=0.0, high=0.1),
            query=Exponential(mean=0.1),
            answer=Lognormal(mean=0.1, cv=1.0),
        ),
        compute=Gamma(mean=0.1, cv=2.0),
    )
    return simulate(network, Streams(5).within("replicate", 1), events=True)


@pytest.mark.parametrize("clock", [PoissonClock(rate=2.0), GammaClock(rate=2.0, cv=0.5)])
def test_a_trace_does_not_depend_on_the_block(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = []
    for block in (1, 2, 7, 16, 512):
        for module in (sys.modules["asyncdp_sim.network.simulate"], build):
            monkeypatch.setattr(module, "block", lambda n_owners, block=block: block)  # noqa: ARG005
        trace = traced(clock)
        tables.append((trace.events.tolist(), trace.exchanges.tolist(), trace.end_tick))
    assert len(tables[0][0]) > 300
    assert all(table == tables[0] for table in tables)


def test_blocks_shrink_as_owners_grow() -> None:
    sizes = [build.block(n) for n in (1, 8, 9, 100, 10**6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] >= 1


DRAWN = [law for law in examples(Law) if isinstance(law, DrawnLaw)]


@pytest.mark.parametrize("law", DRAWN, ids=said)
def test_a_first_block_is_small_and_the_numbers_are_those_of_one_draw(
    law: DrawnLaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every law: what generators keep between blocks, half a word of an integer say, stays."""
    whole = block_to_ticks(law.draw(Streams(1).generator("x"), 1000)).tolist()
    draw = type(law).draw
    sizes: list[int] = []

    def counted(law: DrawnLaw, generator: np.random.Generator, size: int) -> np.ndarray:
        sizes.append(size)
        return draw(law, generator, size)

    monkeypatch.setattr(type(law), "draw", counted)
    assert list(islice(law.durations(Streams(1).within("x").generator, 100), 1000)) == whole
    assert sizes[:5] == [16, 32, 64, 100, 100]


def test_an_empirical_law_draws_by_position() -> None:
    law = Empirical(values=(0.1, 0.2, 0.3))
    drawn = [
        [next(d) for _ in range(100)]
        for d in (law.durations(Streams(1).within("x").generator, b) for b in (1, 3, 100))
    ]
    assert drawn[0] == drawn[1] == drawn[2]
