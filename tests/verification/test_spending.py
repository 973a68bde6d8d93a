"""Unequal parts of budgets: what they cost, what ψ they give, and which of them are the best."""

from fractions import Fraction
from math import fsum

import numpy as np
import pytest

from asyncdp_sim.audits import recomposed
from asyncdp_sim.privacy import Privacy, budgets
from asyncdp_sim.privacy.budgets import Budget, BudgetSchedule, Scheduled
from asyncdp_sim.privacy.composition import charge_of, together, unlike
from asyncdp_sim.privacy.pairs import GenericPair, LaplacePair, mu_of
from asyncdp_sim.privacy.sensitivity import Clip
from asyncdp_sim.runs.run import run
from asyncdp_sim.trace import ExchangeOutcome, Trace
from tests.conformance.members import examples, said
from tests.tables import table
from tests.together import together as together_cases

from .networks import by_moments, ended, scene

pytestmark = pytest.mark.oracle("budgets spent unevenly: ε, and E ψ")

REPLICATES = 2000
UNEVEN = [each for each in examples(Budget) if not each.even]
LOSSY = ('channel={kind="ideal",loss=0.4}',)
WAYS = table(__file__, "spending.toml")
"""One-on-one over counts of answers, in rounds, an average judged, given orders of what is used."""


def z_score(*given: str) -> tuple[float, float]:
    """How far simulated learnings are from their forecast, and the relative standard error."""
    scenario = scene("spending", f"run.replicates={REPLICATES}", *given).base()
    found, psi = by_moments(scenario), ended(run(scenario))
    error = np.hypot(psi.std(ddof=1) / REPLICATES**0.5, found.half_width / 1.98)
    return float((psi.mean() - found.psi[-1]) / error), float(error / psi.mean())


# what a schedule costs


def spent_by_noise(privacy: Privacy, n_owners: int) -> list[float]:
    """ε of all answers of each owner, worked out from the scale of their noise alone."""
    records, xi = np.arange(10, 10 * (n_owners + 1), 10), 1.0
    noise = privacy.noise_for(records, 9, xi, 2)
    allowed = privacy.answers_allowed(n_owners, 9)
    found = []
    for owner, scales in enumerate(np.split(noise.scale, np.cumsum(allowed)[:-1])):
        each = 2 * xi / records[owner] / scales
        if privacy.mechanism.needs_delta:
            whole = mu_of(float(privacy.epsilons(n_owners)[owner]), privacy.delta)
            found.append(float(privacy.epsilons(n_owners)[owner] * np.sum(each**2) / whole**2))
        elif privacy.accountant is None:
            found.append(fsum(each.tolist()))
        else:
            parts = tuple((LaplacePair(e), 1) for e in each.tolist())
            found.append(together(parts, privacy.delta).epsilon(privacy.delta))
    return found


def private(budget, **fields) -> Privacy:
    return Privacy(epsilon=[0.5, 1.0, 4.0], sensitivity=Clip(bound=1.0), budget=budget, **fields)


@pytest.mark.long
@together_cases
@pytest.mark.parametrize("budget", UNEVEN, ids=said)
@pytest.mark.parametrize("how", [{}, {"mechanism": "gaussian"}, {"accountant": "pld"}], ids=str)
def test_what_noise_costs_together_is_the_budget_and_never_more(budget, how):
    privacy = private(budget, delta=1e-5 if how else None, **how)
    for spent, budgeted in zip(spent_by_noise(privacy, 3), [0.5, 1.0, 4.0], strict=True):
        assert budgeted * (1 - 1e-3) <= spent <= budgeted * (1 + 1e-12)


