"""Unequal parts of budgets: what they cost, what ψ they give, and which of them are the best."""

from fractions import Fraction
from math import exp, fsum, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncdp_sim.audits import recomposed
from asyncdp_sim.errors import SpecError
from asyncdp_sim.forecasts.exact.moment_forecast import MomentForecast, moment_forecast
from asyncdp_sim.forecasts.exact.one_on_one import process_of
from asyncdp_sim.forecasts.population import Population, population
from asyncdp_sim.forecasts.spending import Spending, rules, spend
from asyncdp_sim.forecasts.spending.weights import Weights, weights
from asyncdp_sim.learning.algorithms import Schedule
from asyncdp_sim.privacy import Privacy, budgets
from asyncdp_sim.privacy.accountants.attacker import mu_of
from asyncdp_sim.privacy.accountants.composition import charge_of, together, unlike
from asyncdp_sim.privacy.accountants.pairs import GenericPair, LaplacePair
from asyncdp_sim.privacy.budgets import Allotment, Budget, Scheduled
from asyncdp_sim.privacy.sensitivity import Clip
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.theory.moments import spending
from asyncdp_sim.theory.moments.spending import (
    best_parts,
    cost,
    endless_weights,
    least_cost,
    round_weights,
)
from asyncdp_sim.theory.moments.synchronous import moments
from asyncdp_sim.theory.moments.with_budgets import capped_moments
from asyncdp_sim.trace import ExchangeOutcome, Trace
from tests.conformance.members import examples, said
from tests.properties.networks import FIXED
from tests.together import together as together_cases

pytestmark = pytest.mark.oracle(
    "unequal parts of a budget: what they cost, and E ψ under them",
    "rational sums; losses rounded down; exact moments and 2,000 learnings, |z| ≤ 4",
    source="asyncdp_sim.theory.moments.spending; Hölder's inequality for the best parts",
    setting="quadratic loss, no clipping; one-on-one, budgets that end, lost answers, rounds",
    kinds="Scheduled, LaplaceMechanism, GaussianMechanism, LossDistributions",
)

SCENE = Path(__file__).parent / "scenes" / "spending.toml"
REPLICATES = 2000
UNEVEN = [each for each in examples(Budget) if not each.even]
GAUSSIAN = ("privacy.mechanism=gaussian", "privacy.delta=1e-5")
COMPOSED = ("privacy.accountant=pld", "privacy.delta=0.02", "privacy.epsilon=0.5")
ROUNDS = (
    "protocol.kind=rounds", "run.updates=10", "privacy.budget.answers=10",
    'algorithm={kind="parameter-server",step=0.1}',
)  # fmt: skip
LOSSY = ('channel={kind="ideal",loss=0.4}',)
WAYS = {
    "gossip": (),
    "gaussian": GAUSSIAN,
    "composed": COMPOSED,
    "discrete": ("privacy.mechanism=discrete-laplace",),
    "unlike owners": ("privacy.budget={kind='scheduled',answers=[5,8,10],power=[2.0,0.0,-1.0]}",),
    "by a list": ("privacy.budget={kind='scheduled',shares=[1,2,4,8,8,8,8,8]}",),
    "rounds": ROUNDS,
    "an average": (*ROUNDS, 'algorithm={kind="collab-2",step=0.2}'),
    "lossy": (*LOSSY, "privacy.budget.growth=1.05"),
}
"""One-on-one over counts of answers, in rounds, an average judged, given orders of what is used."""


def scene(*given: str) -> Scenario:
    return load(SCENE, given)[0].base()


def known(*given: str) -> Population:
    return population(scene(*given), "own", private=False)


def psi_of(scenario: Scenario) -> np.ndarray:
    """ψ at the end of every replicate."""
    curve = run(scenario).learned.curve
    return curve["relative_fitness"][np.flatnonzero(np.diff(curve["replicate"], append=-1) != 0)]


def z_score(*given: str) -> tuple[float, float]:
    """How far simulated learnings are from their forecast, and the relative standard error."""
    scenario = scene(f"run.replicates={REPLICATES}", *given)
    found = moment_forecast(population(scenario, "own", private=False))
    assert isinstance(found, MomentForecast)
    psi = psi_of(scenario)
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


def private(budget: Any, **fields: Any) -> Privacy:
    return Privacy(epsilon=[0.5, 1.0, 4.0], sensitivity=Clip(bound=1.0), budget=budget, **fields)


