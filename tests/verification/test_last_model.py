"""Central models and what they tell: closed forms, a second solver, and attacks on runs."""

from dataclasses import replace
from functools import cache, partial
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from scipy.special import ndtr
from scipy.stats import norm

from asyncdp_sim.audits.observers import audit_models
from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.accountants import gaussian_epsilon
from asyncdp_sim.privacy.observers import ModelObserver
from asyncdp_sim.privacy.observers.model import Descent, Rounds, _hidden, _minorant, in_rounds
from asyncdp_sim.privacy.pairs import mu_of
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from tests.tables import table
from tests.together import together

from . import networks
from .networks import replicates, rows_of

pytestmark = pytest.mark.oracle("ε of the last model of learning in rounds, for one record")

TIGHT = (
    "owners.records=20000", "privacy.epsilon=30.0", "model.theta_max=0.05",
    "privacy.sensitivity.target_max=2.0",
)  # fmt: skip
"""A small box and large targets: the pair pulls nearly as much as a record can."""
RUNS = 20_000


scene = partial(networks.scene, "last-model")


def one_round(scenario: Scenario) -> float:
    """Return what one round of all owners tells."""
    return float(1 / np.square(scenario.accountant.multiplier).sum())


def traced(scenario: Scenario, seed: int = 1) -> Any:
    return simulate(scenario.network, Streams(seed).within("replicate", 1))


def rounds_of(scenario: Scenario) -> Rounds:
    weights = Descent.from_scenario(scenario).weights
    return in_rounds(traced(scenario, scenario.run.seed), weights, scenario.accountant.multiplier)


# ε of one pair of datasets against the last model of a descent: below every true claim.
#
# All records are (0, 0) except one, which is (x, y) or (x, −y), ‖x‖ = R and |y| = y_max. The last
# model is then Gaussian with the same covariance for both, unless a projection acts. (1 + e^ε)
# times a bound on the probability of that is added to δ.

DOWN = 1 - 1e-5
"""Factor that makes a lower bound smaller, to cover rounding."""


def pull_of(scenario: Scenario) -> float | None:
    """2 y_max R/Ξ, the distance of two records with the same row and opposite targets.

    None unless the model is an unclipped ridge from 0, of which the pair is computed.
    """
    model, domain = scenario.model, scenario.privacy.sensitivity
    if not (model.quadratic and scenario.algorithm.initial == "zeros"):
        return None
    longest = model.longest(domain.row_norm, domain.rows or scenario.privacy.norm)
    return float(2 * domain.target_max * longest / scenario.xi)


def least(scenario: Scenario, rounds: Rounds, delta: float, most: Array) -> Array:
    """ε of the pair at δ, shape (N,), given the claimed ones."""
    descent, pull = Descent.from_scenario(scenario), pull_of(scenario)
    epsilons = np.zeros(len(descent.weights))
    for owner, claimed in enumerate(most.tolist()):
        apart, outside = pulled(scenario, pull, rounds, rounds.present[:, owner])
        lost = delta + (1 + exp(min(claimed, 700.0))) * outside
        if apart > 0 and lost < 1:
            epsilons[owner] = gaussian_epsilon(1 / apart, lost) * DOWN
    return epsilons


def pulled(scenario: Scenario, pull: float, rounds: Rounds, there: Bools) -> tuple[float, float]:
    """μ of the pair, the record being in these rounds, and P(a projection acts)."""
    if not there.any():
        return 0.0, 0.0
    descent, records = Descent.from_scenario(scenario), float(np.sum(scenario.trained_on))
    steps = descent.steps[rounds.numbers - 1]
    free = 1 - steps * descent.convexity
    kept = free - steps / rounds.share * descent.smoothness / records * there
    moved = steps / rounds.share * pull / 2 * there
    added = np.square(steps / rounds.share) * rounds.noise
    mean = variance = other = outside = 0.0
    for c, plain, step, more in zip(kept, free, moved, added, strict=True):
        mean, variance = c * mean + step, c * c * variance + more
        other = plain * plain * other + more
        outside += beyond(descent, abs(mean), variance)
        outside += (descent.numbers - 1) * beyond(descent, 0.0, other)
    return 2 * mean / sqrt(variance), outside


