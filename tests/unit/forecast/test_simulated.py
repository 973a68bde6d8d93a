"""What a simulated forecast says of runs of unequal length, by hand."""

import numpy as np
import pytest

from asyncdp_sim.forecast.simulated import _final, _half_width, _mean

CURVE = np.array(
    [(1, 8.0), (1, 4.0), (1, 2.0), (2, 6.0), (2, 3.0)],
    dtype=[("replicate", "i4"), ("relative_fitness", "f8")],
)
"""Of two replicates, the second of which ends an update earlier."""


def test_a_run_that_has_ended_stays_where_it_ended() -> None:
    assert _mean(CURVE, "relative_fitness").tolist() == [7.0, 3.5, 2.5]
    assert _final(CURVE).tolist() == [2.0, 3.0]


def test_a_half_width_is_of_the_mean() -> None:
    """Of 100 values with standard deviation s: t(0.975; 99) s/√100."""
    values = np.tile([1.0, 3.0], 50)
    spread = np.sqrt(100 / 99)
    assert _half_width(values) == pytest.approx(1.984 * spread / 10)
    assert _half_width(np.append(values, np.inf)) == np.inf
