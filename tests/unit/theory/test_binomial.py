"""The binomial quantile, against SciPy's."""

import numpy as np
import pytest
from scipy.stats import binom

from asyncdp_sim.theory.formulas.binomial import binomial_quantile


@pytest.mark.parametrize("trials", [1, 2, 7, 100, 99_999])
def test_the_quantile_is_that_of_scipy(trials: int) -> None:
    chance = np.concatenate(
        [[0.0, 1e-9, 1.0], np.linspace(0.001, 0.999, 57), np.exp(-np.arange(30))]
    )
    for share in (0.005, 0.025, 0.3, 0.995):
        assert (binomial_quantile(share, trials, chance) == binom.ppf(share, trials, chance)).all()
    assert binomial_quantile(0.025, trials, 0.5) == binom.ppf(0.025, trials, 0.5)
