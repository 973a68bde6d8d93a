"""Weights of stale answers, beside their formulas: FedAsync, Xie, Koyejo and Gupta 2019."""

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import FedAsync

LATE = np.arange(12)


@pytest.mark.parametrize("a", [0.5, 2.0])
@pytest.mark.parametrize("b", [0.0, 3.0, 4.5])
def test_a_hinge_begins_after_its_patience(a, b):
    """A mutant lived in which it began at once: no example has answers later than its patience."""
    kind = FedAsync(step=0.1, mixing=0.5, weighting="hinge", exponent=a, patience=b)
    expected = [1.0 if s <= b else 1 / (a * (s - b) + 1) for s in LATE]
    assert kind.weight(LATE).tolist() == pytest.approx(expected)


def test_a_power_and_a_constant():
    power = FedAsync(step=0.1, mixing=0.5, weighting="polynomial", exponent=0.5)
    assert power.weight(LATE).tolist() == pytest.approx([(s + 1) ** -0.5 for s in LATE])
    constant = FedAsync(step=0.1, mixing=0.5, weighting="constant")
    assert constant.weight(LATE).tolist() == [1.0] * len(LATE)
