"""Faults that the default audit refutes: noise used twice, and a wrong count of shares."""

from types import SimpleNamespace

import numpy as np
import pytest

from asyncdp_sim.audits import audit, facts, first_audit, whole_run
from asyncdp_sim.audits.claims import Owed, hiding, opened
from asyncdp_sim.audits.eavesdropper import View
from asyncdp_sim.privacy.mechanisms import Filtered, GaussianNoise, LaplaceNoise
from asyncdp_sim.privacy.observers.kind import AggregateObserver
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import load
from tests.verification.test_audit_faults import SCENE, SUMMED, plant
from tests.verification.test_correlated_noise import scenario as correlated

pytestmark = [pytest.mark.no_evidence]

COLLUDING = ('privacy.observer={kind="aggregate",dropouts=1,colluders=1}',)


def exceeded(scene, settings=(), answers=200_000):
    """Return what a default audit refutes, in words."""
    found = first_audit(load(scene, settings)[0], answers=answers, confidence=0.999)
    return [line for line in found.lines() if "EXCEEDED" in line or "REFUTED" in line]


def test_one_row_of_noise_for_several_answers(monkeypatch):
    """Found by attack: only --thorough saw it."""
    assert exceeded(SCENE) == []
    plant("one_row", monkeypatch)
    assert any("have the noise of another one, or none" in line for line in exceeded(SCENE))


def test_noise_that_is_the_same_in_every_answer_of_a_composed_budget(monkeypatch):
    """All answers speak for the first gradient, so that each seems to cost less than nothing."""
    monkeypatch.setattr(LaplaceNoise, "rows", lambda *given: np.full(given[2:], -5.0))
    composed = ("privacy.accountant=pld", "privacy.delta=1e-5")
    assert any("have the noise of another one" in line for line in exceeded(SCENE, composed, 100))


@pytest.mark.parametrize("settings", [(), COLLUDING], ids=["drop-outs", "colluders"])
def test_shares_are_counted_by_the_audit_itself(settings, monkeypatch):
    """Found by attack: the attack took its number of shares from the method that is attacked."""
    assert exceeded(SUMMED, settings) == []
    monkeypatch.setattr(AggregateObserver, "enough", lambda _, n_owners: n_owners)
    refuted = exceeded(SUMMED, settings)
    assert any(line.lstrip().startswith("one answer in a sum of owner ") for line in refuted)


def test_what_is_not_looked_at_is_said():
    of_three, of_sums = (
        first_audit(load(scene)[0], answers=1000, confidence=0.999).lines()
        for scene in (SCENE, SUMMED)
    )
    assert any("--thorough" in line and "not compared" in line for line in of_three)
    assert any(line.startswith("noise lies on a grid: not compared") for line in of_sums)


def test_an_attack_knows_what_drop_outs_and_colluders_leave_of_the_noise():
    scenario = load(SUMMED, COLLUDING)[0]
    assert opened(scenario) == (3, 1)
    noise = prepare(scenario, build_dataset(scenario)).noise
    ratio = hiding(scenario, noise).scale / noise.scale
    assert ratio.tolist() == pytest.approx([2**0.5] * 4)


def test_correlated_noise_that_is_repeated_each_round(monkeypatch):
    """Found by attack: each round has the noise of the first one."""
    right, kept = Filtered._round, {}

    def repeated(self, generator):
        if generator not in kept:
            kept[generator] = right(self, generator)
        return kept[generator].copy()

    def found():
        lines = first_audit(correlated(), answers=20_000, confidence=0.999).lines()
        return [line for line in lines if "ε = ∞" in line or "runs has noise of its own" in line]

    assert [line for line in found() if "ε = ∞" in line] == []
    assert any("answers of 4 runs has noise of its own" in line for line in found())
    monkeypatch.setattr(Filtered, "_round", repeated)
    assert any("have the noise of another one, or none" in line for line in found())


@pytest.mark.long
def test_audited_runs_of_sums_lack_as_many_shares_as_are_tolerated(monkeypatch):
    """Owners are always online here, so that no sum of a run is as small as one may be."""
    settings = ("availability={kind='always'}", "run.updates=1", "privacy.epsilon=2.0")
    scenario = load(SUMMED, settings)[0]

    def runs():
        checks = audit(scenario, answers=4, runs=1500, confidence=0.99).checks
        return [check.exceeded for check in checks if check.what.startswith("the whole run")]

    assert not any(runs())
    monkeypatch.setattr(AggregateObserver, "enough", lambda _, n_owners: n_owners)
    assert any(runs())


# Noise that grows with a clip bound: two answers of owner 1, the second with twice the first bound.

NOISE = GaussianNoise(np.array([0.5]))
TIMES = np.array([[1.0], [2.0]])
FIRST = np.array([[1.0, -2.0], [0.5, 3.0]])
SECOND = FIRST + np.array([[0.1, 0.2], [-0.3, 0.4]])


def under_a_moving_bound(answers) -> View:
    trace = SimpleNamespace(updates=np.array([(1,), (2,)], dtype=[("k", int)]))
    places, path = np.zeros(2, dtype=int), np.array([1.0, 2.0, 3.0])
    return View(places, places, FIRST, answers, 2, trace, FIRST[0], path=path)


def test_noise_that_is_used_again_is_seen_under_a_moving_clip_bound():
    view = under_a_moving_bound(SECOND + NOISE.scale * TIMES * np.array([[0.7, -1.1]]))
    [score] = facts.coincidence_scores(NOISE, 0, [view], FIRST, SECOND)
    assert score > 10


def test_likelihoods_of_answers_know_how_large_their_noise_is():
    [ratio] = whole_run._of_answers(NOISE, [under_a_moving_bound(SECOND)], FIRST, SECOND)
    assert ratio == pytest.approx(np.square((SECOND - FIRST) / (NOISE.scale * TIMES)).sum() / 2)


def test_answers_count_as_sent_however_often_they_were():
    view = under_a_moving_bound(FIRST)
    fields = [("owner", int), ("transmissions", int)]
    view.trace.exchanges = np.array([(1, 1), (1, 3), (2, 0), (2, 2)], dtype=fields)
    view.trace.n_owners, view.trace.answers_once = 2, False
    assert facts.charged_values_sent(view).tolist() == [2, 1]


def test_an_undercharge_is_said_of_the_answers_within_the_budget(monkeypatch):
    scenario, _ = load(SCENE)
    monkeypatch.setattr(facts, "charged_values_sent", lambda _: np.array([20]))
    ledger = SimpleNamespace(spent=np.array([[3.0]]))
    monkeypatch.setattr(facts.Ledger, "from_traces", lambda *_: ledger)
    claim = Owed(10, 1.0, 10.0, 0.0, gaussian=False)
    problem = prepare(scenario, build_dataset(scenario))
    worst = facts.largest_undercharge(problem, [claim], [under_a_moving_bound(FIRST)])
    assert facts.ledger_fact(scenario, worst).describe() == (
        "the ledger: owner 1 sent 10 answers within its budget, which cost ε = 10, "
        "and was charged 3: REFUTED"
    )
