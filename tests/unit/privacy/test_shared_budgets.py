"""Budgets: answers as asked, participation, shared records, copies of the algorithm."""

import tomllib
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from analysis.exact.assumptions import out_of_order
from asyncdp_sim.audits import audit, claims
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.forecasts.forecast import applying
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.privacy import Ledger, Privacy
from asyncdp_sim.privacy.accountants import gradients_of
from asyncdp_sim.runs.outcome import ready
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import manifest, run, run_together
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.theory.predict.all import predict, predicted
from asyncdp_sim.theory.prediction import Unknown
from tests.cli.scenes import SMALL
from tests.tables import table
from tests.together import together
from tests.whole_owners import WHOLE_OWNERS

# Budgets of as many answers as the learner asks for: K_i follow p_i, T and the tasks.

BASE = table(__file__, "scenes.toml")["as-asked"]
CHANCES = BASE["protocol"]["probabilities"]
COMPOSED = {"accountant": "pld", "delta": 1e-5}


def scene(**parts: object) -> Scenario:
    return parse(Scenario, {**BASE, **parts})


def test_answers_are_the_fewest_with_which_silence_is_rare():
    """All 63 tasks that are handed out count: T and the three that a run leaves open."""
    for allowed, chance in zip(scene().network.answers_allowed, CHANCES, strict=True):
        early = [3 * binom.sf(k - 1, 62, chance) for k in (allowed - 1, allowed)]
        assert early[0] > 1e-3 >= early[1]


def test_noise_is_for_so_many_answers_and_the_budget_is_kept():
    found = scene()
    allowed = np.array(found.network.answers_allowed)
    scale = found.noise_for(np.full(3, 100)).scale
    assert scale == pytest.approx(scale[0] / allowed[0] * allowed)
    done = run(found)
    assert done.summary["private"] is True
    assert max(trace.released.max() for trace in done.traces) <= allowed.max()


def test_buffers_take_as_many_answers_as_they_hold():
    three = {"kind": "fedbuff", "step": 0.1, "server_step": 1.0, "buffer": 3}
    longer = scene(algorithm=three).network.answers_allowed
    assert longer == scene(run={"seed": 1, "updates": 180}).network.answers_allowed


TABLE = table(__file__, "shared_budgets.toml")
COUNTED = [
    *product(({}, {"mechanism": "gaussian", "delta": 1e-5}), (1, 2, 60, 2000)),
    *product((COMPOSED,), (1, 2)),
    *(pytest.param(COMPOSED, updates, marks=pytest.mark.long) for updates in (60, 2000)),
]


@pytest.mark.parametrize("local_steps", [1, 3])
@pytest.mark.parametrize("buffer", [1, 2])
@pytest.mark.parametrize("tasks", [1, 4])
@pytest.mark.parametrize(("privacy", "updates"), COUNTED)
def test_the_audit_claims_as_many_answers_on_its_own(privacy, updates, tasks, buffer, local_steps):
    algorithm = {"buffer": buffer, "local_steps": local_steps}
    found = scene().replace(
        run={"updates": updates}, protocol={"tasks": tasks}, algorithm=algorithm, privacy=privacy
    )
    accountant, _ = gradients_of(found.accountant)
    owed = claims.owed(found)
    assert [each.answers for each in owed] == accountant.answers.tolist()
    charged = accountant.spent(accountant.answers).tolist()
    for claim, spent in zip(owed, charged, strict=True):
        due = claim.cost(claim.answers)
        assert due * (1 - max(claim.slack, 3e-6)) <= spent <= due * 1.01


@pytest.mark.long
def test_the_audit_does_not_take_updates_for_answers(monkeypatch):
    found = scene(run={"seed": 1, "updates": 1, "until": 30.0})
    assert not audit(found, answers=1000, runs=20, confidence=0.999).exceeded
    monkeypatch.setattr(claims, "_as_asked", lambda scenario, _: scenario.run.updates)
    assert audit(found, answers=1000, runs=20, confidence=0.999).exceeded


# Participation: what it makes of budgets, what it is refused with, and what is said of it.

ONE = {"kind": "rounds", "owners": 1}
SLOW = {"kind": "exponential", "mean": 0.5}
GOSSIP = {"algorithm": {"kind": "async-gossip", "rho": 1.0}, "protocol": {"kind": "request"}}


def made(rule: dict[str, Any] | None = None, **changed: Any) -> Scenario:
    """Return a scenario of three owners with a rule; of ``changed``, privacy's are added."""
    privacy = {**WHOLE_OWNERS["privacy"], **changed.pop("privacy", {}), "participation": rule}
    return parse(Scenario, {**WHOLE_OWNERS, **changed, "privacy": privacy})


