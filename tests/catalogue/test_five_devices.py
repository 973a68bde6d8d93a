"""Five devices of unequal speed (arXiv 2505.07041): updates and ε of the fastest and slowest."""

from math import exp, sqrt
from pathlib import Path

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import asyncdp_sim as ad

SCENARIO = Path(__file__).with_name("five-devices.toml")
DELTA = 1e-5


def delta(epsilon: float, mu: float) -> float:
    """Return the least δ of Gaussian differential privacy μ at ε (Balle and Wang, theorem 8)."""
    upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return float(norm.cdf(upper) - exp(epsilon) * norm.cdf(lower))


def epsilon(mu: float) -> float:
    return float(brentq(lambda e: delta(e, mu) - DELTA, 1e-9, 100.0))


@pytest.mark.long
def test_the_fast_pay_what_gaussian_composition_says() -> None:
    """As published: 6 to 10 times the updates, and up to 5 times the ε."""
    owners = ad.run(ad.load(SCENARIO)).owners.groupby("owner").mean()
    fast, slow = owners.loc[1], owners.loc[5]
    updates = fast["updates"] / slow["updates"]
    loss = fast["epsilon_spent"] / slow["epsilon_spent"]
    assert 6 <= updates <= 10
    assert 1 < loss <= 5
    assert updates == pytest.approx(8.2, abs=0.05)  # as their times for an answer
    whole = brentq(lambda mu: epsilon(mu) - 10.0, 0.1, 10.0)  # 1000 answers cost ε = 10
    mu = [whole * sqrt(each["answers_released"] / 1000) for each in (fast, slow)]
    assert loss == pytest.approx(epsilon(mu[0]) / epsilon(mu[1]), rel=2e-3)
    assert loss == pytest.approx(3.3, abs=0.05)
    assert loss > sqrt(updates) + 0.3  # the square root is its limit at small ε
