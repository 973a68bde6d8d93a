"""Noisy statistics: what is released, what is solved for, what is refused, what it costs."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncdp_sim.core.specification import parse
from asyncdp_sim.learning.algorithms import AnswerBatch, NoisyStatistics, Setting
from asyncdp_sim.learning.algorithms.noisy_statistics import NoisyStatisticsSteps, Statistics
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.network.spec import Payload
from asyncdp_sim.privacy import Domain
from asyncdp_sim.results import read_table
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.runs.run import manifest, run, write
from asyncdp_sim.scenario import Scenario
from tests.tables import table
from tests.unit.learning.problems import scopes

NO_POINTS = np.zeros((1, 2))
BASE = table(__file__, "scenes.toml")["statistics"]
DOMAIN, ONCE = (BASE["privacy"][name] for name in ("sensitivity", "budget"))


def scenario(**parts: Any) -> Scenario:
    return parse(Scenario, BASE | parts)


def one(theta_max: float | None = None, noise: float = 0.0, **fields: Any) -> NoisyStatisticsSteps:
    """Two owners with a quarter and three quarters of the records, two features, σ = 0.2."""
    setting = Setting(np.array([0.25, 0.75]), 2, 2, 0.2, theta_max)
    return NoisyStatistics(**fields).steps(replace(setting, noise=np.full(2, noise)))


def test_the_ridge_by_hand():
    """b = 0.1: v = 2b², τ = 2c√(2v) = 0.4c; λ = τ − ¼ where λ_min is ¼, and 0 beyond τ."""
    answer = np.array([[0.25, 0.0, 2.0, 1.0, 1.0]])
    for caution, ridge in ((1.25, 0.25), (0.5, 0.0)):
        steps = one(noise=0.1, caution=caution)
        state = steps.init(scopes(1))
        steps.apply(state, AnswerBatch(np.array([1])), NO_POINTS, answer.copy())
        steps.update(state)
        exact = [1 / (0.25 + ridge + 0.1), 1 / (2.0 + ridge + 0.1)]
        assert state.central[0] == pytest.approx(exact, rel=1e-12)


def test_noise_of_several_owners_adds_up_by_weight():
    """√(¼² + ¾²) of one owner's deviation, in units of the Gram block; no gram, so λ = τ."""
    domain = Domain(row_norm=2.0, target_max=3.0)
    setting = Setting(np.array([0.25, 0.75]), 2, 2, 0.2, None)
    steps = NoisyStatistics(gram_share=0.4).steps(
        replace(setting, noise=np.array([0.1, 0.1]), domain=domain)
    )
    assert (steps.units.gram, steps.units.moment) == pytest.approx((4 / 0.4, 6 / 0.6))
    state = steps.init(scopes(1))
    for owner in (0, 1):
        answer = np.array([[0.0, 0.0, 0.0, 1.0, 2.0]])
        steps.apply(state, AnswerBatch(np.array([owner])), NO_POINTS, answer)
    steps.update(state)
    floor = 2 * 1.25 * np.sqrt(2 * 2 * 0.1**2 * (0.25**2 + 0.75**2)) * 10
    assert state.central[0] == pytest.approx(np.array([10.0, 20.0]) / (floor + 0.1), rel=1e-12)


def test_the_box_is_kept_and_counted():
    steps = one(theta_max=0.5)
    state = steps.init(scopes(2))
    answers = np.array([[1.0, 0.0, 1.0, 9.0, 0.1], [1.0, 0.0, 1.0, 0.1, 0.1]])
    steps.apply(state, AnswerBatch(np.array([0, 1])), np.zeros((2, 2)), answers)
    steps.update(state)
    assert state.central[0].tolist() == [0.5, pytest.approx(0.1 / 1.1)]
    assert state.clipped.tolist() == [1, 0]
    steps.update(state, np.array([1]))
    assert state.clipped.tolist() == [1, 0]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_neighbours_are_at_most_two_xi_over_n_apart(data: st.DataObject) -> None:
    """‖a(D) − a(D')‖₁ ≤ 2Ξ/n for any two datasets that differ in one record, brought into it."""
    p, n = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    row_norm, target_max = (data.draw(st.floats(1e-2, 10.0)) for _ in range(2))
    share = data.draw(st.floats(0.05, 0.95))
    domain = Domain(row_norm=row_norm, target_max=target_max)
    wild = st.lists(st.floats(-20.0, 20.0), min_size=p + 1, max_size=p + 1)
    rows = np.array(data.draw(st.lists(wild, min_size=n, max_size=n)))
    other = rows.copy()
    other[0] = data.draw(wild)
    units = NoisyStatistics(gram_share=share).units(domain)
    found = []
    for each in (rows, other):
        features, targets = domain.confine([each[:, :p]], [each[:, p]])
        objective = Quadratic.from_records(features, targets, 0.1, None)
        found.append(Statistics(objective, units).blocks[0])
    assert np.abs(found[0] - found[1]).sum() <= 2 * NoisyStatistics.xi / n * (1 + 1e-9)


