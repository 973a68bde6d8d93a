"""Owners with more records than 40,000: sums are those of the parts, to the last digits but a few.

Single precision, or a block left out, would be off by 1e-7 of them or more.
"""

import numpy as np
import pytest

from asyncdp_sim.core.specification import kind_of, members
from asyncdp_sim.learning.objectives import Model, Quadratic
from asyncdp_sim.scenario.fields import examples_of
from tests.together import together

RECORDS, PARTS = 60_001, 7
GENERATOR = np.random.default_rng(5)
FEATURES = GENERATOR.standard_normal((RECORDS, 3))
TARGETS = np.where(FEATURES[:, 0] + GENERATOR.standard_normal(RECORDS) > 0, 1.0, -1.0)
UNIFORMS = GENERATOR.random((1, RECORDS))
PLACES = np.array_split(np.arange(RECORDS), PARTS)
EXACT = {"rtol": 1e-12, "atol": 1e-14}
FIRST = np.zeros(1, dtype=np.int64)


def examples():
    return [pytest.param(examples_of(kind)[0], id=kind_of(kind)) for kind in members(Model)]


def records(model, some, clip):
    features, targets = model.design([FEATURES[some]]), [TARGETS[some]]
    return model.records(features, targets, clip, "l1")


@together
@pytest.mark.parametrize("clip", [None, 0.8])
@pytest.mark.parametrize("model", examples())
def test_gradients_are_the_means_of_their_parts(model, clip):
    whole = records(model, slice(None), clip)
    point = np.linspace(-0.4, 0.7, model.numbers(3))[None]
    found = whole.gradient(FIRST, point)
    parts = [records(model, some, clip).gradient(FIRST, point) * len(some) for some in PLACES]
    np.testing.assert_allclose(found, np.sum(parts, axis=0) / RECORDS, **EXACT)
    assert found.dtype == np.float64


@pytest.mark.parametrize("model", examples())
def test_sampled_gradients_are_the_sums_of_their_parts(model):
    point, q = np.linspace(-0.4, 0.7, model.numbers(3))[None], 0.6
    found = records(model, slice(None), 0.8).included(FIRST, point, UNIFORMS, q)
    parts = [
        records(model, some, 0.8).included(FIRST, point, UNIFORMS[:, some], q) * len(some)
        for some in PLACES
    ]
    np.testing.assert_allclose(found, np.sum(parts, axis=0) / RECORDS, **EXACT)


def test_second_moments_are_the_means_of_their_parts():
    whole = Quadratic.from_records([FEATURES], [TARGETS], 1.0, None)
    parts = [Quadratic.from_records([FEATURES[s]], [TARGETS[s]], 1.0, None) for s in PLACES]
    shares = np.array([len(some) for some in PLACES]) / RECORDS
    for name in ("gram", "moment", "energy"):
        each = np.stack([getattr(part, name)[0] for part in parts])
        np.testing.assert_allclose(
            getattr(whole, name)[0], np.tensordot(shares, each, axes=1), **EXACT
        )