@together_cases
@pytest.mark.parametrize("budget", UNEVEN, ids=said)
@pytest.mark.parametrize("how", [{}, {"mechanism": "gaussian"}, {"accountant": "pld"}], ids=str)
def test_what_noise_costs_together_is_the_budget_and_never_more(
    budget: Any, how: dict[str, str]
) -> None:
    privacy = private(budget, delta=1e-5 if how else None, **how)
    for spent, budgeted in zip(spent_by_noise(privacy, 3), [0.5, 1.0, 4.0], strict=True):
        assert budgeted * (1 - 1e-3) <= spent <= budgeted * (1 + 1e-12)


@together_cases
@pytest.mark.parametrize("budget", UNEVEN, ids=said)
def test_parts_are_those_of_the_rule_in_rational_arithmetic(budget: Any) -> None:
    """Σ ≤ 1, and what m answers cost rises to exactly K equal ones."""
    parts = Allotment.of(budget.weights(3))
    for own in parts.parts:
        assert sum(map(Fraction, own.tolist())) <= 1
        assert fsum(own.tolist()) == pytest.approx(1, abs=1e-15)
    counts = np.array([[min(m, k) for k in parts.answers] for m in range(11)])
    equal = parts.equal(counts)
    assert np.all(np.diff(equal, axis=0) >= 0)
    assert equal[0].tolist() == [0, 0, 0]
    assert equal[-1].tolist() == parts.answers.tolist()


def test_rules_are_what_they_say() -> None:
    growing = Scheduled(answers=4, growth=2.0).weights(1)[0]
    assert growing[1:] / growing[:-1] == pytest.approx(2.0)
    powers = Scheduled(answers=4, power=-1.0).weights(1)[0]
    assert powers / powers[0] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    both = Scheduled(answers=4, growth=2.0, power=-1.0).weights(1)[0]
    assert both / both[0] == pytest.approx([1, 2 / 2, 4 / 3, 8 / 4])
    assert Scheduled(shares=[3.0, 1.0]).weights(2)[1].tolist() == [3, 1]


def test_parts_that_add_up_to_more_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = budgets._parts
    monkeypatch.setattr(budgets, "_parts", lambda each: 1.01 * right(each))
    privacy = private(UNEVEN[0])
    assert min(spent_by_noise(privacy, 3)) > 0.5 * (1 + 1e-3)


@pytest.mark.parametrize(
    ("kind", "law"),
    [(LaplacePair, recomposed.laplace), (GenericPair, recomposed.response)],
    ids=["laplace", "any"],
)
def test_unlike_answers_compose_to_what_an_audit_says(
    kind: type[LaplacePair], law: recomposed.Law
) -> None:
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
def test_a_forecast_under_a_schedule_is_what_is_simulated(way: str) -> None:
    z, error = z_score(*WAYS[way])
    print(f"{way}: z = {z:.2f}, standard error {error:.2%}")
    assert abs(z) <= 4
    assert error <= 0.04