@pytest.mark.parametrize(("budget", "answers"), TABLE["answers"])
def test_a_budget_is_for_no_more_answers_than_an_owner_may_give(budget, answers):
    """An audit works them out too, of pure answers composed by losses as well."""
    for privacy in ({}, {"mechanism": "laplace", "accountant": "pld"}):
        scenario = made({"most": 3}, privacy={"budget": budget, **privacy})
        assert list(scenario.network.answers_allowed) == answers
        assert [claim.answers for claim in claims.owed(scenario)] == answers


def test_a_rest_alone_limits_no_budget():
    assert made({"apart": 1}).network.answers_allowed == (8, 8, 8)


@pytest.mark.parametrize("budget", ["horizon", {"kind": "scheduled", "answers": 8, "power": 1.0}])
def test_few_answers_have_the_noise_of_a_cap_and_spend_it(budget):
    cap = {"kind": "per-owner-cap", "answers": 3}
    capped = {"kind": "scheduled", "answers": 3, "power": 1.0}
    same = made(privacy={"budget": cap if budget == "horizon" else capped})
    few = made({"most": 3}, privacy={"budget": budget})
    records = np.array([10, 20, 40])
    assert few.noise_for(records).scale.tolist() == same.noise_for(records).scale.tolist()
    ledger = run(few).ledger
    assert set(ledger.released.ravel().tolist()) == {3}
    assert ledger.spent == pytest.approx(2.0)


def test_rounds_draw_owners_that_are_due():
    for trace in run(made({"apart": 3}, protocol=ONE)).traces:
        order = trace.updates["owner"].tolist()
        assert all(len(set(order[k : k + 3])) == 3 for k in range(6))


REFUSED = table(__file__, "refused.toml")["refused"]
SCENES = table(__file__, "scenes.toml") | {"whole-owners": WHOLE_OWNERS}


@together
@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_by_its_name(case):
    base = SCENES[case.get("scene", "whole-owners")]
    privacy = base["privacy"] | case.get("privacy", {})
    with pytest.raises(SpecError) as refusal:
        parse(Scenario, {**base, **case.get("changed", {}), "privacy": privacy})
    assert case.get("said", "") in str(refusal.value)
    if "key" in case:
        assert [fault.key for fault in refusal.value.faults] == [case["key"]]


def test_a_fresh_answer_is_none_where_nothing_is_sent_again():
    assert made({"apart": 1}, channel={"kind": "ideal", "resend": "fresh"}).apart == 1


def test_noise_for_answers_that_cannot_follow_is_told():
    more = made({"apart": 3}, protocol=ONE)
    [line] = [line for line in map(str, describe(more)) if "have room" in line]
    assert line == (
        "the noise is for 8 answers of an owner, and 8 updates have room for 3: with "
        "privacy.participation.most = 3 it is smaller"
    )
    fits = made({"apart": 3, "most": 3}, protocol=ONE)
    assert not any("have room" in str(line) for line in describe(fits))


def doubts(scenario: Scenario) -> list[str]:
    """Return the reasons for the predictions that are not made."""
    return [prediction.reason for prediction in predict(scenario.network)]


def test_no_formula_is_taken_for_true_where_owners_rest():
    resting, free = made({"apart": 2}, **GOSSIP), made(**GOSSIP)
    assert any(reason == "" for reason in doubts(free))
    why = "no formula is known for answers of an owner that are at least 2 updates apart"
    assert set(doubts(resting)) == {why}
    assert out_of_order(free) == []
    assert why in out_of_order(resting)


@pytest.mark.parametrize(("rule", "owners", "throughput"), TABLE["rounds"])
def test_rounds_of_some_owners_last_as_the_slowest_of_them(rule, owners, throughput):
    protocol = {"kind": "rounds", "owners": owners}
    network = made(None if rule == "null" else rule, protocol=protocol, compute=SLOW).network
    found = predicted(network, "throughput")
    if throughput == "unknown":
        assert isinstance(found, Unknown)
    else:
        assert found == pytest.approx(throughput)


def test_rounds_of_some_owners_have_no_exact_moments():
    some = made({"apart": 3}, protocol=ONE, compute=SLOW)
    assert out_of_order(some) == ["each round is of 1 of 3 owners, drawn at random"]
    assert out_of_order(made(compute=SLOW)) == []


