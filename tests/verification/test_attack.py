"""Confidence of an attack: how often it refutes what is true, whatever it tries."""

import numpy as np
import pytest
from scipy.stats import binom

from asyncdp_sim.audits.check import Claim, attack, most_shown
from asyncdp_sim.privacy.accountants import gaussian_epsilon, gaussian_multiplier
from asyncdp_sim.privacy.pairs import delta_of, epsilon_of, mu_of
from tests.together import together

pytestmark = pytest.mark.oracle(
    "lower bounds on ε by attacks on a mechanism, a scenario, or a planted fault"
)

EPSILON, DOUBT, SCORES = 0.5, 0.2, 8
TRUTH = Claim(EPSILON)
REPEATS = 200


def randomised_responses(rng, runs):
    """Eight scores, each of which is worth exactly ε: the hardest that a true claim can be hit."""
    honest = np.exp(EPSILON) / (1 + np.exp(EPSILON))

    def both():
        return tuple((rng.random(runs) < p).astype(float) for p in (1 - honest, honest))

    return {f"score {j}": both() for j in range(SCORES)}


def false_alarms(seed):
    rng = np.random.default_rng(seed)
    found = [attack(randomised_responses(rng, 400), TRUTH, DOUBT) for _ in range(REPEATS)]
    return sum(each.epsilon > EPSILON for each in found)


def too_many(count):
    """Whether so many of 200 are improbable (1e-6) if each happens with probability ``DOUBT``."""
    return bool(binom.sf(count - 1, REPEATS, DOUBT) < 1e-6)


@pytest.mark.long
def test_many_scores_refute_the_truth_no_more_often_than_stated():
    """The event is chosen among all scores on one half of the runs, and measured on the other."""
    count = false_alarms(1)
    assert not too_many(count)
    assert count > 0  # the hardest case comes near


@pytest.mark.parametrize("runs", [9, 400])
def test_both_probabilities_of_an_event_share_the_doubt(runs):
    """Of m measured runs, all in the event or none: each limit is missed with half of the doubt."""
    least = (DOUBT / 2) ** (1 / (runs // 2))
    expected = np.log(least / (1 - least))
    found = attack({"all": (np.zeros(runs), np.ones(runs))}, TRUTH, DOUBT)
    assert found.epsilon == pytest.approx(expected, rel=1e-9)
    assert (found.rightly, found.falsely) == pytest.approx((least, 1 - least), rel=1e-9)
    assert most_shown(TRUTH, runs, DOUBT) == pytest.approx(expected, rel=1e-9)


@together
@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 1.0, 8.0, 300.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.2])
def test_the_textbooks_gaussian_is_the_accountants(epsilon, delta):
    """Two ways to the same numbers, of which the accountant's is rounded up."""
    mu = mu_of(epsilon, delta)
    assert delta_of(epsilon, mu) == pytest.approx(delta, rel=1e-9)
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-9)
    assert 1 / gaussian_multiplier(epsilon, delta) == pytest.approx(mu, rel=3e-6)
    assert gaussian_epsilon(1 / mu, delta) == pytest.approx(epsilon, rel=3e-6)


def test_no_noise_and_no_claim_are_the_ends():
    assert epsilon_of(np.inf, 1e-5) == np.inf
    assert mu_of(np.inf, 1e-5) == np.inf
    assert epsilon_of(0.0, 1e-5) == 0
    assert epsilon_of(1e-9, 1e-5) == 0  # δ alone suffices
