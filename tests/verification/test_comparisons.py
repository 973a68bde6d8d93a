"""The intervals of comparisons cover the true difference as often as they say."""

import numpy as np
import pytest
from scipy.stats import binom

from asyncdp_sim.comparisons.comparison import contrast

pytestmark = pytest.mark.no_evidence

DRAWS = 2000
TRUE = 0.3
ENDS = binom.ppf([1e-5, 1 - 1e-5], DRAWS, 0.95)
"""How often, out of all draws, an interval of 95 % may cover: but once in 50,000 outside."""


def covered(first, second, *, in_pairs):
    found = [contrast(x, y, in_pairs=in_pairs) for x, y in zip(first, second, strict=True)]
    return sum(each.low <= TRUE <= each.high for each in found)


@pytest.mark.parametrize("shared", [5.0, -5.0])
def test_pairs_cover_where_independent_samples_would_not(shared):
    """Replicates of one seed have a part in common; what ignores it covers too much, or little."""
    draws = np.random.default_rng(20).normal(size=(3, DRAWS, 6))
    first = 5.0 * draws[0] + draws[1]
    second = TRUE + shared * draws[0] + 2.0 * draws[2]
    assert ENDS[0] <= covered(first, second, in_pairs=True) <= ENDS[1]
    assert not ENDS[0] <= covered(first, second, in_pairs=False) <= ENDS[1]


def test_independent_samples_of_unlike_spread_and_size_cover():
    """Welch's interval is an approximation: within a percent here."""
    generator = np.random.default_rng(21)
    first = generator.normal(size=(DRAWS, 12))
    second = TRUE + 4.0 * generator.normal(size=(DRAWS, 7))
    assert abs(covered(first, second, in_pairs=False) / DRAWS - 0.95) < 0.01 + 0.02


def test_the_pairs_win_by_what_they_share():
    """The narrower interval is why random numbers are common: here tenfold."""
    draws = np.random.default_rng(22).normal(size=(3, 30))
    first, second = 10.0 * draws[0] + draws[1], 10.0 * draws[0] + draws[2]
    pairs = contrast(first, second, in_pairs=True)
    apart = contrast(first, second, in_pairs=False)
    assert pairs.mean == pytest.approx(apart.mean)
    assert apart.high - apart.low > 5 * (pairs.high - pairs.low)