def test_observers_are_compared_by_the_noise_of_rounds_as_they_are():
    """A sum of one answer has the noise of one answer, and its three parts are 1/√3 of it."""
    for asked in (1, 3):
        of = made({"most": 8}, protocol={"kind": "rounds", "owners": asked},
                  privacy={"observer": "model"}, owners={"count": 3, "records": 20})  # fmt: skip
        seen_whole = made({"most": 8}, protocol={"kind": "rounds", "owners": asked},
                          owners={"count": 3, "records": 20})  # fmt: skip
        records = np.full(3, 20)
        ratio = of.noise_for(records).scale / seen_whole.noise_for(records).scale
        assert of.privacy.listener.share_of_noise(3, asked) == pytest.approx(ratio)


def test_correlated_noise_is_compared_with_no_observer_of_answers():
    correlated = {"observer": "model", "correlation": {"bands": 2}}
    of = made({"most": 4, "apart": 2}, protocol=ONE, privacy=correlated)
    plain = made({"most": 4, "apart": 2}, protocol=ONE, privacy={"observer": "model"})
    assert [each.learner_adds_noise for each in applying(of)] == [True]
    assert len(applying(plain)) == 2


# Owners that may share a record split what it may cost, under an accountant too.


def scales(mechanism: str, **privacy: Any) -> Array:
    raw = tomllib.loads(SMALL)
    raw["privacy"] |= {"mechanism": mechanism, "accountant": {"kind": "pld"}, **privacy}
    return parse(Scenario, raw).noise_for(np.full(3, 20)).scale


def test_laplace_noise_of_owners_that_share_is_that_of_a_part_of_the_budget():
    together = scales("laplace", epsilon=1.0, delta=1e-4, overlap=2)
    assert together == pytest.approx(scales("laplace", epsilon=0.5, delta=5e-5), rel=1e-9)
    assert together[0] > scales("laplace", epsilon=0.5, delta=1e-4)[0] * 1.001


def test_gaussian_noise_of_owners_that_share_is_of_as_many_more_answers():
    """μ composes as the square root of the number of answers, of all that have the record."""
    together = scales("gaussian", epsilon=1.0, delta=1e-4, overlap=2)
    alone = scales("gaussian", epsilon=1.0, delta=1e-4)
    assert together == pytest.approx(2**0.5 * alone, rel=1e-6)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("accountant", [None, {"kind": "pld"}])
def test_owners_that_share_a_record_never_spend_more_than_the_budget(mechanism, accountant):
    """Also where δ alone nearly suffices: of a part that is (0, δ) no noise follows."""
    made_of = []
    for epsilon, delta, kappa in product((1e-5, 1e-3, 1.0), (1e-9, 1e-3, 0.1), (2, 3)):
        raw = tomllib.loads(SMALL)
        raw["privacy"] |= {"mechanism": mechanism, "accountant": accountant}
        raw["privacy"] |= {"epsilon": epsilon, "delta": delta, "overlap": kappa}
        try:
            costs = parse(Scenario, raw).accountant
        except SpecError as error:
            assert [fault.key for fault in error.faults] == ["privacy.overlap"]  # noqa: PT017
            assert mechanism == "gaussian"
        else:
            assert costs.together(costs.answers, kappa) <= epsilon * (1 + 1e-9)
            made_of.append(epsilon)
    assert {1e-3, 1.0} <= set(made_of)


# N copies of the algorithm, each owner the learner of one: what each may spend, and its noise.

N = 3
EXACT = "exact-as-published"
COPIES = SCENES["copies"]
BUDGETS = COPIES["privacy"]["epsilon"]
ALGORITHMS = TABLE["algorithms"]
EACH = pytest.mark.parametrize("protocol", ALGORITHMS)


def scenario(protocol="rounds", learner=None, epsilon=BUDGETS, **more):
    """Return a copy, or without a learner a run of its own."""
    privacy = COPIES["privacy"] | {"epsilon": epsilon}
    privacy |= {} if learner is None else {"learner": learner}
    run = COPIES["run"] | more.pop("run", {})
    parts = {"protocol": {"kind": protocol}, "algorithm": ALGORITHMS[protocol]}
    return parse(Scenario, {**COPIES, **parts, "run": run, "privacy": privacy | more})


def copies(protocol="rounds", own="noised"):
    return [scenario(protocol, {"owner": j, "own": own}) for j in range(1, N + 1)]


