import pytest

from asyncdp_sim.theory.formulas.queueing import refusing_unequal
from tests.theory.lock import refusing


def close(one, other, rel=1e-13):
    return all(
        getattr(one, name) == pytest.approx(getattr(other, name), rel=rel)
        for name in ("update_rate", "busy_fraction", "refusal_probability")
    )


def test_equal_rates_are_a_case_of_unequal_ones():
    assert close(refusing_unequal([0.7] * 5, [0.3] * 5), refusing(5, 0.7, 0.3))


def test_unequal_rates_by_a_markov_chain():
    """Two owners, exponential services: idle, serving 1, serving 2, solved by hand."""
    (a, b), (m, n) = (0.5, 2.0), (0.4, 0.1)
    idle = 1 / (1 + a * m + b * n)
    refused = idle * (a * m * b + b * n * a)
    served = idle * (a + b)
    learner = refusing_unequal([a, b], [m, n])
    assert learner.update_rate == pytest.approx(served, rel=1e-14)
    assert learner.busy_fraction == pytest.approx(1 - idle, rel=1e-14)
    assert learner.refusal_probability == pytest.approx(refused / (refused + served), rel=1e-14)
