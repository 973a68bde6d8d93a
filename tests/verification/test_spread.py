"""All scores together: too small a spread means inflated errors, too large a wrong simulator."""

import numpy as np

from . import (
    test_availability,
    test_clocks,
    test_contribution,
    test_ledger,
    test_lock,
    test_moments,
    test_staleness,
)


def test_scores_spread_like_normal_deviates():
    modules = (
        test_clocks,
        test_availability,
        test_lock,
        test_contribution,
        test_ledger,
        test_moments,
        test_staleness,
    )
    z = np.array([each.z for module in modules for each in module.scores()])
    assert len(z) > 100
    assert 0.85 <= np.sqrt(np.mean(z**2)) <= 1.20
