"""ε of one pair of datasets against the last model of a descent: below every true claim.

All records are (0, 0) except one, which is (x, y) or (x, −y), ‖x‖ = R and |y| = y_max. The last
model is then Gaussian with the same covariance for both, unless a projection acts. (1 + e^ε) times
a bound on the probability of that is added to δ.
"""

from math import exp, sqrt

import numpy as np
from scipy.special import ndtr

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.privacy.accountants.own import gaussian_epsilon
from asyncdp_sim.privacy.observers.model import Descent, Rounds
from asyncdp_sim.scenario import Scenario

DOWN = 1 - 1e-5
"""Factor that makes a lower bound smaller, to cover rounding."""


def pull_of(scenario: Scenario) -> float | None:
    """2 y_max R/Ξ, the distance of two records with the same row and opposite targets.

    None unless the model is an unclipped ridge from 0, of which the pair is computed.
    """
    model, domain = scenario.model, scenario.privacy.sensitivity
    if not (model.quadratic and scenario.algorithm.initial == "zeros"):
        return None
    longest = model.longest(domain.row_norm, domain.rows or scenario.privacy.norm)
    return float(2 * domain.target_max * longest / scenario.xi)


def least(scenario: Scenario, rounds: Rounds, delta: float, most: Array) -> Array:
    """ε of the pair at δ, shape (N,), given the claimed ones."""
    descent, pull = Descent.from_scenario(scenario), pull_of(scenario)
    assert pull is not None
    epsilons = np.zeros(len(descent.weights))
    for owner, claimed in enumerate(most.tolist()):
        apart, outside = pulled(scenario, pull, rounds, rounds.present[:, owner])
        lost = delta + (1 + exp(min(claimed, 700.0))) * outside
        if apart > 0 and lost < 1:
            epsilons[owner] = gaussian_epsilon(1 / apart, lost) * DOWN
    return epsilons


def pulled(scenario: Scenario, pull: float, rounds: Rounds, there: Bools) -> tuple[float, float]:
    """μ of the pair, the record being in these rounds, and P(a projection acts)."""
    if not there.any():
        return 0.0, 0.0
    descent, records = Descent.from_scenario(scenario), float(np.sum(scenario.trained_on))
    steps = descent.steps[rounds.numbers - 1]
    free = 1 - steps * descent.convexity
    kept = free - steps / rounds.share * descent.smoothness / records * there
    moved = steps / rounds.share * pull / 2 * there
    added = np.square(steps / rounds.share) * rounds.noise
    mean = variance = other = outside = 0.0
    for c, plain, step, more in zip(kept, free, moved, added, strict=True):
        mean, variance = c * mean + step, c * c * variance + more
        other = plain * plain * other + more
        outside += beyond(descent, abs(mean), variance)
        outside += (descent.numbers - 1) * beyond(descent, 0.0, other)
    return 2 * mean / sqrt(variance), outside


def beyond(descent: Descent, mean: float, variance: float) -> float:
    """A bound on the probability that a coordinate is outside Θ."""
    return float(2 * ndtr((mean - descent.box / descent.unit) / sqrt(variance)))
