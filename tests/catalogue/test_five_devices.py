"""Five devices of unequal speed, and hidden users: verdicts, and mistakes that change them."""

from dataclasses import replace
from math import exp, sqrt

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from asyncdp_sim.privacy.mechanisms import GaussianMechanism
from scenarios.beyond import decor, devices
from tests.catalogue.verdicts import once, verdicts, verified

# Five devices of unequal speed (arXiv 2505.07041): the verdicts, and mistakes that change them.

[FIGURE] = devices.RESULTS
DELTA = 1e-5


def delta(epsilon: float, mu: float) -> float:
    """Return the least δ of Gaussian differential privacy μ at ε (Balle and Wang, theorem 8)."""
    upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return float(norm.cdf(upper) - exp(epsilon) * norm.cdf(lower))


def epsilon(mu: float) -> float:
    return float(brentq(lambda e: delta(e, mu) - DELTA, 1e-9, 100.0))


devices_run = once(FIGURE)


@pytest.mark.long
def test_the_fast_pay_what_gaussian_composition_says(devices_run):
    """As published: 6 to 10 times the updates, and up to 5 times the ε."""
    sweep = devices_run.sweep
    assert devices_run.differ == {}
    owners = sweep.cells[0].result.frame("owners").groupby("owner").mean()
    fast, slow = owners.loc[1], owners.loc[5]
    whole = brentq(lambda mu: epsilon(mu) - 10.0, 0.1, 10.0)  # 1000 answers cost ε = 10
    mu = [whole * sqrt(each["answers_released"] / 1000) for each in (fast, slow)]
    exact = epsilon(mu[0]) / epsilon(mu[1])
    low, high = devices.composed(sweep)
    assert low < exact < high
    assert (low + high) / 2 == pytest.approx(exact, rel=1e-6)
    assert exact == pytest.approx(3.3, abs=0.05)
    assert exact > sqrt(fast["updates"] / slow["updates"]) + 0.3  # its limit at small ε


@pytest.mark.long
def test_devices_that_are_alike_fail(tmp_path):
    alike = ('compute={ kind = "lognormal", mean = 1.0, cv = 0.1 }', "run.replicates=2")
    found = verdicts(FIGURE, tmp_path, *alike)
    assert [each.verdict for each in found[:3]] == ["fails", "agrees", "fails"]
    assert found[1].ours == pytest.approx(1, abs=0.02)


# Whole users hidden in a published experiment: verdicts, and noise that is not what it was.

_, USERS = decor.RESULTS


@pytest.mark.long
def test_distances_agree_with_what_was_published(tmp_path):
    found = verified(USERS, tmp_path)
    assert (len(found.found), found.differ) == (6, {})
    assert found.sweep.cells[0].result.summary["private"]


@pytest.mark.nightly
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_noise_of_half_or_twice_the_size_fails(factor, tmp_path, monkeypatch):
    right = GaussianMechanism.noise

    def wrong(*asked):
        noise = right(*asked)
        return replace(noise, scale=factor * noise.scale)

    monkeypatch.setattr(GaussianMechanism, "noise", wrong)
    found = verified(USERS, tmp_path)
    assert found.differ == dict.fromkeys(found.found, "fails")
