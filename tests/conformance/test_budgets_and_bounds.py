"""Every budget under every mechanism, and every way to bound a record's influence."""

from math import inf

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.privacy import Privacy
from asyncdp_sim.privacy.budgets import MOST_ANSWERS, Budget
from asyncdp_sim.privacy.mechanisms import Mechanism, MechanismKind
from asyncdp_sim.privacy.sensitivity import Clip, Sensitivity
from tests.conformance.members import examples, said
from tests.together import together

ALLOWED = pytest.mark.oracle("number of answers that a budget allows, and their noise")

N, T = 3, 50
NOISY = pytest.mark.parametrize(
    "mechanism", [each for each in examples(Mechanism) if not each.exact], ids=said
)


def private(budget: Budget, mechanism: MechanismKind, overlap: int = 1) -> Privacy:
    return Privacy(
        epsilon=[1.0, 2.0, 4.0],
        delta=1e-6 if mechanism.needs_delta else None,
        mechanism=mechanism,
        sensitivity=Clip(bound=1.0),
        budget=budget,
        overlap=overlap,
    )


@ALLOWED
@together
@NOISY
@pytest.mark.parametrize("budget", examples(Budget), ids=said)
def test_a_budget_allows_every_owner_a_whole_number_of_answers(budget, mechanism):
    assert budget.faults(N) == []
    privacy = private(budget, mechanism)
    assert privacy.faults(N, Ridge(regularisation=1.0)) == []
    allowed = privacy.answers_allowed(N, T)
    assert len(allowed) == N
    assert all(type(k) is int and k >= 1 for k in allowed)


@ALLOWED
@together
@NOISY
@pytest.mark.parametrize("budget", examples(Budget), ids=said)
def test_no_number_of_allowed_answers_costs_more_than_the_budget(budget, mechanism):
    privacy = private(budget, mechanism)
    accountant = privacy.accountant_for(N, T)
    allowed = accountant.answers
    assert accountant.epsilon.tolist() == [1.0, 2.0, 4.0]
    assert accountant.answers.tolist() == list(privacy.answers_allowed(N, T))
    counts = np.stack([np.zeros(N, dtype=int), np.ones(N, dtype=int), allowed // 2, allowed])
    charged = accountant.spent(np.sort(counts, axis=0))
    assert not charged[0].any()
    assert np.all(np.diff(charged, axis=0) >= 0)
    assert np.all(charged <= accountant.epsilon)
    if budget.prices(N) is None:
        assert charged[-1] == pytest.approx(accountant.epsilon, rel=1e-5)
    else:  # one more would not fit
        over = accountant.spent(allowed + 1)
        assert np.all(over > accountant.epsilon)


@together
@NOISY
@pytest.mark.parametrize("budget", examples(Budget), ids=said)
def test_every_budget_has_a_noise_that_grows_with_the_bound_alone(budget, mechanism):
    privacy = private(budget, mechanism)
    noise = [privacy.noise_for(np.array([10, 20, 40]), T, xi, 4) for xi in (1.0, 2.0)]
    assert np.all(noise[0].scale > 0)
    assert noise[1].scale == pytest.approx(2 * noise[0].scale, rel=1e-12)


@pytest.mark.oracle("answers without a mechanism")
@together
@NOISY
@pytest.mark.parametrize("budget", examples(Budget), ids=said)
def test_without_privacy_answers_are_exact_and_no_number_of_them_is_too_large(budget, mechanism):
    """Also where ε was made infinite without asking whether that makes sense of a price."""
    privacy = private(budget, mechanism).model_copy(update={"epsilon": inf})
    noise = privacy.noise_for(np.array([10, 20, 40]), T, 1.0, 4)
    assert noise.scale.tolist() == noise.variance.tolist() == [0.0] * N
    if budget.prices(N) is not None:
        assert privacy.answers_allowed(N, T) == (MOST_ANSWERS,) * N
    assert np.isinf(privacy.accountant_for(N, T).spent(np.ones(N, dtype=int))).all()


@together
@pytest.mark.parametrize("budget", examples(Budget), ids=said)
def test_traits_of_a_budget_are_what_it_does(budget):
    longer = [budget.answers_allowed(N, updates) for updates in (T, 2 * T)]
    assert (longer[0] != longer[1]) is (budget.follows_updates or budget.of_asked)
    assert (budget.prices(N) is None) is (longer[0] is not None)
    assert longer[0] is not None or not budget.named_answers
    other = budget.sized(7)
    assert other.answers_allowed(N, T) == ((T,) * N if budget.follows_updates else (7,) * N)


@together
@pytest.mark.parametrize("sensitivity", examples(Sensitivity), ids=said)
def test_traits_of_a_bound_are_what_it_does(sensitivity):
    rows, targets = [np.full((4, 3), 100.0)], [np.full(4, 100.0)]
    x, y = sensitivity.confine(rows, targets)
    assert np.array_equal(x[0], rows[0]) is not sensitivity.bounds_records
    assert np.array_equal(y[0], targets[0]) is not sensitivity.bounds_records
    assert sensitivity.enforced or sensitivity.clip_bound is None
    assert (len(sensitivity.faults(Ridge(regularisation=1.0))) > 0) is sensitivity.bounds_records
    assert sensitivity.faults(Ridge(regularisation=1.0, theta_max=1.0)) == []


@together
@pytest.mark.parametrize("sensitivity", examples(Sensitivity), ids=said)
def test_a_bound_is_positive_and_grows_with_nothing_but_theta_and_p(sensitivity):
    assert sensitivity.norm in (None, "l1", "l2", "l2-as-published")
    for otherwise in ("l1", "l2"):
        assert sensitivity.measured(otherwise) in ("l1", "l2")
        boxes = [Ridge(regularisation=1.0, theta_max=theta_max) for theta_max in (0.1, 10.0)]
        found = np.array([[sensitivity.xi(box, p, otherwise) for p in (1, 100)] for box in boxes])
        assert np.all(found > 0)
        assert np.all(np.diff(found, axis=0) >= 0)
        assert np.all(np.diff(found, axis=1) >= 0)
