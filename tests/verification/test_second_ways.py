"""Claims of audits and of colluders, in two ways, and records that several owners hold."""

from dataclasses import replace
from itertools import combinations
from math import exp

import numpy as np
import pytest

from asyncdp_sim.audits import claims, facts
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.facts import recomputed_fact
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy import Clip, Privacy
from asyncdp_sim.privacy.pairs import of_pure
from asyncdp_sim.runs.outcome import RunResult, owner_columns
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import manifest, run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.catalogue import entry
from asyncdp_sim.sentences.result import figures
from asyncdp_sim.trace import Trace
from tests import tables
from tests.one_in import one_in
from tests.reproducibility.runs import scenario

from .networks import scene

pytestmark = pytest.mark.no_evidence

# Claims of audits against observers, beside what these state: two ways to one number.


def simulated(name: str, *settings: str) -> tuple[Scenario, Trace]:
    scenario = scene(name, *settings)
    return scenario, simulate(scenario.network, Streams(1).within("replicate", 1))


TABLE = tables.table(__file__, "second_ways.toml")


@pytest.mark.parametrize("settings", TABLE["isotonic"])
def test_what_models_tell_is_the_same_by_an_isotonic_regression(settings):
    scenario, trace = simulated("last-model", *settings)
    listener = scenario.privacy.listener.listening(scenario)
    stated = listener.learned(scenario.accountant, [trace]).zcdp
    anew = claims.of_models(scenario, trace, owed(scenario))
    assert anew == pytest.approx(2 * stated[0], rel=1e-4)


@one_in(4, "settings", TABLE["nodes"])
def test_what_a_node_is_told_is_the_same_in_fractions(settings):
    scenario, trace = simulated("six-averaging", *settings)
    observer, multiplier = scenario.privacy.listener, scenario.accountant.multiplier
    squared = observer.squared(multiplier, trace)
    for owner, node in np.argwhere(~np.isnan(squared)).tolist():
        pool = {node + 1, *(observer.colluding or ())} - {owner + 1}
        anew = claims.of_view(trace, owed(scenario), pool, owner + 1)
        assert anew == pytest.approx(squared[owner, node], rel=1e-4, abs=1e-12)


def test_where_fractions_take_too_long_the_audit_says_so(monkeypatch):
    scenario, trace = simulated("six-averaging")
    monkeypatch.setattr(claims, "_MEETINGS", 3)
    assert claims.of_view(trace, owed(scenario), {1}, 2) is None
    fact = recomputed_fact("a view", 1.0, None)
    assert fact.describe() == (
        "a view: ε = 1 stated; a second computation takes too long here: not refuted"
    )
    assert recomputed_fact("a view", 1.0, 1.01).refutes
    assert not recomputed_fact("a view", 1.0, 0.5).refutes


# Attacks on one record that several owners hold, beside what is printed of attackers.
#
# Neighbours differ in one record of each of κ owners, whose gradients the record moves from one end
# of what the bound allows to the other. The attacker has all their answers, and scores them by the
# exact log-likelihood ratio.

RUNS = 500_000
F = 0.01
GAUSSIAN = {"privacy__mechanism": "gaussian", "privacy__delta": 1e-6}
COMPOSED = {"privacy__accountant": "pld", "privacy__delta": 1e-6}


def shared(answers: int, owners: int, **changes) -> RunResult:
    """Return a run of one feature, whose owners have so many answers, and share records."""
    return run(scenario(
        data={"kind": "gaussian", "features": 1, "condition": 1.0},
        privacy__epsilon=[1.0, 2.0, 3.0],
        privacy__sensitivity={"kind": "clip", "bound": 1.0},
        privacy__budget={"kind": "per-owner-cap", "answers": answers},
        privacy__overlap=owners, **changes,
    ))  # fmt: skip


def attack(found: RunResult, owners: tuple[int, ...], counts: list[int]) -> tuple[float, float]:
    """Return the true-positive rate at F, and the advantage, of the best test of a record."""
    noise, generator = found.problem.noise, np.random.default_rng(sum(owners) + 10 * len(owners))
    records = found.problem.task.objective.records
    gaussian = found.problem.accountant.multiplier is not None
    scores = np.zeros((2, RUNS))
    for owner in owners:
        move, scale = 2.0 / records[owner], float(noise.scale[owner])
        for _ in range(counts[owner]):
            for side, score in enumerate(scores):
                draw = generator.normal if gaussian else generator.laplace
                answer: Array = draw(scale=scale, size=RUNS) + side * move
                if gaussian:
                    score += (answer - move / 2) * move / scale**2
                else:
                    score += (np.abs(answer) - np.abs(answer - move)) / scale
    still, moved = np.round(scores, 9)
    apart = np.mean(moved > 0) - np.mean(still > 0)  # where the likelihood ratio is above 1
    threshold = np.quantile(still, 1 - F, method="higher")
    above, at = np.mean(still > threshold), np.mean(still == threshold)
    power = np.mean(moved > threshold) + (F - above) / at * np.mean(moved == threshold)
    return float(power), float(apart)


def beyond(power: float, bound: float) -> bool:
    """Return whether an attack is beyond a bound, by more than four standard errors.

    The curve's slope is e at most, for all that is spent on a record is ε = 1.
    """
    return power > bound + 4 * np.sqrt((bound + exp(2) * F) / RUNS)


