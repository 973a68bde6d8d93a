"""Gaps, and spreads over replicates and seeds that pictures draw, worked out by hand."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.figures import fairness, traces

UNIT = 10**9
T_975_3 = 3.182446
"""97.5 % point of Student's t with three degrees of freedom."""


UPDATES = {
    "replicate": [1, 1, 1, 2, 2],
    "k": [1, 2, 2, 1, 2],
    "tick": [2 * UNIT, 5 * UNIT, 5 * UNIT, 3 * UNIT, 4 * UNIT],
}
"""Of two replicates; update 2 of the first has two answers."""


class Updates:
    """A result of which these are the updates."""

    def columns(self, table: str, *names: str) -> list[np.ndarray[Any, Any]]:
        assert table == "updates"
        return [np.array(UPDATES[name]) for name in names]


def test_the_first_gap_of_every_replicate_is_from_time_0():
    updates: Any = Updates()
    assert traces.gaps(updates).tolist() == [2.0, 3.0, 3.0, 1.0]
    assert traces.gaps(updates, 1).tolist() == [2.0, 3.0]


def test_a_share_of_staleness_has_students_interval_over_replicates():
    """Of ten updates 2, 4, 4 and 6 are stale: residuals ∓0.2, sd √(0.08/3) over R − 1.

    The logit of a share s has the half width h/(s(1 − s)), and odds are e to the logit.
    """
    stale = np.concatenate([np.arange(10) < count for count in (2, 4, 4, 6)]).astype(int)
    low, high = traces.between_replicates(np.repeat([1, 2, 3, 4], 10), stale, 1)
    half = T_975_3 * np.sqrt(0.08 / 3) / 2
    odds = 2 / 3 * np.exp(np.array([-1, 1]) * half / 0.24)
    assert (low[1], high[1]) == pytest.approx(tuple(odds / (1 + odds)), rel=1e-6)


def test_the_error_of_owners_is_over_seeds():
    """Two seeds (rows), three owners: half their distance is the standard error of the mean."""
    found = fairness._error(np.array([[1.0, 2.0, 5.0], [3.0, 6.0, 5.0]]))
    assert found == pytest.approx([1.0, 2.0, 0.0])
    assert fairness._error(np.ones((1, 3))).tolist() == [0.0, 0.0, 0.0]
