"""Oracle 24: what a ledger shows is releases × ε per answer, exactly, and never above ε."""

from fractions import Fraction
from functools import cache
from math import exp, factorial

import numpy as np
import pytest

from asyncdp_sim.network import Latency
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.privacy.accountants import Pure
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.trace import EventKind
from tests import scenes

from .networks import network, runs
from .zscores import flat, require_kinds, score, seen, shared

pytestmark = pytest.mark.oracle("ε in the ledger")

EPSILON = np.array([0.1, 1.0, 10 / 3])
SLOW = {"latency": Latency(answer=Exponential(mean=0.3)), "compute": Constant(value=0.1)}
CAP, TIME, OWNERS = 5, 6.0, 10


def delivered(trace):
    """Return what would be charged at delivery, by owner."""
    return np.bincount(trace.updates["owner"], minlength=trace.n_owners + 1)[1:]


def check(traces, allowed, charged=lambda trace: trace.released):
    """Recount the event log in integers and hold the ledger against exact rationals."""
    for trace in traces:
        sent = trace.events["owner"][trace.events["kind"] == EventKind.answer_released]
        count = np.bincount(sent, minlength=len(EPSILON) + 1)[1:].tolist()
        ledger = Pure(np.array(allowed), EPSILON, EPSILON).spent(charged(trace))
        for i, epsilon in enumerate(EPSILON.tolist()):
            exact = Fraction(count[i], allowed[i]) * Fraction(epsilon)
            assert exact <= Fraction(epsilon), f"owner {i + 1} released {count[i]} answers"
            assert to_the_last_bit(ledger[i], exact)
            assert ledger[i] <= epsilon
            assert (ledger[i] == epsilon) == (count[i] == allowed[i])


def to_the_last_bit(charged, exact):
    return abs(Fraction(float(charged)) - exact) <= exact * Fraction(1, 2**52)


@cache
def cut_short():
    """Return runs that a time limit ends, some with an answer on its way."""
    return list(runs(network(3, 1000, until=5.0, **SLOW), 1, 60, events=True))


def capped(*answers):
    """Return runs that end when every owner has released its last answer."""
    return list(runs(network(3, 1000, answers_allowed=answers, **SLOW), 1, 20, events=True))


def test_charges_are_exact_in_runs_cut_short():
    traces = cut_short()
    check(traces, (1000,) * 3)
    on_the_way = sum(bool(np.any(trace.released != delivered(trace))) for trace in traces)
    assert 5 <= on_the_way < len(traces)


def test_a_budget_is_spent_to_the_last_answer():
    for trace in capped(5, 1, 7):
        assert trace.released.tolist() == [5, 1, 7]
        spent = Pure(np.array([5, 1, 7]), EPSILON, EPSILON).spent(trace.released)
        assert spent.tolist() == EPSILON.tolist()


@pytest.mark.parametrize("allowed", [1, 3, 7, 10, 49, 1000])
def test_every_count_is_charged_to_the_last_bit(allowed):
    for epsilon in (0.1, 1.0, 2.5, 1 / 3, 1e-9, 7e5):
        count = np.arange(allowed + 1)
        budget = np.full(allowed + 1, epsilon)
        ledger = Pure(np.full(allowed + 1, allowed), budget, budget).spent(count)
        for c in count.tolist():
            assert to_the_last_bit(ledger[c], Fraction(c, allowed) * Fraction(epsilon))
        assert np.all(np.diff(ledger) > 0)
        assert ledger[0] == 0
        assert ledger[-1] == epsilon


def releases(allowed, count=600):
    """Return scores of releases by capped owners, min(Poisson(t), K), when nothing takes time."""
    terms = [exp(-TIME) * TIME**c / factorial(c) for c in range(CAP)]
    mean = CAP - sum((CAP - c) * term for c, term in enumerate(terms))
    net = network(OWNERS, 1000, until=TIME, answers_allowed=(allowed,) * OWNERS)
    rows = np.array([trace.released for trace in runs(net, 1, count)])
    return {
        "mean": [score("releases", rows.mean(axis=1), mean)],
        "tail": [score("budget spent", np.mean(rows >= CAP, axis=1), 1 - sum(terms))],
    }


sound = shared(releases)


def scores():
    """Return every score of a sound simulator."""
    return flat([sound(CAP)])


def test_capped_owners_release_min_poisson_k():
    require_kinds(sound(CAP))


MECHANISMS = {name: {"mechanism": name} for name in ("laplace", "gaussian", "discrete-laplace")}
MECHANISMS["gaussian"]["delta"] = 1e-6


def scenario(budget, **privacy):
    return scenes.scenario(
        run={"updates": 200, "replicates": 2, "until": 12.0},
        owners={"records": 20},
        channel={"kind": "ideal", "loss": 0.3, "retransmissions": 1, "resend": "fresh"},
        privacy={"epsilon": EPSILON.tolist(), "budget": budget, **privacy},
    )


EACH = pytest.mark.parametrize("privacy", MECHANISMS.values(), ids=MECHANISMS)


@EACH
def test_until_spent_with_answers_is_a_cap(privacy, tmp_path):
    """Table by table, byte for byte."""
    answers = [7, 4, 60]
    tables = []
    for kind in ("until-spent", "per-owner-cap"):
        write(run(scenario({"kind": kind, "answers": answers}, **privacy)), tmp_path / kind)
        files = (tmp_path / kind).glob("*.parquet")
        tables.append({path.stem: path.read_bytes() for path in files})
    assert {"owners", "updates", "curve", "models"} <= {*tables[0]}
    assert tables[0] == tables[1]


@EACH
def test_a_price_stops_an_owner_before_it_exceeds_its_budget(privacy):
    """ε = 0.1, 1 and 10/3 hold 1, 10 and 33 answers of 0.1 each, pure; of Gaussian ones more."""
    outcome = run(scenario({"kind": "until-spent", "per_answer": 0.1}, **privacy))
    allowed = outcome.problem.accountant.answers
    pure = "delta" not in privacy
    assert allowed.tolist() == [1, 10, 33] if pure else np.all(allowed[1:] > [10, 33])
    for trace in outcome.traces:
        assert np.all(trace.released <= allowed)
        assert trace.released[0] == allowed[0]
    assert outcome.summary["max_spent_ratio"] <= 1
    assert outcome.summary["private"]


@EACH
def test_what_a_shared_record_costs_is_reported(privacy):
    """Of two owners that hold one record; alone nothing is said of it."""
    budget = {"kind": "per-owner-cap", "answers": 5}
    summary = run(scenario(budget, overlap=2, **privacy)).summary
    assert summary["shared_record_epsilon"] == pytest.approx(EPSILON.min(), rel=1e-5)
    assert summary["shared_record_epsilon"] <= EPSILON.min() * (1 + 1e-12)
    assert summary["epsilon_true"] == pytest.approx(EPSILON.min(), rel=1e-5)
    assert summary["delta"] == privacy.get("delta", 0.0)
    assert "shared_record_epsilon" not in run(scenario(budget, **privacy)).summary


@pytest.mark.no_evidence
def test_charging_at_delivery_is_seen():
    with pytest.raises(AssertionError):
        check(cut_short(), (1000,) * 3, charged=delivered)


@pytest.mark.no_evidence
def test_one_release_too_many_is_seen():
    with pytest.raises(AssertionError, match="released 6 answers"):
        check(capped(6, 2, 8), (5, 1, 7))
    assert seen(releases(CAP + 1, 60)["mean"]) > 5
