"""The audit: bounds that ORACLES names, planted faults that it must catch, and sound scenarios."""

import time
from importlib import import_module

import numpy as np
import pytest

import asyncdp_sim.audits as audit_package
from asyncdp_sim.audits import audit, first_audit, whole_run
from asyncdp_sim.audits.check import Claim, attack
from asyncdp_sim.core.specification import parse
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.privacy import mechanisms as laplace
from asyncdp_sim.scenario import Scenario
from tests import scenes
from tests.tables import table

LEDGER = import_module("asyncdp_sim.privacy.guarantee")  # where the package has a function
pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle(
        "lower bounds on ε by attacks on a mechanism, a scenario, or a planted fault"
    ),
]

CONFIDENCE = 0.999
SCENES = table(__file__, "scene_of_audits.toml")
TABLE = SCENES["known"]


def scenario(**parts):
    """One owner of 20 records that answers once, at ε = 1."""
    fields = scenes.fields(**SCENES["scene"])
    fields["privacy"] |= parts.pop("privacy", {})
    return parse(Scenario, fields | parts)


def audited(given, *, answers=100, runs=1000, **how):
    return audit(given, answers=answers, runs=runs, confidence=CONFIDENCE, **how)


def whole(found):
    return found.checks[1].finding.epsilon


def one(found):
    return found.checks[0].finding.epsilon


def known(case):
    return scenario(data={"kind": "gaussian", "features": case["p"]}, privacy=case["privacy"])


def declared(bound, **privacy):
    return scenario(privacy={"sensitivity": {"kind": "declared", "bound": bound}, **privacy})


SOUND = table(__file__, "sound_audits.toml")
LOSSY = {part: SOUND["recomputed after losses"][part] for part in ("run", "channel")}
"""Beside Laplace and Gaussian noise, which test_audit_faults attacks by more answers."""


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_is_not_refuted(name):
    found = audited(scenario(**SOUND[name]), answers=20_000, runs=200)
    assert not found.exceeded, found.lines()
    assert one(found) > 0.4 * found.checks[0].claim.epsilon  # it does look


@pytest.mark.no_evidence
def test_a_declared_bound_that_records_exceed_is_refuted():
    assert whole(audited(declared(1.0), runs=400)) > 2.0


def test_a_declared_bound_that_holds_is_not():
    found = audited(declared(1000.0), runs=400)
    assert not found.exceeded
    assert whole(found) == pytest.approx(0.0, abs=0.2)  # far from what the bound would allow


UNCHARGED = [(400, 0.6), pytest.param(4000, 1.2, marks=pytest.mark.nightly)]
"""Runs, and what they must show by themselves of more than the ε = 1 that is claimed."""


@pytest.mark.no_evidence
@pytest.mark.parametrize(("runs", "least"), UNCHARGED)
def test_a_fresh_retransmission_that_is_not_charged_is_refuted(runs, least, monkeypatch):
    """Of up to ten answers to a query, each with noise of its own, one is charged."""
    channel = LOSSY["channel"] | {"loss": 0.85, "retransmissions": 9}
    budget = {"budget": {"kind": "per-owner-cap", "answers": 2}}
    data = {"kind": "gaussian", "features": 1}
    given = scenario(**LOSSY | {"channel": channel}, data=data, privacy=budget)
    # else the run is ended by its invariants
    monkeypatch.setattr(LEDGER, "_require_within", lambda *_: None)
    repeat, release = Learner.repeat, Learner.release
    again: set[int] = set()

    def noted(self, former):
        exchange = repeat(self, former)
        again.add(id(exchange))
        return exchange

    def free(self, exchange):
        if id(exchange) in again:
            again.remove(id(exchange))
            self.answers_left[exchange.owner] += 1
        release(self, exchange)

    monkeypatch.setattr(Learner, "repeat", noted)
    monkeypatch.setattr(Learner, "release", free)
    found = audited(given, runs=runs)
    print(f"{runs} runs: ε ≥ {whole(found):.3f}")
    assert found.facts[0].refutes
    assert "answers of owner 1 in a run: up to" in found.facts[0].describe()
    assert whole(found) > least


@pytest.mark.no_evidence
def test_a_public_row_of_an_owner_is_refuted():
    data = {
        "kind": "lending", "features": 2, "public_records": 500, "public_overlap": True,
        "preprocessing": "pca", "split": "shuffled",
    }  # fmt: skip
    owners = {"count": 1, "records": 2000}  # some are public: a longer one scales all the others
    found = audited(scenario(data=data, owners=owners), runs=400)
    assert whole(found) > 3.0
    assert "row" in found.pair