@together_cases
@pytest.mark.parametrize("budget", UNEVEN, ids=said)
def test_parts_are_those_of_the_rule_in_rational_arithmetic(budget):
    """Σ ≤ 1, and what m answers cost rises to exactly K equal ones."""
    parts = BudgetSchedule.from_weights(budget.weights(3))
    for own in parts.parts:
        assert sum(map(Fraction, own.tolist())) <= 1
        assert fsum(own.tolist()) == pytest.approx(1, abs=1e-15)
    equal = parts.equal(np.array([[min(m, k) for k in parts.answers] for m in range(11)]))
    assert np.all(np.diff(equal, axis=0) >= 0)
    assert equal[0].tolist() == [0, 0, 0]
    assert equal[-1].tolist() == parts.answers.tolist()


def test_rules_are_what_they_say():
    for rule, due in (
        ({"growth": 2.0}, [1, 2, 4, 8]),
        ({"power": -1.0}, [1, 1 / 2, 1 / 3, 1 / 4]),
        ({"growth": 2.0, "power": -1.0}, [1, 2 / 2, 4 / 3, 8 / 4]),
    ):
        [weights] = Scheduled(answers=4, **rule).weights(1)
        assert weights / weights[0] == pytest.approx(due)
    assert Scheduled(shares=[3.0, 1.0]).weights(2)[1].tolist() == [3, 1]


def test_parts_that_add_up_to_more_are_seen(monkeypatch):
    right = budgets._parts
    monkeypatch.setattr(budgets, "_parts", lambda each: 1.01 * right(each))
    assert min(spent_by_noise(private(UNEVEN[0]), 3)) > 0.5 * (1 + 1e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "law"),
    [(LaplacePair, recomposed.laplace), (GenericPair, recomposed.response)],
    ids=["laplace", "any"],
)
def test_unlike_answers_compose_to_what_an_audit_says(kind, law):
    for growth, count in ((1.1, 12), (0.7, 5), (1.0, 8)):
        shape = growth ** np.arange(count)
        relative = tuple((shape / shape.mean()).tolist())
        charge = charge_of(kind, 1.0, 1e-6, count, relative)
        upper = together(unlike(kind, charge, relative), 1e-6).epsilon(1e-6)
        costs = tuple(charge * each for each in relative)
        assert 1 - 1e-3 <= recomposed.epsilon_of(law, costs, 1e-6) <= upper <= 1.0
        assert upper >= 1 - 1e-4
        assert charge <= recomposed.charge_of(law, 1.0, 1e-6, relative) <= charge * (1 + 1e-3)


# what ψ it gives


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_a_forecast_under_a_schedule_is_what_is_simulated(way):
    z, error = z_score(*WAYS[way])
    print(f"{way}: z = {z:.2f}, standard error {error:.2%}")
    assert abs(z) <= 4
    assert error <= 0.04


@pytest.mark.long
def test_noise_that_does_not_follow_the_schedule_is_seen(monkeypatch):
    """Equal noise on all answers, and a place that counts used answers instead of released ones."""
    monkeypatch.setattr(BudgetSchedule, "places", lambda self, owners, _: self._first[owners] + 4)
    assert abs(z_score("privacy.budget.growth=1.5")[0]) > 4
    monkeypatch.undo()

    def used_before(self: Trace):
        used, owners = self.came_to(ExchangeOutcome.applied), self.exchanges["owner"]
        return np.array([np.sum(used[:j] & (owners[:j] == i)) for j, i in enumerate(owners)])[used]

    uneven = ("privacy.budget.growth=1.5", *LOSSY)
    scenario = scene("spending", f"run.replicates={REPLICATES}", *uneven).base()
    found = by_moments(scenario)
    monkeypatch.setattr(Trace, "numbers", property(used_before))
    psi = ended(run(scenario))
    assert abs(psi.mean() - found.psi[-1]) > 4 * psi.std() / REPLICATES**0.5


def test_live_learning_is_its_replay_where_answers_are_lost():
    pushed = ("protocol.kind=push", "latency.answer={kind='constant',value=0.3}")
    for more in (LOSSY, (*LOSSY, *pushed)):
        live, replayed = (
            ended(run(scene("spending", "run.replicates=5", f"run.learning={way}", *more).base()))
            for way in ("live", "replay")
        )
        assert live.tolist() == replayed.tolist()
