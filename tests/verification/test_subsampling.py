"""Answers over Poisson samples: their law, what they cost, and what is dominated by what.

δ of a pair is integrated here, and composed by what an audit composes anew with
(:mod:`~asyncdp_sim.audits.recomposed`) and by dp-accounting for one record replaced.
"""

from itertools import product
from math import exp, expm1, inf, log, log1p

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from dp_accounting.privacy_accountant import NeighboringRelation

from asyncdp_sim.audits import recomposed
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.learning.answers import Sample
from asyncdp_sim.learning.objectives.losses import SQUARED
from asyncdp_sim.learning.objectives.mlp import Perceptron, PerceptronRecords
from asyncdp_sim.learning.objectives.records import LinearRecords
from asyncdp_sim.privacy.accountants import bare
from asyncdp_sim.privacy.composition import charge_of, fine_step, together
from asyncdp_sim.privacy.pairs import SampledGaussianPair, mu_of, sampled_gaussian
from asyncdp_sim.runs.problem import build_dataset, prepare
from tests.tables import table

from .networks import is_its_replay_within_a_budget_of_one, rows_of, scene
from .pure_law import amplified

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("ε of answers over samples of records, and their variance"),
]

GAUSSIAN = ("privacy.mechanism=gaussian", "privacy.delta=1e-5", "privacy.accountant=pld")
BOTH = pytest.mark.parametrize("settings", [(), GAUSSIAN], ids=["laplace", "gaussian"])
CASES = [(1.0, 0.1, 1), (1.0, 0.1, 100), (2.0, 0.01, 1000), (0.5, 0.5, 10), (0.2, 0.02, 1)]
"""z, q, K."""


def hockey_stick(u: np.ndarray, v: np.ndarray, q: float, alpha: float) -> float:
    """H_α of (1 − q) N(0, I) + q N(u, I) against the same with v, integrated in two dimensions."""
    x = np.linspace(-9, 9, 901)
    grid = np.stack(np.meshgrid(x, x), axis=-1)

    def density(at):
        return np.exp(-np.square(grid - at).sum(axis=-1) / 2) / (2 * np.pi)

    middle = (1 - q) * density(np.zeros(2))
    apart = middle + q * density(u) - alpha * (middle + q * density(v))
    return float(np.maximum(apart, 0).sum() * (x[1] - x[0]) ** 2)


@pytest.mark.parametrize("q", [0.05, 0.4, 0.9])
def test_two_opposite_records_are_told_apart_best(q):
    rng = np.random.default_rng(1)
    for m in (0.3, 1.5):
        end = np.array([m, 0.0])
        for alpha in (1.0, 1.05, 1.5):
            most = hockey_stick(end, -end, q, alpha)
            for _ in range(12):
                u, v = rng.normal(size=(2, 2))
                u *= m * rng.random() ** 0.3 / np.linalg.norm(u)
                v *= m * rng.random() ** 0.3 / np.linalg.norm(v)
                assert hockey_stick(u, v, q, alpha) <= most + 1e-9


@pytest.mark.parametrize(("z", "q", "answers"), CASES, ids=str)
def test_sampled_answers_cost_what_they_must_and_hardly_more(z, q, answers):
    for delta in (1e-6, 1e-4):
        found = together(((SampledGaussianPair(1 / z, q), answers),), delta).epsilon(delta)
        least = recomposed.epsilon_of(recomposed.Sampled(q), (1 / z,), delta, answers)
        assert least <= found <= least * (1 + 1e-3) + 1e-7


