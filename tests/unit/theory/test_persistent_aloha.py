"""Persistent slotted ALOHA against a loop over slots, owner by owner, and where it is known."""

import math

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.theory.formulas.channels.aloha import slotted_aloha
from asyncdp_sim.theory.formulas.channels.persistent_aloha import persistent_aloha
from tests.together import together
from tests.verification.zscores import require, score, seen

RUNS, WARM, SLOTS = 400, 200, 1000
CASES = {
    "two": (2, 0.5, 1.0, 0.4, None, True),
    "few": (5, 0.2, 0.5, 0.3, 0.3, True),
    "many": (20, 0.02, 1.0, 0.05, None, True),
    "lossy": (6, 0.3, 1.0, 0.5, None, False),
    "lossy and short": (4, 0.4, 2.0, 0.7, 0.5, False),
}
"""N, λ, τ, s, airtime, whether answers that collided are sent again."""


def simulated(name, seed=51, deferral="each slot"):
    """Return per-slot sums of each run, and what each successful answer saw.

    ``deferral`` is how a waiting owner sends: drawn in each slot, or only for repeats (a bug).
    """
    owners, rate, slot, share, airtime, resends = CASES[name]
    airtime = slot if airtime is None else airtime
    draw = np.random.default_rng(seed)
    ready = draw.exponential(1 / rate, (RUNS, owners))
    fresh = np.ones((RUNS, owners), dtype=bool)
    sums, answers = np.zeros((RUNS, 5)), []
    for number in range(WARM + SLOTS):
        waits = ready <= number * slot
        sends = waits & (draw.random((RUNS, owners)) < share)
        if deferral == "repeats only":
            sends |= waits & fresh
        alone = sends & (sends.sum(axis=1) == 1)[:, None]
        done = alone if resends else sends
        end = number * slot + airtime
        if number >= WARM:
            spent = np.where(done, end - ready, 0.0).sum(axis=1)
            each = [alone, sends, waits, done]
            sums += np.stack([*(kind.sum(axis=1) for kind in each), spent], axis=1)
        runs, who = np.nonzero(alone)
        answers.append(np.stack([runs, ready[runs, who], np.full(len(runs), end)], axis=1))
        ready = np.where(done, end + draw.exponential(1 / rate, ready.shape), ready)
        fresh = np.where(done, True, fresh & ~sends)
    return sums, np.concatenate(answers)


def staleness(answers):
    """Return each run's mean number of updates between a tick and the use of its answer."""
    means = []
    for run in range(RUNS):
        _, read, used = answers[answers[:, 0] == run].T
        before = np.searchsorted(used, read, side="right")
        means.append((np.arange(len(used)) - before)[used > WARM * CASES["two"][2]].mean())
    return np.array(means)


def measure(name, **how):
    owners, rate, slot, share, airtime, resends = CASES[name]
    theory = persistent_aloha(owners, rate, slot, share, airtime, resends=resends)
    sums, answers = simulated(name, **how)
    survive, sent, waiting, done, spent = sums.T / SLOTS
    success, load = theory.access.success_rate * slot, theory.access.attempt_rate * slot
    mean_waiting = float(theory.waiting @ np.arange(owners + 1))
    found = [
        score("surviving", survive, success),
        score("sent", sent, load),
        score("waiting", waiting, mean_waiting),
        score("share", survive - theory.access.success_probability * sent, 0.0, success),
        score("delay", spent - theory.mean_delay * done, 0.0, theory.mean_delay * success),
    ]
    if resends:
        found.append(score("staleness", staleness(answers), theory.mean_staleness))
    return found


@pytest.mark.parametrize("name", CASES)
@pytest.mark.long
def test_a_loop_over_slots_agrees(name):
    require(measure(name), error=0.006)


@pytest.mark.parametrize("name", ["two", "few"])
def test_a_first_transmission_that_does_not_wait_is_seen(name):
    assert seen(measure(name, deferral="repeats only")) > 5


