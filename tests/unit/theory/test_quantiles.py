"""Quantiles against SciPy's, in closed form, and as tables print them."""

from math import pi, sqrt, tan

import numpy as np
import pytest
from scipy.stats import binom

from asyncdp_sim.theory.formulas.arguments import binomial_quantile, t_quantile


@pytest.mark.parametrize("trials", [1, 2, 7, 100, 99_999])
def test_the_binomial_quantile_is_that_of_scipy(trials):
    chance = np.concatenate(
        [[0.0, 1e-9, 1.0], np.linspace(0.001, 0.999, 57), np.exp(-np.arange(30))]
    )
    for share in (0.005, 0.025, 0.3, 0.995):
        assert (binomial_quantile(share, trials, chance) == binom.ppf(share, trials, chance)).all()


@pytest.mark.parametrize("share", [0.5, 0.6, 0.9, 0.975, 0.9995])
def test_one_and_two_degrees_of_freedom(share):
    assert t_quantile(1, share) == pytest.approx(tan(pi * (share - 0.5)), rel=1e-9, abs=1e-12)
    two = (2 * share - 1) * sqrt(2 / (4 * share * (1 - share)))
    assert t_quantile(2, share) == pytest.approx(two, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("freedom", "printed"), [(3, 3.182), (30, 2.042), (120, 1.980)])
def test_as_printed(freedom, printed):
    assert t_quantile(freedom, 0.975) == pytest.approx(printed, abs=5e-4)
