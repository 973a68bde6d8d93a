"""Every law of durations knows its moments and draws integers that do not depend on blocks."""

from itertools import islice
from math import sqrt

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network.laws import Law, NoTime
from tests.conformance.members import examples, said
from tests.one_in import one_in
from tests.together import together

LAWS = examples(Law)
EACH = pytest.mark.parametrize("law", [law for law in LAWS if not law.instant], ids=said)
DRAWS = 100_000


def drawn(law: Law, count: int, block: int, seed: int = 1) -> list[int]:
    return list(islice(law.durations(Streams(seed).within("law").generator, block), count))


def test_none_gives_none():
    assert NoTime() in LAWS
    assert NoTime().durations(Streams(1).generator, 16) is None
    assert (NoTime().mean, NoTime().variance) == (0, 0)
    assert NoTime().biased(Streams(1).generator("biased")) == 0


@together
@pytest.mark.oracle("mean and variance of durations")
@EACH
def test_mean_and_variance_against_a_hundred_thousand_draws(law):
    """z-tests, |z| < 4 (fixed seed).

    Standard errors: √(variance/n) for the mean, with the law's own variance; √((m₄ − s⁴)/n) for
    the variance, with the sample's fourth central moment m₄. Rounding to ticks adds 10⁻⁹.
    """
    sample = np.array(drawn(law, DRAWS, 4096), dtype=float) / TICKS_PER_UNIT
    grain = 1 / TICKS_PER_UNIT
    mean_error = sqrt(law.variance / DRAWS)
    assert abs(sample.mean() - law.mean) <= 4 * mean_error + grain
    spread = sample.var()
    fourth = ((sample - sample.mean()) ** 4).mean()
    variance_error = sqrt(max(fourth - spread**2, 0) / DRAWS)
    assert abs(spread - law.variance) <= 4 * variance_error + grain
    if law.variance > 0:  # the test can fail: a mean or variance 10 % off would be seen
        assert 4 * mean_error < 0.1 * law.mean
        assert 4 * variance_error < 0.2 * law.variance


@one_in(2, "law", [law for law in LAWS if not law.instant], ids=said)
def test_length_biased_draws_have_the_exact_mean_and_law(law):
    """z-tests on 10⁵ draws, |z| < 4 (fixed seed): P(biased ≤ x) = E[X; X ≤ x]/E X.

    The mean is E X²/E X = mean + variance/mean, from the law's own moments; its standard error is
    √(s²/n) with the sample's variance s². P(biased ≤ E X) against the mean m of X·1(X ≤ E X)/E X
    over 10⁵ plain draws; its standard error is √(m(1 − m)/n + s²/n), s² that of the latter.
    """
    if law.mean == 0:
        assert law.biased(Streams(1).generator("biased")) == 0
        return
    generator = Streams(1).generator("biased")
    sample = np.array([law.biased(generator) for _ in range(DRAWS)])
    assert np.all(sample > 0)
    exact = law.mean + law.variance / law.mean
    error = sqrt(sample.var() / DRAWS)
    assert abs(sample.mean() - exact) <= 4 * error + 1e-12 * exact
    if law.variance > 0:  # the test can fail: plain draws would be seen
        assert 8 * error < exact - law.mean
    plain = np.array(drawn(law, DRAWS, 4096), dtype=float) / TICKS_PER_UNIT
    limit = law.mean + 1 / TICKS_PER_UNIT
    weighed = np.where(plain <= limit, plain, 0) / law.mean
    share = weighed.mean()
    spread = sqrt((max(share * (1 - share), 0) + weighed.var()) / DRAWS)
    assert abs((sample <= limit).mean() - share) <= 4 * spread + 1e-8 / law.mean


@together
@EACH
def test_durations_are_integers_from_zero_on(law):
    ticks = drawn(law, 5000, 512)
    assert all(type(tick) is int for tick in ticks)
    assert min(ticks) >= 0
    assert len(ticks) == 5000  # without end


@together
@EACH
def test_the_block_size_never_changes_the_values(law):
    whole = drawn(law, 1000, 1000)
    for block in (1, 2, 7, 16, 512):
        assert drawn(law, 1000, block) == whole


@together
@EACH
def test_the_stream_decides_the_values(law):
    assert drawn(law, 50, 16) == drawn(law, 50, 16)
    if law.variance > 0:
        assert drawn(law, 50, 16) != drawn(law, 50, 16, seed=2)


@together
@EACH
def test_the_stream_is_made_at_the_first_draw(law):
    streams = Streams(1)
    law.durations(lambda: streams.generator("lazily"), 16)
    streams.generator("lazily")  # not taken: nothing was drawn