@pytest.mark.parametrize(
    ("z", "q", "answers", "close"),
    [(1.0, 0.1, 1, 1e-9), (2.0, 0.01, 50, 1e-6), (3.0, 0.5, 10, 1e-6), (1.0, 0.1, 10, 1e-6)],
)
def test_the_same_as_dp_accounting_says_of_one_record_replaced(z, q, answers, close):
    pair, delta = SampledGaussianPair(1 / z, q), 1e-5
    one = from_gaussian_mechanism(
        z,
        0.5,  # a record moves a sum by half of what a replaced one does
        value_discretization_interval=fine_step(((pair, answers),), delta),
        sampling_prob=q,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    )
    theirs = one if answers == 1 else one.self_compose(answers, 1e-15)
    found = together(((pair, answers),), delta).epsilon(delta)
    assert found == pytest.approx(theirs.get_epsilon_for_delta(delta), abs=close)
    assert found >= theirs.get_epsilon_for_delta(delta) - 1e-12


def test_a_pure_answer_costs_the_largest_ratio_that_there_is():
    """Laplace noise b = 1 on two numbers: the record moves them by c in L1, either way."""
    rng = np.random.default_rng(2)
    for c, q in product((0.1, 1.0, 3.0), (0.05, 0.5, 0.95)):
        claim = amplified(2 * c, q)
        both = rng.laplace(size=(2, 400, 2))
        both *= c / np.abs(both).sum(axis=2, keepdims=True)
        both[:, 0] = (c, 0), (-c, 0)
        x = np.concatenate([rng.normal(size=(500, 2)) * (1 + c), [(9, 0), (-9, 0)]])
        moved = np.abs(x).sum(axis=1)[:, None] - np.abs(x[:, None] - both[:, None]).sum(axis=3)
        u, v = 1 - q + q * np.exp(moved)
        assert np.abs(np.log(u / v)).max() == pytest.approx(claim, rel=1e-12)
        assert claim <= log1p(q * expm1(2 * c)) + 1e-12


def test_what_noise_may_cost_is_what_answers_cost_turned_round():
    for epsilon, q in product((1e-6, 0.01, 1.0, 30.0, 1300.0, 5000.0), (1e-4, 0.1, 0.7, 0.999)):
        assert amplified(bare(epsilon, q), q) == pytest.approx(epsilon, rel=1e-9)
        assert amplified(bare(epsilon, q), q) <= epsilon
    assert bare(inf, 0.1) == amplified(inf, 0.1) == inf
    assert amplified(1.0, 0.5) == pytest.approx(log((1 + exp(0.5)) / (1 + exp(-0.5))))


@pytest.mark.parametrize("kind", ["linear", "perceptron"])
def test_sums_over_samples_are_unbiased_and_spread_as_they_should(kind):
    """E g = ∇f_i, Cov g = (1 − q)/(q n²) Σ_j ∇ℓ_j ∇ℓ_jᵀ, clipped gradients all."""
    rng, draws, q, n = np.random.default_rng(3), 40_000, 0.3, 7
    x, y = rng.normal(size=(n, 3)), rng.normal(size=n)
    records: LinearRecords | PerceptronRecords
    if kind == "linear":
        records, theta = LinearRecords([x], [y], 0.8, "l2"), np.array([1.0, -2.0, 0.5])
        singly = LinearRecords(list(x[:, None]), list(y[:, None]), 0.8, "l2")
        each = singly.gradient(np.arange(n), np.tile(theta, (n, 1)))
    else:
        net, rows = Perceptron(2, 2), np.column_stack([x[:, :2], np.ones(n)])
        records = PerceptronRecords(net, [rows], [y], SQUARED, 0.8)
        theta = rng.normal(size=9)
        alone = PerceptronRecords(net, list(rows[:, None]), list(y[:, None]), SQUARED, 0.8)
        each = alone.gradient(np.arange(n), np.tile(theta, (n, 1)))
    sample = Sample(records, n, q)
    owners = np.zeros(draws, dtype=np.int64)
    points = np.tile(theta, (draws, 1))
    found = sample.gradient(owners, points, rng.random((draws, n + 2))[:, :n])
    covariance = (1 - q) / (q * n * n) * each.T @ each
    mean = records.gradient(owners[:1], points[:1])[0]
    sd = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(found.mean(axis=0) - mean) <= 4.5 * sd / draws**0.5)
    assert np.all(np.abs(np.cov(found.T) - covariance) <= 6 * np.outer(sd, sd) / draws**0.5)


