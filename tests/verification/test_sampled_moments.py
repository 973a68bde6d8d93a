"""Exact moments of answers over samples: their spread, enumerated, and ψ against simulation."""

from itertools import product

import numpy as np
import pytest

from analysis.exact.learning import expected_psi
from analysis.exact.sample_spread import SampleSpread
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.learning.objectives.records import LinearRecords
from asyncdp_sim.runs.run import run
from tests.tables import table

from .networks import by_moments, ended, scene
from .zscores import LIMIT, score

pytestmark = pytest.mark.oracle("E ψ with answers over samples of records")

REPLICATES = 4000
WAYS = table(__file__, "sampled_moments.toml")
"""One-on-one, over counts of answers, in rounds, an average judged, few records in an answer."""


def test_the_spread_is_that_of_all_samples_enumerated():
    """E Cov g over models too: 2⁴ samples of 4 records, and 5 models of weights of their own."""
    rng, n, p, q = np.random.default_rng(1), 4, 3, 0.3
    x, y, optimum = rng.normal(size=(n, p)), rng.normal(size=n), rng.normal(size=p)
    records = LinearRecords([x], [y], None, "l2")
    models, weights = rng.normal(size=(5, p)), np.array([0.1, 0.3, 0.2, 0.15, 0.25])
    due = np.zeros((p, p))
    for model, weight in zip(models, weights, strict=True):
        middle = records.gradient(np.zeros(1, dtype=np.int64), model[None])[0]
        for chosen in product([False, True], repeat=n):
            there = np.array(chosen)
            found = (2 * (x @ model - y) * there) @ x / (q * n) - middle
            chance = q ** there.sum() * (1 - q) ** (n - there.sum())
            due += weight * chance * np.outer(found, found)
    u = models - optimum
    second, mean = np.einsum("m,ma,mb->ab", weights, u, u), weights @ u
    spread = SampleSpread.from_records([x, x], [y, y], optimum, q)
    every = spread.at(np.tile(second, (2, 1, 1)), np.tile(mean, (2, 1)))
    assert every == pytest.approx(np.stack([due, due]), rel=1e-12)
    half = spread.of_owner(1, second[None] / 2, mean[None] / 2, np.array([0.5]))
    assert half[0] == pytest.approx(due / 2, rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_expected_psi_of_sampled_answers_is_what_is_simulated(way):
    """And less if all records are in every answer, with noise as small: samples matter."""
    given = scene("sampled-answers", f"run.replicates={REPLICATES}", *WAYS[way])
    expected = by_moments(given).psi[-1]
    assert abs(score(way, ended(run(given)), expected).z) <= LIMIT
    settings = tuple(each for each in WAYS[way] if not each.startswith("privacy.sampling"))
    same = scene("sampled-answers", *settings)
    whole = same.model_copy(update={"privacy": same.privacy.model_copy(update={"sampling": None})})
    assert expected > 1.2 * by_moments(whole).psi[-1]


def test_what_is_not_exact_says_why():
    """No law of the order, clipping, too many features."""
    for said, settings in table(__file__, "refused.toml")["moments"]:
        found = expected_psi(population(scene("sampled-answers", *settings), private=False))
        assert isinstance(found, list)
        assert any(said in why for why in found), (said, found)