@one_in(2, "owners", [2, 3])
@one_in(
    3,
    ("answers", "changes"),
    [(1, {}), (4, {}), (1, GAUSSIAN), (4, GAUSSIAN), (4, COMPOSED)],
    ids=["laplace", "four", "gaussian", "four gaussian", "composed"],
)
def test_a_record_that_several_owners_hold_is_detected_no_more_often_than_is_printed(
    answers, owners, changes
):
    found = shared(answers, owners, **changes)
    power, advantage = attack(found, tuple(range(owners)), [answers] * 3)
    summary, accountant = found.summary, found.problem.accountant
    assert not beyond(power, summary["attacker_power"])
    assert advantage <= summary["attacker_advantage"] + 4 / np.sqrt(RUNS)
    alone = float(accountant.attacker(accountant.answers).power.max())
    assert beyond(power, alone)  # what one owner's answers allow is too little
    said = dict(figures(manifest(found)))["an attacker"]
    assert f"that {owners} owners hold at most {100 * summary['attacker_power']:.3g} %" in said


@pytest.mark.long
@pytest.mark.parametrize("changes", [{}, GAUSSIAN, COMPOSED], ids=["laplace", "gaussian", "pld"])
def test_the_owners_table_is_of_a_record_that_others_hold_too(changes):
    found = shared(4, 2, **changes)
    charged = (found.problem, found.ledger, found.guarantee)
    table = owner_columns(*charged, found.traces, found.numbers)
    printed = table["attacker_power"][:3]  # of the first replicate
    counts = found.ledger.released[0].tolist()
    for pair in combinations(range(3), 2):
        power, _ = attack(found, pair, counts)
        assert not any(beyond(power, printed[owner]) for owner in pair)
    if not changes:  # ε adds up: that of the owner, and of the other one that spent most
        spent = found.ledger.spent[0]
        both = np.array([spent[owner] + max(np.delete(spent, owner)) for owner in range(3)])
        assert printed == pytest.approx(of_pure(both).power)


# Adding a record instead of replacing one: what moves, and what the noise gives away.

XI, K, EPSILON = 1.0, 5, 1.0
OWNER = np.zeros(1, dtype=np.int64)


def mean_gradient(x, y, theta):
    records = Ridge(regularisation=0.1).records([np.asfortranarray(x)], [y], XI, "l1")
    return records.gradient(OWNER, theta[None])[0]


def test_adding_a_record_moves_the_mean_by_less_than_replacing_one():
    """By at most 2Ξ/(n + 1), which is reached; replacing one moves it by 2Ξ/n."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 20):
        x, y = rng.standard_normal((n, 3)), 100 * rng.standard_normal(n)
        theta = rng.standard_normal(3)
        before = mean_gradient(x, y, theta)
        more = rng.standard_normal(3), 100 * rng.standard_normal()
        after = mean_gradient(np.vstack([x, more[0]]), np.append(y, more[1]), theta)
        assert np.abs(after - before).sum() <= 2 * XI / (n + 1) * (1 + 1e-12)
        alike, targets = np.tile(x[:1], (n + 1, 1)), np.append(np.full(n, 1e6), -1e6)
        reached = mean_gradient(alike, targets, theta)
        reached -= mean_gradient(alike[:n], targets[:n], theta)
        assert np.abs(reached).sum() == pytest.approx(2 * XI / (n + 1))


def noise_of(n):
    privacy = Privacy(epsilon=EPSILON, sensitivity=Clip(bound=XI))
    return privacy.noise_for(np.array([n]), K, XI, 2)


def test_noise_scaled_by_the_number_of_records_tells_it_beyond_every_epsilon():
    """The log-likelihood ratio of a far answer grows at ε/(2ΞK) a unit: without end."""
    gradient = np.full((1, 2), 0.1)
    far = [np.array([[size, 0.0]]) for size in (1e3, 1e4)]
    few, more = noise_of(20), noise_of(21)
    [ratios] = np.transpose([
        few.log_likelihood(OWNER, gradient, answer) - more.log_likelihood(OWNER, gradient, answer)
        for answer in far
    ])  # fmt: skip
    assert ratios[1] > ratios[0] > EPSILON
    assert (ratios[1] - ratios[0]) / 9e3 == pytest.approx(EPSILON / (2 * XI * K))


def test_the_number_of_records_is_estimated_from_the_noise_alone():
    """With a relative standard deviation of 1/√(Kp), by the mean of |w|."""
    rng, answers, repeats = np.random.default_rng(2), 50, 4000
    noise = noise_of(20)
    rows = noise.rows(rng, answers * repeats, 2).reshape(repeats, -1) * noise.scale[0]
    length = np.abs(rows).mean(axis=1)
    estimates, relative = 2 * XI * K / (EPSILON * length), length.std(ddof=1) / noise.scale[0]
    expected = 1 / np.sqrt(2 * answers)
    assert abs(relative / expected - 1) < 4 / np.sqrt(2 * repeats)
    assert np.median(estimates) == pytest.approx(20, rel=0.02)


def test_an_answer_that_is_no_number_is_not_its_gradient_and_noise(monkeypatch):
    """And one that is none where none is expected is right, as of models that diverge."""
    asked = entry("vary-availability").scenario().base()
    problem = prepare(asked, build_dataset(asked))
    assert not facts.same_noise_fact(asked, problem).refutes
    heard = facts.overhear

    def undefined(*given):
        view = heard(*given)
        answers = view.answers.copy()
        answers[3, 0] = np.nan
        return replace(view, answers=answers)

    monkeypatch.setattr(facts, "overhear", undefined)
    assert facts.same_noise_fact(asked, problem).refutes