@pytest.mark.parametrize("p", [2, 5])
def test_the_bound_is_reached(p):
    domain = Domain(row_norm=0.7, target_max=3.0)
    axes = [np.eye(p)[:1] * 0.7, -np.eye(p)[1:2] * 0.7]
    units = NoisyStatistics(gram_share=0.3).units(domain)
    ends = [
        Statistics(Quadratic.from_records([x], [np.array([y])], 0.1, None), units).blocks[0]
        for x, y in zip(axes, (3.0, 3.0), strict=True)
    ]
    assert np.abs(ends[0]).sum() == pytest.approx(1.0)
    assert np.abs(ends[0] - ends[1]).sum() == pytest.approx(2.0)


def test_owners_that_miss_a_deadline_answer_in_a_later_round():
    made = scenario(
        protocol={"kind": "rounds", "deadline": 1.0},
        latency={},
        compute={"kind": "exponential", "mean": 1.0},
        privacy={"mechanism": "none", "budget": ONCE},
    )
    outcome = run(made)
    assert max(trace.n_updates for trace in outcome.traces) > 1
    optimum = outcome.problem.task.objective.optimum
    for trace, theta in zip(outcome.traces, outcome.learned.models, strict=True):
        assert sorted(trace.updates["owner"].tolist()) == [1, 2, 3, 4, 5]
        assert theta == pytest.approx(optimum, rel=1e-12)


def drawn(epsilon: float = 20.0) -> RunResult:
    return run(scenario(privacy={"epsilon": epsilon, "sensitivity": DOMAIN, "budget": ONCE}))


def test_it_is_private_and_the_ledger_is_spent(tmp_path):
    outcome = drawn()
    said = outcome.summary
    assert (said["private"], said["epsilon_true"], said["bound_exceeded"]) == (True, 20.0, None)
    assert said["max_spent_ratio"] == 1.0
    assert outcome.problem.xi == manifest(outcome)["constants"]["noise_bound"] == 1.0
    write(outcome, tmp_path / "result")
    owners = read_table(tmp_path / "result", "owners")
    assert owners["epsilon_spent"].tolist() == [20.0] * 20
    assert owners["answers_released"].tolist() == [1] * 20
    scale = outcome.problem.task.reply.noise.scale
    assert scale == pytest.approx(2 / (np.array([20, 30, 40, 50, 60]) * 20.0))
    assert any("the bounded domain scaled" in warning for warning in outcome.warnings)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-100])
def test_noise_that_drowns_everything_leaves_a_model(epsilon):
    """λ ≈ τ: no matrix is singular, and θ is near 0."""
    assert np.isfinite(list(drawn(epsilon).summary["psi_final"].values())).all()


def test_an_answer_that_is_not_finite_spoils_its_replicate_alone():
    mean = np.array([[np.inf, 0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.1, 2.2]])
    found = one().solve(mean, np.zeros(2))
    assert np.isnan(found[0]).all()
    assert found[1] == pytest.approx([1.0, 2.0])


def test_an_answer_counts_its_own_bytes():
    """p = 3: nine numbers in an answer, three in a query, of 8 bytes, and 40 of a header."""
    sized = scenario(latency={"rate_bytes": 100.0}).network
    assert (sized.answer_bytes, sized.query_bytes) == (9 * 8 + 40, 3 * 8 + 40)
    assert sized.transfer_times("answer") == (1.12,) * 5
    air = scenario(channel={"kind": "aloha", "rate_bytes": 1000.0}).network
    assert air.airtime == pytest.approx(0.112)
    other = {"kind": "async-gossip", "rho": 1.0}
    plain = scenario(latency={"rate_bytes": 100.0}, algorithm=other).network
    assert plain.answer_bytes == plain.query_bytes == Payload().size(3)
    assert scenario().network.query_numbers is None


def test_a_horizon_of_one_answer_is_one_answer():
    privacy = {"epsilon": 20.0, "sensitivity": DOMAIN, "budget": {"kind": "horizon"}}
    outcome = run(
        scenario(protocol={"kind": "rounds"}, privacy=privacy, run={"updates": 1, "replicates": 2})
    )
    assert outcome.summary["max_spent_ratio"] == 1.0
    assert not any(" ended after " in warning for warning in outcome.warnings)


def test_every_sign_of_a_row_has_the_same_length():
    """‖vech(xxᵀ)‖₁ = (‖x‖₁² + ‖x‖₂²)/2, whatever the signs."""
    for signs in product([-1.0, 1.0], repeat=3):
        x = np.array(signs) * [0.2, 0.5, 0.3]
        one_row = Quadratic.from_records([x[None]], [np.ones(1)], 0.1, None)
        upper = np.abs(Statistics(one_row, NoisyStatistics().units()).blocks[0, :6]).sum()
        assert upper == pytest.approx((np.abs(x).sum() ** 2 + x @ x) / 2)