def beyond(descent: Descent, mean: float, variance: float) -> float:
    """A bound on the probability that a coordinate is outside Θ."""
    return float(2 * ndtr((mean - descent.box / descent.unit) / sqrt(variance)))


def observed(scenario: Scenario) -> tuple[Any, Any, Any]:
    """Return what all models tell, what the last one tells, and the least that it does."""
    accountant, trace = scenario.accountant, [traced(scenario)]
    every = ModelObserver().learned(accountant, trace)
    last = scenario.privacy.listener.listening(scenario).learned(accountant, trace)
    told = least(scenario, rounds_of(scenario), accountant.delta, last.most[0])
    return every, last, told


@pytest.mark.parametrize("updates", [1, 3, 40])
def test_equal_steps_give_the_closed_form(updates):
    """(1 − c^T)/(1 + c^T) · (1 + c)/(1 − c) rounds' worth, far from the bounds of Θ."""
    scenario = scene(f"run.updates={updates}", "model.theta_max=1e6")
    rounds, descent = rounds_of(scenario), Descent.from_scenario(scenario)
    c = 1 - 0.2 * 0.5
    assert descent.contractions(rounds) == pytest.approx(np.full(updates, c))
    worth = (1 - c**updates) / (1 + c**updates) * (1 + c) / (1 - c)
    due = np.full(3, worth * one_round(scenario))
    assert descent.squared(rounds) == pytest.approx(due, rel=1e-6)


def test_a_step_too_long_for_the_losses_contracts_nothing():
    """|1 − γ(σ + L)| beyond γ = 2/(2σ + L): 1.5 for γ = 1 on rows of length 1; all rounds count."""
    scenario = scene("algorithm.step=1.0")
    rounds, descent = rounds_of(scenario), Descent.from_scenario(scenario)
    assert descent.contractions(rounds) == pytest.approx(np.full(40, 1.5))
    assert descent.squared(rounds)[0] == pytest.approx(40 * one_round(scenario), rel=1e-6)


def test_a_small_box_hides_old_rounds():
    """Without contraction all rounds would count; with a diameter d a few do: (d + m)²/m."""
    best = min((4 + m) ** 2 / m for m in range(1, 1001))
    found = _hidden(np.ones(1000), np.ones(1000), np.full(1000, 4.0))
    assert best <= found <= 1.1 * best
    assert found < 1000


