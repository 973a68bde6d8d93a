"""Every budget and every way to bound a record's influence."""

import pytest

from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.privacy.budget import Budget
from asyncdp_sim.privacy.sensitivity import Sensitivity
from tests.conformance.members import examples, said

N = 3


@pytest.mark.parametrize("budget", examples(Budget), ids=said)
def test_a_budget_allows_every_owner_a_whole_number_of_answers(budget: Budget) -> None:
    assert budget.faults(N) == []
    allowed = budget.answers_allowed(N, 50)
    assert len(allowed) == N
    assert all(type(k) is int and k >= 1 for k in allowed)


@pytest.mark.parametrize("sensitivity", examples(Sensitivity), ids=said)
def test_a_bound_is_positive_and_grows_with_nothing_but_theta_and_p(
    sensitivity: Sensitivity,
) -> None:
    assert sensitivity.norm in ("l1", "l2-as-published")
    boxes = [Ridge(regularisation=1.0, theta_max=theta_max) for theta_max in (0.1, 10.0)]
    found = [sensitivity.xi(model, p) for model in boxes for p in (1, 100)]
    assert all(xi > 0 for xi in found)
    assert found == sorted(found)
