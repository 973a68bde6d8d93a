import math

import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.theory.formulas.lock import refusing_unequal
from tests.theory.lock import poisson_source, refusing


def close(one, other, rel=1e-13):
    return all(
        getattr(one, name) == pytest.approx(getattr(other, name), rel=rel)
        for name in ("update_rate", "busy_fraction", "refusal_probability")
    )


def test_one_owner_is_never_refused():
    learner = refusing(1, 2.0, 0.25)
    assert learner.refusal_probability == 0
    assert learner.update_rate == pytest.approx(1 / (0.5 + 0.25))
    assert learner.busy_fraction == pytest.approx(0.25 / 0.75)


def test_no_service_is_the_merged_clock():
    learner = refusing(7, 3.0, 0.0)
    assert (learner.update_rate, learner.busy_fraction, learner.refusal_probability) == (21, 0, 0)


def test_papers_numbers():
    learner = refusing(10, 1.0, 0.1)  # Nρ = 1
    assert learner.update_rate == pytest.approx(5)
    assert learner.busy_fraction == pytest.approx(0.5)
    assert learner.refusal_probability == pytest.approx(0.9 / 1.9)


def test_long_services_serialise():
    learner = refusing(10, 1.0, 1e6)
    assert learner.update_rate == pytest.approx(1e-6, rel=1e-6)
    assert learner.busy_fraction == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("n_owners", [1, 2, 50])
def test_requests_balance(n_owners):
    """Requests come at the rate of idle owners: N − P(busy) of them."""
    learner = refusing(n_owners, 0.7, 0.3)
    asked = learner.update_rate / (1 - learner.refusal_probability)
    assert asked == pytest.approx(0.7 * (n_owners - learner.busy_fraction), rel=1e-13)
    assert learner.busy_fraction == pytest.approx(learner.update_rate * 0.3, rel=1e-13)


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


def test_many_owners_look_like_a_poisson_source():
    assert close(refusing(10**7, 3e-7, 0.4), poisson_source(3.0, 0.4), rel=1e-6)
    erlang = poisson_source(3.0, 0.5)
    assert erlang.refusal_probability == pytest.approx(1.5 / 2.5)
    assert erlang.busy_fraction == erlang.refusal_probability


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ((0, 1.0, 1.0), "n_owners"),
        ((1.5, 1.0, 1.0), "n_owners"),
        ((3, 0.0, 1.0), "rate"),
        ((3, math.nan, 1.0), "rate"),
        ((3, 1.0, -0.1), "mean_service"),
        ((3, 1.0, math.inf), "mean_service"),
    ],
)
def test_bad_arguments_are_refused(arguments, key):
    with pytest.raises(SpecError, match=key):
        refusing(*arguments)


def test_bad_lists_are_refused():
    with pytest.raises(SpecError, match="2 rates and 1 mean services"):
        refusing_unequal([1.0, 1.0], [1.0])
    with pytest.raises(SpecError, match="0 rates"):
        refusing_unequal([], [])
    with pytest.raises(SpecError, match=r"mean_services\[1\]"):
        refusing_unequal([1.0, 1.0], [1.0, -1.0])
    with pytest.raises(SpecError, match="rate"):
        poisson_source(0.0, 1.0)