def test_attempts_taken_for_independent_are_seen():
    """The law of one owner at the rates of all, with no chain of how many wait."""
    owners, rate, slot, share, _, _ = CASES["two"]
    survive = simulated("two")[0][:, 0] / SLOTS
    wrong = persistent_aloha(owners, rate, slot, share, resends=False).access.success_rate * slot
    assert seen([score("independent", survive, wrong)]) > 5


@together
@pytest.mark.parametrize("airtime", [None, 0.6, 0.0])
@pytest.mark.parametrize("owners", [1, 2, 9, 300])
def test_certain_transmission_is_slotted_aloha(owners, airtime):
    found = persistent_aloha(owners, 0.3, 1.5, 1.0, airtime, resends=False).access
    exact = slotted_aloha(owners, 0.3, 1.5, airtime)
    assert found.success_rate == pytest.approx(exact.success_rate, rel=1e-12)
    assert found.attempt_rate == pytest.approx(exact.attempt_rate, rel=1e-12)


@pytest.mark.parametrize("resends", [True, False])
def test_one_owner_alternates_between_its_waits(resends):
    """1/p slots until it ticks, and 1/s until it sends."""
    tick = -math.expm1(-0.7 * 0.5)
    found = persistent_aloha(1, 0.7, 0.5, 0.2, resends=resends)
    assert found.access.success_rate * 0.5 == pytest.approx(1 / (1 / tick + 1 / 0.2))
    assert found.access.success_probability == pytest.approx(1)
    if resends:
        assert found.mean_staleness == pytest.approx(0)


def test_two_owners_in_closed_form():
    for rate, share in ((0.1, 0.3), (2.0, 0.9), (0.5, 0.01)):
        tick = -math.expm1(-rate)
        both = 2 * share * (1 - share)  # of two that wait, one sends
        none = share * (1 - tick) / (tick * (2 - tick))  # π_0/π_1
        two = (none * tick**2 + (1 - share) * tick) / both
        exact = (share + two * both) / (none + 1 + two)
        found = persistent_aloha(2, rate, 1.0, share)
        assert found.waiting[2] == pytest.approx(two / (none + 1 + two), rel=1e-12)
        assert found.access.success_rate == pytest.approx(exact, rel=1e-12)


def test_two_that_always_send_collide_for_ever():
    found = persistent_aloha(3, 0.2, 1.0, 1.0)
    assert found.access.success_rate == 0
    assert found.access.attempt_rate == pytest.approx(3)
    assert found.mean_delay == math.inf


@pytest.mark.parametrize("resends", [True, False])
def test_owners_that_are_never_idle(resends):
    found = persistent_aloha(7, math.inf, 2.0, 0.15, resends=resends)
    assert found.access.success_rate * 2 == pytest.approx(7 * 0.15 * 0.85**6)
    assert found.waiting[7] == pytest.approx(1)
    if resends:
        assert found.mean_staleness == pytest.approx(6)


def test_rare_answers_hardly_meet():
    found = persistent_aloha(5, 1e-6, 1.0, 0.5)
    assert found.access.success_rate == pytest.approx(5e-6, rel=1e-4)
    assert found.mean_delay == pytest.approx(0.5 + 1 / 0.5, rel=1e-3)  # to a boundary, then 1/s


def test_laws_of_hundreds_of_owners_are_laws():
    for owners, rate, share in ((1000, 3e-4, 1e-3), (100, 0.0025, 0.08), (300, 1.0, 0.9)):
        law = persistent_aloha(owners, rate, 1.0, share).waiting
        assert law.sum() == pytest.approx(1)
        assert law.min() >= 0


@pytest.mark.parametrize(
    ("key", "arguments"),
    [
        ("n_owners", (0, 1.0, 1.0, 0.5)),
        ("rate", (2, 0.0, 1.0, 0.5)),
        ("rate", (2, math.nan, 1.0, 0.5)),
        ("slot", (2, 1.0, 0.0, 0.5)),
        ("persistence", (2, 1.0, 1.0, 0.0)),
        ("persistence", (2, 1.0, 1.0, 1.1)),
        ("airtime", (2, 1.0, 1.0, 0.5, 1.5)),
    ],
)
def test_outside_its_domain_it_is_refused_by_name(key, arguments):
    with pytest.raises(SpecError, match=key):
        persistent_aloha(*arguments)
