"""Owners that may share a record split what it may cost, under an accountant too."""

import tomllib
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.scenario import Scenario, parse
from tests.cli.scenes import SMALL


def scales(mechanism: str, **privacy: Any) -> Array:
    raw = tomllib.loads(SMALL)
    raw["privacy"] |= {"mechanism": mechanism, "accountant": {"kind": "pld"}, **privacy}
    return parse(Scenario, raw).noise_for(np.full(3, 20)).scale


def test_laplace_noise_of_owners_that_share_is_that_of_a_part_of_the_budget():
    together = scales("laplace", epsilon=1.0, delta=1e-4, overlap=2)
    assert together == pytest.approx(scales("laplace", epsilon=0.5, delta=5e-5), rel=1e-9)
    assert together[0] > scales("laplace", epsilon=0.5, delta=1e-4)[0] * 1.001


def test_gaussian_noise_of_owners_that_share_is_of_as_many_more_answers():
    """μ composes as the square root of the number of answers, of all that have the record."""
    together = scales("gaussian", epsilon=1.0, delta=1e-4, overlap=2)
    alone = scales("gaussian", epsilon=1.0, delta=1e-4)
    assert together == pytest.approx(2**0.5 * alone, rel=1e-6)
