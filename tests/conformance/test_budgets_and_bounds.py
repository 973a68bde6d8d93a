"""Every budget under every mechanism, and every way to bound a record's influence."""

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.privacy import Privacy
from asyncdp_sim.privacy.budget import Budget
from asyncdp_sim.privacy.sensitivity import Clip, Sensitivity
from tests.conformance.members import examples, said

N, T = 3, 50
NOISY = ["laplace", "gaussian", "discrete-laplace"]


def private(budget: Budget, mechanism: str, overlap: int = 1) -> Privacy:
    return Privacy(
        epsilon=[1.0, 2.0, 4.0],
        delta=1e-6 if mechanism == "gaussian" else None,
        mechanism=mechanism,
        sensitivity=Clip(bound=1.0),
        budget=budget,
        overlap=overlap,
    )


@pytest.mark.parametrize("mechanism", NOISY)
@pytest.mark.parametrize("budget", examples(Budget), ids=said)
def test_a_budget_allows_every_owner_a_whole_number_of_answers(
    budget: Budget, mechanism: str
) -> None:
    assert budget.faults(N) == []
    privacy = private(budget, mechanism)
    assert privacy.faults(N, Ridge(regularisation=1.0)) == []
    allowed = privacy.answers_allowed(N, T)
    assert len(allowed) == N
    assert all(type(k) is int and k >= 1 for k in allowed)


@pytest.mark.parametrize("mechanism", NOISY)
@pytest.mark.parametrize("budget", examples(Budget), ids=said)
def test_no_number_of_allowed_answers_costs_more_than_the_budget(
    budget: Budget, mechanism: str
) -> None:
    privacy = private(budget, mechanism)
    accountant = privacy.accountant(N, T)
    allowed = accountant.answers
    assert accountant.epsilon.tolist() == [1.0, 2.0, 4.0]
    assert accountant.answers.tolist() == list(privacy.answers_allowed(N, T))
    counts = np.stack([np.zeros(N, dtype=int), np.ones(N, dtype=int), allowed // 2, allowed])
    charged = accountant.spent(np.sort(counts, axis=0))
    assert not charged[0].any()
    assert np.all(np.diff(charged, axis=0) >= 0)
    assert np.all(charged <= accountant.epsilon)
    priced = getattr(budget, "per_answer", None)
    if priced is None:
        assert charged[-1] == pytest.approx(accountant.epsilon, rel=1e-5)
    else:  # one more would not fit
        over = accountant.spent(allowed + 1)
        assert np.all(over > accountant.epsilon)


@pytest.mark.parametrize("mechanism", NOISY)
@pytest.mark.parametrize("budget", examples(Budget), ids=said)
def test_every_budget_has_a_noise_that_grows_with_the_bound_alone(
    budget: Budget, mechanism: str
) -> None:
    privacy = private(budget, mechanism)
    noise = [privacy.noise_for(np.array([10, 20, 40]), T, xi, 4) for xi in (1.0, 2.0)]
    assert np.all(noise[0].scale > 0)
    assert noise[1].scale == pytest.approx(2 * noise[0].scale, rel=1e-12)


@pytest.mark.parametrize("sensitivity", examples(Sensitivity), ids=said)
def test_a_bound_is_positive_and_grows_with_nothing_but_theta_and_p(
    sensitivity: Sensitivity,
) -> None:
    assert sensitivity.norm in (None, "l1", "l2", "l2-as-published")
    for otherwise in ("l1", "l2"):
        assert sensitivity.measured(otherwise) in ("l1", "l2")
        boxes = [Ridge(regularisation=1.0, theta_max=theta_max) for theta_max in (0.1, 10.0)]
        found = np.array([[sensitivity.xi(box, p, otherwise) for p in (1, 100)] for box in boxes])
        assert np.all(found > 0)
        assert np.all(np.diff(found, axis=0) >= 0)
        assert np.all(np.diff(found, axis=1) >= 0)
