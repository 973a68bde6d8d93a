"""Effect of a bound on honest answers: how many it meets, how much of the gradient it leaves.

Laplace noise of scale b has an L1 norm of b·Gamma(p, 1): where the gradient is small beside it, a
share 1 − q of honest answers is longer than the bound for q; and clipping to B ≪ b p leaves
g B/(b p) of a gradient g in the mean.
"""

import numpy as np
import pytest

from asyncdp_sim.learning.acceptance import HonestAnswers, clipped
from asyncdp_sim.privacy.mechanisms import LaplaceNoise

from .shared import shared
from .zscores import require, score, seen

pytestmark = pytest.mark.oracle(
    "share of honest answers above a bound, and the mean clipped gradient"
)

RUNS, P, SCALE = 100_000, 5, 2.0
GRADIENT = SCALE * np.array([0.01, -0.02, 0.02, 0.0, 0.004])
ONE = np.zeros(RUNS, dtype=np.int64)


def noise(kind):
    generator = np.random.default_rng(41)
    if kind == "gaussian":  # planted: another law of the same variance
        return SCALE * np.sqrt(2) * generator.standard_normal((RUNS, P))
    return SCALE * generator.laplace(size=(RUNS, P))


def longer(kind="laplace"):
    """Shares of answers that are noise alone beyond the bounds for three q."""
    length = np.abs(noise(kind)).sum(axis=1)
    honest = HonestAnswers(0.0, LaplaceNoise(np.array([SCALE])), P)
    return [
        score(f"beyond q = {q}", length > honest.length(q)[0], 1 - q, scale=1.0)
        for q in (0.5, 0.9, 0.99)
    ]


def shortened(kind="laplace", bound=0.01):
    """The mean of clipped answers along g, with the noise mirrored so that it has mean zero."""
    drawn, bounds = noise(kind), np.array([bound])
    both = sum(clipped(bounds, ONE, GRADIENT + sign * drawn) for sign in (1, -1)) / 2
    along = both @ GRADIENT / (GRADIENT @ GRADIENT)
    return [score("what clipping leaves", along, bound / (SCALE * P))]


@shared
def beyond():
    return longer()


@shared
def left():
    return shortened()


def scores():
    """Return every score of a sound simulator."""
    return beyond() + left()


def test_honest_answers_are_beyond_a_bound_as_often_as_it_says():
    require(beyond(), error=0.003)


def test_a_bound_below_the_noise_shortens_what_is_learned():
    require(left(), error=0.01)


@pytest.mark.no_evidence
@pytest.mark.parametrize("scores_of", [longer, shortened])
def test_another_law_of_noise_is_seen(scores_of):
    assert seen(scores_of("gaussian")) > 5