@pytest.mark.long
def test_noise_that_does_not_follow_the_schedule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal noise on all answers, and a place that counts used answers instead of released ones."""
    monkeypatch.setattr(Allotment, "places", lambda self, owners, _: self._first[owners] + 4)
    assert abs(z_score("privacy.budget.growth=1.5")[0]) > 4
    monkeypatch.undo()

    def used_before(self: Trace) -> Any:
        used, owners = self.came_to(ExchangeOutcome.applied), self.exchanges["owner"]
        return np.array([np.sum(used[:j] & (owners[:j] == i)) for j, i in enumerate(owners)])[used]

    scenario = scene(f"run.replicates={REPLICATES}", "privacy.budget.growth=1.5", *LOSSY)
    found = moment_forecast(population(scenario, "own", private=False))
    assert isinstance(found, MomentForecast)
    monkeypatch.setattr(Trace, "numbers", property(used_before))
    psi = psi_of(scenario)
    assert abs(psi.mean() - found.psi[-1]) > 4 * psi.std() / REPLICATES**0.5


def test_live_learning_is_its_replay_where_answers_are_lost() -> None:
    for more in (
        LOSSY,
        (*LOSSY, "protocol.kind=push", "latency.answer={kind='constant',value=0.3}"),
    ):
        found = [psi_of(scene("run.replicates=5", f"run.learning={way}", *more))
                 for way in ("live", "replay")]  # fmt: skip
        assert found[0].tolist() == found[1].tolist()


# which is the best


def test_weights_of_owners_that_are_never_silent_are_exact() -> None:
    """E f with random variances is that of the recursion over counts."""
    here = known('privacy.budget={kind="per-owner-cap",answers=14}', "run.updates=14")
    assert here.objective is not None
    _, process = process_of(here, here.objective, np.array([0.2, 0.3, 0.5]))
    variance = np.random.default_rng(4).uniform(0, 2, (3, 14))
    caps = np.full(3, 14)
    loud, quiet = capped_moments(process, caps, variance), capped_moments(process, caps)
    parts = [each.expected_excess(process.hessian, process.optimum)[-1] for each in (loud, quiet)]
    exact = endless_weights(process, 14)
    assert np.sum(exact * variance) == pytest.approx(parts[0] - parts[1], rel=1e-10)
    seen = weights(here).each * here.objective.least / here.problem.noise.variance[:, None]
    _, alike = process_of(here, here.objective, np.full(3, 1 / 3))
    total = seen.sum(axis=(1, 2))  # of all answers together: rare ones have no law of their own
    z = (total.mean() - endless_weights(alike, 14).sum()) / (total.std() / len(total) ** 0.5)
    assert abs(z) <= 4
    with pytest.raises(SpecError, match="nobody is silent"):
        endless_weights(process, 13)


@pytest.mark.parametrize("averaged", [False, True], ids=["the model", "an average"])
def test_weights_of_rounds_are_what_single_rounds_noise_adds(averaged: bool) -> None:
    rng = np.random.default_rng(5)
    root = rng.normal(size=(3, 3))
    hessian, judge = root @ root.T / 3, np.diag([1.0, 2.0, 3.0])
    kept = np.arange(6) / (1.5 + np.arange(6)) if averaged else None
    schedule = Schedule(0.3 / np.arange(1, 7), kept)
    found = round_weights(hessian, schedule, judge)
    for k in range(6):
        alone = moments(hessian, np.ones(3), schedule, np.eye(6)[k])
        quiet = moments(hessian, np.ones(3), schedule)
        added = alone.judged.second[-1] - quiet.judged.second[-1]
        assert found[k] == pytest.approx(np.trace(judge @ added), rel=1e-9, abs=1e-15)


def one_curvature(step: Any, updates: int, q: float) -> Weights:
    """Rounds of one owner and one coordinate, of curvature h = 1/2."""
    schedule = Schedule.of(step, updates)
    felt = round_weights(np.array([[0.5]]), schedule)
    return Weights(felt[None, None] / felt.sum(), np.array([updates]), q)


@pytest.mark.parametrize(("q", "root"), [(2.0, 1 / 3), (1.0, 1 / 2)], ids=["laplace", "gaussian"])
def test_the_best_rule_is_the_closed_form_where_weights_are_known(q: float, root: float) -> None:
    """A constant step γ forgets noise by (1 − 2γh)² a round: g = (1 − 2γh)^(−2/(1+q)).

    A step c/k with 2ch = 1 keeps all noise as it is, γ_k Π (1 − 1/j) = c/T: equal parts; with
    2ch = 2 the weights are (k − 1)², so that a = 2/(1+q) but for the first rounds.
    """
    for step in (0.05, 0.3):
        found = rules.best_rule(one_curvature(lambda _, step=step: step, 20, q))
        assert found.power == 0
        assert found.growth == pytest.approx((1 - step) ** (-2 * root), rel=1e-3)
        constant = one_curvature(lambda _, step=step: step, 20, q)
        assert found.cost == pytest.approx(rules.least(constant), rel=1e-5)
    equal = rules.best_rule(one_curvature(lambda k: 1 / k, 20, q))
    assert (equal.growth, equal.power) == (1.0, 0.0)
    assert equal.cost == pytest.approx(1.0)
    rising = rules.best_rule(one_curvature(lambda k: 2 / k, 200, q))
    assert rising.cost <= rules.least(one_curvature(lambda k: 2 / k, 200, q)) * 1.02
    falling = rules.best_rule(one_curvature(lambda k: 0.5 / k, 20, q))
    assert falling.power < 0 or falling.growth < 1


WEIGHTS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12).map(np.array)
QS = st.sampled_from([1.0, 2.0])


def is_best(each: np.ndarray, parts: np.ndarray, q: float) -> None:
    """No other parts cost less, and the least is that of Hölder's inequality."""
    assert fsum(parts.tolist()) == pytest.approx(1.0)
    assert cost(each, parts, q) == pytest.approx(least_cost(each, q), rel=1e-9)
    rng = np.random.default_rng(len(each))
    for other in rng.dirichlet(np.ones(len(each)), 50):
        assert cost(each, other, q) >= cost(each, parts, q) * (1 - 1e-12)
        near = 0.99 * parts + 0.01 * other
        assert cost(each, near, q) >= cost(each, parts, q) * (1 - 1e-12)