@BOTH
def test_noisy_answers_are_unbiased_and_spread_as_they_should(settings):
    """E ‖answer − ∇f_i‖² = (1 − q)/(q n²) Σ ‖∇ℓ_j‖² + p Var w, over 20,000 answers."""
    scenario = scene("three-records", "privacy.sampling=0.4", *settings)
    problem = prepare(scenario, build_dataset(scenario))
    reply, count = problem.task.reply, 20_000
    assert reply.sample is not None
    rng, owners, theta = np.random.default_rng(4), np.zeros(count, dtype=np.int64), np.ones(2)
    points = np.tile(theta, (count, 1))
    exact = reply.gradients.gradient(owners[:1], points[:1])[0]
    drawn = reply.sample.gradient(owners, points, rng.random((count, reply.sample.size)))
    answers = reply.noise.add_noise(owners, drawn, reply.noise.rows(rng, count, 2))
    x, y = problem.records.features[0], problem.records.targets[0]
    singly = LinearRecords(list(x[:, None]), list(y[:, None]), 1.0, scenario.privacy.norm)
    each = singly.gradient(np.arange(3), np.ones((3, 2)))
    due = 0.6 / (0.4 * 9) * np.square(each).sum() + 2 * float(reply.noise.variance[0])
    apart = answers - exact
    assert np.all(np.abs(apart.mean(axis=0)) <= 4.5 * apart.std(axis=0) / count**0.5)
    square = np.square(apart).sum(axis=1)
    assert abs(square.mean() - due) <= 4.5 * square.std() / count**0.5


@BOTH
def test_noise_of_all_answers_spends_the_budget(settings):
    """A replaced record moves an answer, a sum over q n_i, by at most 2Ξ/(q n_i)."""
    q, delta = 0.4, 1e-5
    scenario = scene("three-records", f"privacy.sampling={q}", *settings)
    problem = prepare(scenario, build_dataset(scenario))
    count, n = int(problem.accountant.answers[0]), int(problem.task.objective.records[0])
    moved = 2 * problem.xi / (q * n) / float(problem.noise.scale[0])
    whole = count * amplified(moved, q)
    if len(settings) > 0:
        whole = together(((SampledGaussianPair(moved, q), count),), delta).epsilon(delta)
    assert whole == pytest.approx(float(problem.accountant.epsilon[0]), rel=1e-5)


@pytest.mark.parametrize("resend", ["same", "fresh"])
@BOTH
def test_live_learning_is_its_replay_and_no_budget_is_exceeded(resend, settings):
    """A repeat has the sample of what it repeats; a fresh answer has its own, and is charged."""
    chosen = ("privacy.sampling=0.4", f"channel.resend={resend}", "run.replicates=20", *settings)
    is_its_replay_within_a_budget_of_one("three-records", *chosen)


@pytest.mark.parametrize(("said", "settings"), table(__file__, "refused.toml")["samples"])
def test_what_there_is_no_proof_of_is_refused(settings, said):
    with pytest.raises(SpecError, match=said):
        scene("three-records", "privacy.sampling=0.4", *settings)


def test_figures_of_the_page():
    row = r"^\| ([\d.]+) \| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) times \|$"
    rows = rows_of("subsampling", row)
    assert len(rows) == 6
    for q, answers, full, sampled, larger in rows:
        count = int(answers.replace(",", ""))
        z = count**0.5 / mu_of(1.0, 1e-6)
        assert z == pytest.approx(float(full), rel=1e-3)
        over = 1 / charge_of(sampled_gaussian(float(q)), 1.0, 1e-6, count)
        assert over == pytest.approx(float(sampled), rel=1e-3)
        assert over / float(q) / z == pytest.approx(float(larger), abs=1e-3)