@EACH
@pytest.mark.parametrize("own", ["noised", "exact-as-published"])
def test_a_copy_is_a_run_of_its_own_with_a_part_of_every_budget(protocol, own):
    """To the bit, once it is given the copy's noise: nothing else tells a copy from a run."""
    parts = N if own == "noised" else N - 1
    for j, each in enumerate(copies(protocol, own), start=1):
        found = run(each)
        part = [float(Fraction(str(e)) / parts) for e in BUDGETS]
        if own != "noised":
            part[j - 1] = float("inf")
        alone = scenario(protocol, epsilon=part)
        task = prepare(alone, build_dataset(alone)).task
        scopes = [Streams(1).within("replicate", r) for r in (1, 2)]
        reply = replace(task.reply, copy=j)
        assert np.array_equal(reply.noise.scale, found.problem.task.reply.noise.scale)
        path = replay(found.traces, task.steps, reply, scopes, 1, task.asks)
        assert np.array_equal(path.final, found.learned.models)
        assert not np.array_equal(run(alone).learned.models, found.learned.models)


@EACH
@pytest.mark.parametrize("own", ["noised", "exact-as-published"])
def test_what_all_copies_spend_is_the_budget(protocol, own):
    """Σ over copies of what owner i's finite answers cost is at most ε_i; all of it in rounds."""
    spent = []
    for each in copies(protocol, own):
        found = run(each)
        spent.append(Ledger.from_traces(found.problem.accountant, found.traces).spent)
        assert np.isinf(spent[-1]).any() == (own != "noised")
    spent = np.where(np.isfinite(spent), spent, 0.0)
    total = spent.sum(axis=0)
    assert np.all(total <= np.array(BUDGETS) * (1 + 1e-12))
    if protocol == "rounds":
        assert total == pytest.approx(np.tile(BUDGETS, (2, 1)), rel=1e-12)


def answers(cells):
    """Return the final models of cells that learn together over one trace."""
    first = run(cells[0])
    problems = [ready(each, build_dataset(each)) for each in cells]
    return [each.learned.models for each in run_together(problems, first.traces)]


@EACH
def test_copies_learn_together_as_alone_and_live_as_over_a_trace(protocol):
    together = answers(copies(protocol))
    for j, models in enumerate(together, start=1):
        assert np.array_equal(models, run(scenario(protocol, {"owner": j})).learned.models)
        live = scenario(protocol, {"owner": j}, run={"learning": "live"})
        assert np.array_equal(models, run(live).learned.models)


@EACH
def test_copies_that_share_noise_are_seen(protocol, monkeypatch):
    """The planted bug: in rounds, copies with one noise are one model, copied."""
    apart = answers(copies(protocol))
    assert all(not np.array_equal(apart[0], other) for other in apart[1:])
    monkeypatch.setattr(Privacy, "copy_number", property(lambda _: 0))
    shared = answers(copies(protocol))
    assert all(np.array_equal(shared[0], other) for other in shared[1:])


def test_noise_of_copies_is_independent():
    """Of 3 copies, 6,000 numbers each: no correlation beyond chance, and none alike."""
    reply = prepare(copies()[0], build_dataset(copies()[0])).task.reply
    rows = []
    for j in range(N + 1):  # 0: the run without copies
        [source] = replace(reply, copy=j).noise_of([Streams(1).within("replicate", 1)])
        rows.append(reply.noise.rows(source, 3000, 2).ravel())
    assert np.abs(np.corrcoef(rows)[np.triu_indices(N + 1, 1)]).max() < 4 / 6000**0.5


@pytest.mark.long
def test_the_audit_holds_a_copy_to_its_part():
    """Of 7 for three copies a copy claims 7/3, and a sixth of that for each of six answers."""
    found = audit(copies()[1], answers=100, runs=8, confidence=0.99)
    told = [check.describe() for check in found.checks]
    assert "of owner 3:" in told[0]
    assert f"stated {7 / 18:.3g}: " in told[0]
    assert f"stated {7 / 3:.3g}: " in told[1]
    assert not found.exceeded, found.lines()
    assert not audit(copies(own=EXACT)[1], answers=100, runs=8, confidence=0.99).exceeded
    with pytest.raises(SpecError, match="claims a finite ε"):
        audit(scenario(epsilon=float("inf")), answers=100, runs=8, confidence=0.99)


def test_what_is_said_of_a_copy():
    private, exact = (manifest(run(copies(own=own)[1])) for own in ("noised", "exact-as-published"))
    said = label([private])
    assert said.private
    assert said.text.startswith(
        "Private as claimed: ε = 0.1 to 2.33 per owner over the run (a copy's part of it: copies "
        "add up), pure ε-DP, Laplace noise"
    )
    assert private["summary"]["epsilon_true"] == pytest.approx(7 / 3)
    assert not label([exact]).private
    assert "where it plays the learner itself" in " ".join(exact["warnings"])