def test_no_schedule_beats_the_best() -> None:
    @settings(FIXED, max_examples=60)
    @given(WEIGHTS, QS)
    def draw(each: np.ndarray, q: float) -> None:
        is_best(each, best_parts(each, q), q)

    draw()
    for wrong in (np.array([-1.0, 2.0]), np.zeros(3)):
        with pytest.raises(SpecError, match="numbers ≥ 0, not all 0"):
            best_parts(wrong, 2.0)


def test_a_wrong_exponent_is_seen() -> None:
    """W^(1/2) for Laplace noise, as for Gaussian."""
    each = np.array([1.0, 8.0, 64.0])
    with pytest.raises(AssertionError):
        is_best(each, best_parts(each, 1.0), 2.0)


def test_the_rule_that_is_found_is_not_beaten_by_others_of_its_kind() -> None:
    found = weights(known('privacy.budget={kind="per-owner-cap",answers=10}'))
    best = rules.best_rule(found)
    assert best.cost >= rules.least(found) * (1 - 1e-12)
    rng = np.random.default_rng(6)
    for growth, power in zip(rng.normal(0, 0.3, 200), rng.normal(0, 2, 200), strict=True):
        assert rules.written(found, growth, power).cost >= best.cost * (1 - 2e-3)
    other = rules.cost(found, log(best.growth) + 0.2, best.power)
    assert other > best.cost
    assert rules.golden(lambda x: (x - 0.3) ** 2, 2.0) == pytest.approx(0.3, abs=1e-5)


def advised(*given: str) -> Spending:
    return spend(load(SCENE, given)[0])


EQUAL = 'privacy.budget={kind="per-owner-cap",answers=10}'


def test_advice_is_of_the_forecast_with_its_rule() -> None:
    """Exact figures are those of the scenarios themselves; ψ cannot be below the floor."""
    found = advised(EQUAL)
    assert found.pays
    ends = moment_forecast(population(found.scenario, "own", private=False))
    equal = moment_forecast(known(EQUAL))
    assert isinstance(ends, MomentForecast)
    assert isinstance(equal, MomentForecast)
    assert found.uneven.psi == float(ends.psi[-1])
    assert found.equal.psi == float(equal.psi[-1])
    assert found.gained == found.equal.psi - found.uneven.psi > 0.01 * found.equal.psi
    assert found.floor < found.uneven.psi
    assert found.scenario.privacy.budget == Scheduled.model_validate(
        found.scenario.privacy.budget.model_dump()
    )


def test_advice_says_plainly_when_nothing_is_gained() -> None:
    """Steps so short that no noise is forgotten."""
    found = advised(EQUAL, "algorithm.rho=0.3")
    assert not found.pays
    assert found.verdict.startswith("nothing: the best rule lowers ψ by 0.")
    assert found.verdict.endswith("%, less than 1%")
    assert found.scenario.privacy.budget.even
    assert found.equal.psi - found.floor < 0.01 * found.equal.psi


def test_no_threshold_is_crossed_by_luck() -> None:
    """What is not two standard errors is not said to pay; nor what is worse."""
    from dataclasses import replace

    found = advised(EQUAL, *LOSSY)
    assert found.pays
    assert found.gained > 2 * found.gained_error > 0
    luck = replace(found, gained_error=found.gained, pays=False)
    assert luck.verdict.startswith("nothing that is shown: the best rule lowers ψ by ")
    worse = replace(found, gained=-found.equal.psi, pays=False)
    assert "ψ is" in worse.verdict
    assert worse.verdict.startswith("nothing: under the best rule that was found")


def test_the_formulas_of_the_page() -> None:
    """The gain of a constant step over K answers, K^q ΣW/(ΣW^(1/(1+q)))^(1+q)."""
    weights_of = exp(-0.2) ** np.arange(30)[::-1]
    equal = cost(weights_of, np.full(30, 1 / 30), 2)
    assert equal / least_cost(weights_of, 2) == pytest.approx(
        30**2 * weights_of.sum() / (weights_of ** (1 / 3)).sum() ** 3
    )
    assert spending.cost(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 2) == 1.0
