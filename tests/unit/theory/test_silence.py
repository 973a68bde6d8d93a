"""Owners that fall silent: answers that are lost use budgets up, too."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from analysis.exact.silence import mean_gap, silent_by
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import DeterministicClock
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Request
from asyncdp_sim.theory.predict.update_order import Releases, releases, selection, shares
from asyncdp_sim.theory.prediction import Unknown
from tests.unit.theory.spoken import ALOHA, BURSTS, HALF, PUSH, RETRY, SLOW, UNEQUAL, network, said

LOSSY = {"loss": (0.0, 0.3, 0.9, 0.5), "loss_query": 0.2, "loss_request": (0.5, 0.0, 0.1, 0.0)}


def slowly(law, owner, answers, updates):
    """Return P(an owner releases K answers before update T), exchange by exchange."""
    rate, loss, tries = law.rate, law.loss, law.attempts
    used = rate * (1 - loss**tries)
    others = used.sum() - used[owner]
    own = rate[owner] * np.array([loss[owner] ** g * (1 - loss[owner]) for g in range(tries)])
    vain = rate[owner] * loss[owner] ** tries
    total = others + own.sum() + vain

    @cache
    def reached(done, released):
        if done >= updates:
            return 0.0
        if released >= answers:
            return 1.0
        found = others * reached(done + 1, released) + vain * reached(
            done, released + (tries if law.fresh else 1)
        )
        for g, chance in enumerate(own, start=1):
            found += chance * reached(done + 1, released + (g if law.fresh else 1))
        return found / total

    return reached(0, 0)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("attempts", [1, 3])
def test_budgets_end_as_often_as_exchange_by_exchange(attempts, fresh):
    law = Releases(np.array([1.0, 2.0, 0.5]), np.array([0.6, 0.0, 0.9]), attempts, fresh)
    for updates in (1, 12):
        for answers in (1, 2, 5, 9):
            exact = [slowly(law, i, answers, updates) for i in range(3)]
            found = silent_by(law, np.full(3, answers), updates)
            assert found == pytest.approx(min(1.0, sum(exact)), abs=1e-12)
    rare = silent_by(law, np.array([40, 40, 10**9]), 12)
    exact = slowly(law, 0, 40, 12) + slowly(law, 1, 40, 12)
    assert rare == pytest.approx(exact, rel=1e-3, abs=1e-14)


def test_where_nothing_is_lost_counts_are_binomial():
    law = Releases(np.array([1.0, 3.0]), np.zeros(2))
    caps = np.array([60, 160])
    exact = binom.sf(59, 199, 0.25) + binom.sf(159, 199, 0.75)
    assert silent_by(law, caps, 200) == pytest.approx(exact, rel=1e-9)
    assert silent_by(law, np.array([200, 200]), 200) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(law.chosen, [0.25, 0.75])
    np.testing.assert_allclose(law.per_update, [0.25, 0.75])


def test_losses_thin_the_choice():
    for parts in ({}, {"retransmissions": 2}, {"retransmissions": 2, "resend": "fresh"}):
        made = network(clock=UNEQUAL, channel=Ideal(**LOSSY, **parts), compute=Exponential(mean=2))
        law, tries = releases(made), 1 + parts.get("retransmissions", 0)
        heard = np.array([0.5, 2.0, 0.9, 4.0]) * 0.8
        arrives = 1 - np.array(LOSSY["loss"]) ** tries
        np.testing.assert_allclose(law.chosen, heard * arrives / (heard @ arrives))
        assert selection(made) == pytest.approx(tuple(law.chosen))
        assert shares(made) == pytest.approx(tuple(law.chosen))
        sent = arrives / (1 - np.array(LOSSY["loss"])) if law.fresh else 1.0
        np.testing.assert_allclose(law.per_update, heard * sent / (heard @ arrives))


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"channel": Ideal(loss=BURSTS)}, "messages are lost in bursts"),
        ({"channel": Ideal(loss_query=BURSTS)}, "messages are lost in bursts"),
        (
            {"protocol": Request(timeout=1.0), "compute": Exponential(mean=2)},
            "the learner gives up after a timeout",
        ),
        ({"protocol": RETRY, "channel": Ideal(loss_request=0.1)}, "requests that are lost are"),
        (
            {"channel": Ideal(loss=0.1, loss_acknowledgement=0.1, retransmissions=1)},
            "answers that arrived are sent again",
        ),
        ({"protocol": PUSH, "compute": Exponential(mean=2)}, "protocol push does not lock"),
    ],
)
def test_no_law_of_the_releases(parts, why):
    assert releases(network(**parts)).reason.startswith(why)


def test_budgets_that_losses_may_end_are_not_promised():
    made = network(2, 100, answers_allowed=(140, 140), channel=Ideal(loss=0.5))
    assert selection(made) == Unknown("a budget of 140 answers may be spent before the run ends")
    lasting = network(2, 100, answers_allowed=(240, 240), channel=Ideal(loss=0.5))
    assert selection(lasting) == (0.5, 0.5)


def test_the_mean_gap_is_that_of_the_lock_where_nothing_is_lost():
    made = network(clock=UNEQUAL, compute=(SLOW, HALF, Exponential(mean=2), HALF))
    assert mean_gap(made) == pytest.approx(1 / said(made, "throughput"))
    shared = network(channel=ALOHA)
    assert mean_gap(shared) == pytest.approx(1 / said(shared, "throughput"))
    again = network(channel=ALOHA.model_copy(update={"retransmissions": 1}))
    assert mean_gap(again) == Unknown("answers may wait before they are sent again")
    regular = network(1, clock=DeterministicClock())
    assert mean_gap(regular) == Unknown("clocks are deterministic, not Poisson")
    assert releases(regular).chosen == 1.0
