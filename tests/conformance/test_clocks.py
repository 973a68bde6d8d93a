"""Every clock ticks forwards, at its rate, and does not depend on blocks."""

from itertools import islice
from math import sqrt

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network.clocks import Clock
from tests.conformance.members import examples, said
from tests.together import together

CLOCKS = examples(Clock)
EACH = pytest.mark.parametrize("clock", CLOCKS, ids=said)
N = 3


def ticks(clock: Clock, owner: int, count: int, block: int = 256, seed: int = 1) -> list[int]:
    own = Streams(seed).within("owner", owner)
    found = clock.ticks(owner, lambda: own.generator("clock"), block)
    return [] if found is None else list(islice(found, count))  # None: no clock to tick


@together
@EACH
def test_ticks_are_integers_and_never_go_back(clock):
    """A drawn gap may round to no tick at all (gamma, cv = 2: one in a hundred), never to less."""
    for owner in range(N):
        found = ticks(clock, owner, 3000)
        assert all(type(tick) is int for tick in found)
        assert all(tick >= 0 for tick in found[:1])
        gaps = np.diff(found)
        assert np.all(gaps >= 0)
        if clock.kind in ("deterministic", "scripted"):
            assert np.all(gaps > 0)
        assert np.count_nonzero(gaps == 0) <= 0.05 * len(gaps)


@pytest.mark.oracle("long-run rate of ticks")
@EACH
def test_the_long_run_rate_is_the_declared_one(clock):
    """z-test on the mean of 20,000 gaps, |z| < 4; standard error √(s²/n); 10⁻⁹ for rounding."""
    rates = clock.rates(N)
    if rates is None:
        assert not clock.mixing  # gaps of one law have a mean
        return
    assert len(rates) == N
    for owner, rate in enumerate(rates):
        gaps = np.diff(ticks(clock, owner, 20_001)) / TICKS_PER_UNIT
        error = sqrt(gaps.var() / len(gaps))
        assert abs(gaps.mean() - 1 / rate) <= 4 * error + 1e-9
        assert 4 * error < 0.1 / rate


@together
@EACH
def test_a_list_of_rates_is_one_per_owner(clock):
    listed = getattr(clock, "rate", None)
    if isinstance(listed, tuple):
        assert clock.rates(N) == listed
        spans = [ticks(clock, owner, 2000)[-1] for owner in range(N)]
        assert spans == sorted(spans, reverse=True)  # the examples' rates increase
        assert len(clock.faults(N - 1)) == 1
    elif clock.rates(N) is not None:
        assert clock.rates(N) == (clock.rates(1)[0],) * N
    assert clock.faults(N) == []


@EACH
def test_the_block_size_never_changes_the_ticks(clock):
    for owner in range(N):
        whole = ticks(clock, owner, 1000, block=1000)
        for block in (1, 2, 7, 16, 512):
            assert ticks(clock, owner, 1000, block=block) == whole


@together
@EACH
def test_the_stream_decides_the_ticks(clock):
    """Where it asks for one: another seed gives other ticks, and the same the same."""
    assert ticks(clock, 0, 50) == ticks(clock, 0, 50)
    assert (ticks(clock, 0, 50) != ticks(clock, 0, 50, seed=2)) == draws(clock)
    assert draws(clock) or not clock.mixing


def draws(clock: Clock) -> bool:
    """Whether it asks for its stream."""
    asked: list[np.random.Generator] = []

    def source() -> np.random.Generator:
        asked.append(Streams(1).within("owner", 1).generator("clock"))
        return asked[-1]

    list(islice(clock.ticks(0, source, 256) or (), 50))
    return len(asked) > 0


def test_a_list_was_tried_for_every_clock_that_has_a_rate():
    listed = {c.kind for c in CLOCKS if isinstance(getattr(c, "rate", None), tuple)}
    assert listed == {c.kind for c in CLOCKS if hasattr(c, "rate")}