def solved(moved: np.ndarray, noise: np.ndarray) -> float:
    """The same by sequential quadratic programming."""
    every = np.tril(np.ones((len(moved), len(moved))))
    below = LinearConstraint(every[:-1], -np.inf, np.cumsum(moved)[:-1])
    end = LinearConstraint(every[-1:], moved.sum(), moved.sum())
    best = minimize(
        lambda a: float(np.sum(a * a / noise)), moved, constraints=[below, end],
        method="SLSQP", options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    return float(best.fun)


def test_the_minorant_is_what_a_general_solver_finds():
    """Least Σ a²/v with Σ a below Σ m all along and equal at the end, for uneven rounds."""
    rng = np.random.default_rng(1)
    for _ in range(6):
        moved, noise = rng.exponential(size=(2, 6))
        assert _minorant(moved, noise) == pytest.approx(solved(moved, noise), rel=1e-5)
    assert _minorant(np.ones(3), np.array([0.0, 0.0, 1.0])) == 9.0  # a later round hides all
    assert _minorant(np.ones(2), np.array([1.0, 0.0])) == np.inf  # none does


def test_who_is_in_a_round_is_read_off_the_trace():
    scenario = scene("protocol.deadline=0.7", "compute={kind='exponential', mean=0.4}")
    trace, shares = traced(scenario, 3), np.array([0.25, 0.25, 0.5])
    rounds = in_rounds(trace, shares, np.array([1.0, 2.0, 3.0]))
    used = set(zip(trace.updates["k"].tolist(), trace.updates["owner"].tolist(), strict=True))
    for at, k in enumerate(rounds.numbers.tolist()):
        there = [owner for owner in range(3) if (k, owner + 1) in used]
        assert np.flatnonzero(rounds.present[at]).tolist() == there
        assert rounds.noise[at] == sum((owner + 1) ** 2 for owner in there)
        assert rounds.share[at] == shares[there].sum()
    assert not rounds.present.all()
    found = Descent.from_scenario(scenario).squared(rounds)
    assert found.shape == (3,)
    assert np.all(found <= (rounds.present / rounds.noise[:, None]).sum(axis=0) * (1 + 1e-8))


@cache
def ends(planted: bool, *settings: str) -> np.ndarray:
    """Last models, along the first axis, of runs on one of the pair's datasets."""
    scenario = scene(*TIGHT, *settings)
    problem = prepare(scenario, build_dataset(scenario))
    x, y = np.zeros((3, 20_000, 2)), np.zeros((3, 20_000))
    x[0, 0, 0], y[0, 0] = 1.0, -2.0 if planted else 2.0
    objective = Quadratic.from_records([*x], [*y], scenario.model.sigma, scenario.model.theta_max)
    reply, traces, found = AnswerModel(objective, problem.noise), [traced(scenario)] * 5000, []
    for first in range(0, RUNS, 5000):
        scopes = replicates(7 + planted, 5000, first)
        path = replay(traces, problem.task.steps, reply, scopes, scenario.run.updates)
        found.append(path.final[:, 0])
    return np.concatenate(found)


def shown(*settings: str) -> tuple[float, float]:
    """Return μ that an attack on last models shows, at the threshold 0, and its standard error."""
    one, other = ends(False, *settings), ends(True, *settings)
    right = (np.mean(one > 0) + np.mean(other <= 0)) / 2
    error = (right * (1 - right) / (2 * RUNS)) ** 0.5
    mu = 2 * norm.ppf(right)
    return float(mu), float(2 * error / norm.pdf(mu / 2))


@pytest.mark.long
@pytest.mark.parametrize(
    "settings", [(), ("algorithm.exponent=0.6", "algorithm.step=1.0")], ids=["equal", "falling"]
)
def test_an_attack_shows_what_the_pair_tells_and_never_more_than_is_claimed(settings):
    scenario = scene(*TIGHT, *settings)
    rounds, descent = rounds_of(scenario), Descent.from_scenario(scenario)
    (mu, error), pull = shown(*settings), pull_of(scenario)
    told = pulled(scenario, pull, rounds, rounds.present[:, 0])[0]
    most = float(descent.squared(rounds)[0]) ** 0.5
    assert scenario.algorithm.kind == "parameter-server"
    assert abs(mu - told) <= 4 * error
    assert mu <= most + 4 * error
    assert told > 0.9 * most  # a fault of a tenth is caught


@pytest.fixture
def contracted(monkeypatch):
    """Planted: c² in the place of c, as if a round were two."""
    true = Descent.contractions
    monkeypatch.setattr(Descent, "contractions", lambda *given: true(*given) ** 2)


@pytest.mark.long
@pytest.mark.usefixtures("contracted")
def test_steps_taken_to_contract_more_than_they_do_are_caught():
    scenario = scene(*TIGHT)
    descent, rounds = Descent.from_scenario(scenario), rounds_of(scenario)
    claimed = float(descent.squared(rounds)[0]) ** 0.5
    mu, error = shown()
    assert mu > claimed + 8 * error


@pytest.mark.long
def test_noise_of_others_is_counted_once():
    """Planted: all rounds' noise of an owner that answers in none of them."""
    scenario = scene(*TIGHT)
    rounds = rounds_of(scenario)
    more = replace(rounds, noise=rounds.noise * 4 / 3)
    mu, error = shown()
    assert mu > float(Descent.from_scenario(scenario).squared(more)[0]) ** 0.5 + 4 * error


def test_least_is_below_most_and_most_below_what_others_hear():
    for settings in ((), TIGHT, ("algorithm.exponent=0.5",), ("model.theta_max=0.01",)):
        scenario = scene(*settings)
        accountant, (every, last, told) = scenario.accountant, observed(scenario)
        assert np.all(told <= last.most[0])
        assert np.all(last.most <= every.most)
        assert np.all(every.most < accountant.spent(traced(scenario).released))
        mu = mu_of(float(accountant.epsilon[0]), accountant.delta)
        one_of_three = gaussian_epsilon(3**0.5 / mu, accountant.delta)
        assert every.most[0] == pytest.approx(one_of_three, rel=1e-4)
        assert accountant.multiplier.shape == (3,)


def test_where_a_projection_may_act_less_is_said():
    """In a box that noise fills, the pair's models are not Gaussian, and tell nothing for sure."""
    wide, narrow = (scene("owners.records=20000", f"model.theta_max={box}") for box in (2.0, 1e-3))
    assert np.all(least(wide, rounds_of(wide), 1e-5, np.full(3, 2.0)) > 0)
    assert np.all(least(narrow, rounds_of(narrow), 1e-5, np.full(3, 2.0)) == 0)
    assert pull_of(scene("algorithm.initial=ones")) is None


def test_a_run_states_what_the_last_model_tells():
    outcome = run(scene())
    assert outcome.summary["private"] is True
    assert outcome.summary["epsilon_true"] == outcome.ledger.spent.max() < 1.0
    assert run(scene("privacy.observer.sees=all")).summary["epsilon_true"] > 1.0


@pytest.mark.long
def test_a_run_without_a_round_tells_nothing():
    none = scene("channel={kind='aloha', airtime=1.0}", "run.until=0.5")
    outcome = run(none)
    assert outcome.summary["updates"] == 0
    assert not outcome.ledger.spent.any()
    assert audit_models(none, 1e-3)[0].finding.epsilon == 0


@together
@pytest.mark.parametrize(("said", "settings"), table(__file__, "refused.toml")["last_model"])
def test_what_is_not_proven_is_refused_by_name(said: str, settings: list[str]) -> None:
    with pytest.raises(SpecError, match=said):
        scene(*settings)


def test_figures_of_the_page():
    rows = rows_of("last-model", r"^\| (\d+)" + r" \| ([\d.]+)" * 4 + r" \|$")
    assert len(rows) == 6
    for updates, sigma, every, last, pair in rows:
        changed = f"run.updates={updates}", f"model.regularisation={sigma}"
        of_all, of_last, lowest = observed(scene("owners.records=2000", *changed))
        assert of_all.most[0, 0] == pytest.approx(float(every), rel=1e-3)
        assert of_last.most[0] == pytest.approx(np.full(3, float(last)), rel=1e-3)
        assert lowest == pytest.approx(np.full(3, float(pair)), rel=1e-3)


FEW = ("owners.records=2000", *TIGHT[1:])
"""Owners of few records, in a small box."""


@pytest.mark.long
def test_the_audit_of_models_shows_much_of_what_is_claimed_and_no_more():
    check, fact = audit_models(scene(*FEW), 1e-3)
    assert 0.7 * check.claim.epsilon < check.finding.epsilon <= check.claim.epsilon
    assert check.describe().startswith("the last model of owner 1: measured ε ≥ ")
    assert "not exceeded" in check.describe()
    assert "not refuted" in fact.describe()


@pytest.mark.long
@pytest.mark.usefixtures("contracted")
def test_the_audit_catches_steps_taken_to_contract_more_than_they_do():
    check, fact = audit_models(scene(*FEW), 1e-3)
    assert check.finding.epsilon <= check.claim.epsilon
    assert "computed by a second method: REFUTED" in fact.describe()


@pytest.mark.long
def test_models_are_attacked_where_no_best_one_is_found(monkeypatch):
    """Nobody judges models that are learned from made-up records."""
    monkeypatch.setattr("asyncdp_sim.learning.objectives.mlp.PROMISED", 0.0)
    scenario = scene(
        'model={kind="mlp",regularisation=0.1,theta_max=10.0,hidden=2}', "run.updates=2",
        "privacy.observer.sees=all", "algorithm.initial=uniform", "owners.records=5",
        'privacy.sensitivity={kind="clip",bound=1.0}',
    )  # fmt: skip
    with pytest.raises(DataError, match="is found to"):
        prepare(scenario, build_dataset(scenario))
    check, fact = audit_models(scenario, 1e-3)
    assert not check.exceeded
    assert not fact.refutes
