"""Ticks and time units."""

import numpy as np
import pytest

from asyncdp_sim.core.units import LAST_TICK, TICKS_PER_UNIT, block_to_ticks, to_ticks


def test_a_unit_has_a_thousand_million_ticks() -> None:
    assert TICKS_PER_UNIT == 10**9
    assert to_ticks(1) == 10**9
    assert to_ticks(0.1) == 10**8
    assert to_ticks(1e-9) == 1
    assert type(to_ticks(1.0)) is int


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_only_finite_times_have_ticks(bad: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        to_ticks(bad)


def test_a_block_rounds_like_a_single_duration() -> None:
    halves = (np.arange(1000) + 0.5) / TICKS_PER_UNIT
    drawn = np.random.default_rng(1).exponential(1e-6, 1000)
    for units in (halves, drawn, drawn * 1e6):
        block = block_to_ticks(units).tolist()
        assert block == [to_ticks(float(u)) for u in units]
        assert all(type(tick) is int for tick in block)


def test_a_block_beyond_the_last_tick_ends_there() -> None:
    """Never a negative duration, which would take the clock back."""
    assert block_to_ticks(np.array([1.0, 1e10, 1e300])).tolist() == [10**9, LAST_TICK, LAST_TICK]