@pytest.mark.no_evidence
def test_scalar_noise_and_an_l2_bound_as_published_are_refuted():
    """The two published faults."""
    scalar, l2 = (
        one(audited(known(TABLE[f"{name} as published"]), answers=200_000, runs=100))
        for name in ("scalar", "L2")
    )
    assert scalar >= 9
    assert l2 > 2.0


def test_workers_never_change_what_is_found(monkeypatch):
    monkeypatch.setattr(whole_run, "_RUNS_PER_CALL", 4)  # runs that a worker is given at once
    assert audited(scenario(**LOSSY), runs=11, workers=2) == audited(scenario(**LOSSY), runs=11)


@pytest.mark.nightly
@pytest.mark.parametrize("name", TABLE)
def test_the_table_of_known_mechanisms(name, monkeypatch):
    case, right = TABLE[name], laplace.laplace_scale
    monkeypatch.setattr(laplace, "laplace_scale", lambda *given: right(*given) * case["share"])
    begun = time.perf_counter()
    least, most = case["between"]
    found = one(audited(known(case), answers=10**6, runs=100))
    print(f"{name}: ε ≥ {found:.4f} of [{least:g}, {most:g}], {time.perf_counter() - begun:.0f} s")
    assert least <= found <= most


def test_what_so_many_runs_cannot_show_is_said():
    """Told apart perfectly, 100 runs show less than 10: that is no support of the claim."""
    check = audited(declared(0.01, epsilon=10.0), runs=100).checks[1]
    assert not check.exceeded
    assert 0.9 * check.most < check.finding.epsilon <= check.most
    assert "too few runs" in check.describe()


def test_all_bounds_together_have_the_confidence(monkeypatch):
    """Each bound has its part of the doubt (Bonferroni), whatever their number."""
    doubts: list[float] = []

    def noting(right):
        def noted(*given, **more):
            doubts.append(given[-1])
            return right(*given, **more)

        return noted

    for name in ("audit_answer", "audit_run"):
        monkeypatch.setattr(audit_package, name, noting(getattr(audit_package, name)))
    assert not audited(scenario(), runs=20).exceeded
    assert sum(doubts) == pytest.approx(1 - CONFIDENCE)
    doubts.clear()
    assert len(audited(declared(1000.0), runs=20).checks) == len(doubts) == 2
    assert sum(doubts) == pytest.approx(1 - CONFIDENCE)


def test_shared_records_are_not_said_to_be_attacked():
    found = audited(scenario(**SOUND["shared records"]), runs=20)
    assert any("a record that 2 owners share is not attacked" in line for line in found.lines())


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta", "answers"),
    [("laplace", 1e-4, 0.3, 3), ("laplace", 1e-3, 1e-2, 3), ("gaussian", 0.1, 1e-3, 1000)],
)
def test_answers_that_cost_nothing_at_delta_are_not_refuted(mechanism, epsilon, delta, answers):
    """Nor a charge whose rounding is much of so small an ε."""
    budget = {"kind": "per-owner-cap", "answers": answers}
    privacy = {"mechanism": mechanism, "epsilon": epsilon, "delta": delta, "budget": budget}
    given = scenario(privacy={**privacy, "accountant": "pld"}, run={"updates": answers})
    found = first_audit(given, answers=2000, confidence=CONFIDENCE)
    assert found.checks[0].claim.epsilon == 0
    assert "not refuted" in found.lines()[0]


def test_a_gaussian_claim_about_events_that_are_not_gaussian_is_taken_as_it_stands():
    """Bernoulli(δ/3) against never is (0, δ)-private, whatever μ it would have as a Gaussian."""
    rng = np.random.default_rng(1)
    rare = {"answers": ((rng.random(20_000) < 0.03).astype(float), np.zeros(20_000))}
    assert attack(rare, Claim(1.0, 0.1), 0.001).epsilon == 0
    assert attack(rare, Claim(1.0, 0.1, gaussian=True), 0.001).epsilon > 1
    live = {"seed": 3, "updates": 1, "until": 2.0, "learning": "live", "target": 0.01}
    timed = scenario(run=live, privacy={"mechanism": "gaussian", "delta": 1e-5})
    assert not audited(timed, runs=100).checks[1].claim.gaussian
