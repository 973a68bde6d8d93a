"""Synchronous rounds, ORACLES 19: how long they last, whom a deadline and losses leave out.

With exponential response times of rate μ a round of N owners lasts H_N/μ in the mean; owners that
never wait for each other would update every 1/(Nμ). Where queries travel for Exp(μ), a deadline D
leaves each owner out with probability e^{−μD}, in every round anew. Where owners compute for
Exp(μ), one that is late completes its work first: in the next round it is late with probability
e^{−μD}(1 + μD), and each owner is late or not by a Markov chain of its own.
"""

from math import comb, exp

import numpy as np
import pytest

from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network import Latency
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import SaturatedClock
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.network.protocols import Push, Rounds, star
from asyncdp_sim.theory.formulas.exchanges import mean_round
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.trace import ExchangeOutcome

from .networks import network, runs
from .zscores import CELL, counts, require, score, seen, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("length of rounds, owners that miss the deadline, lost answers"),
]

N, RATE = 5, 2.0
SLOW = Exponential(mean=1 / RATE)
RUNS = 24
FEW, ROUNDS, DEADLINE, LOSS = 4, 400, 1.25, 0.3


def meeting(n_owners, updates, deadline=None, asked=None, **parts):
    """Return a network that meets in rounds and whose budgets last."""
    parts = {"answers_allowed": (10**9,) * n_owners, "answers_per_update": None, **parts}
    return network(n_owners, updates, protocol=Rounds(deadline=deadline, owners=asked), **parts)


def mean_gaps(traces):
    """Return the mean time from an update to the next, of each run."""
    return [trace.end_tick / TICKS_PER_UNIT / trace.n_updates for trace in traces]


def in_time(trace, n_owners):
    """Return the answers used of each of the first rounds, counted by their messages."""
    rows = trace.exchanges[trace.exchanges["outcome"] == ExchangeOutcome.applied]
    return np.bincount((rows["message"] - 1) // n_owners, minlength=ROUNDS)[:ROUNDS]


def answers(seed, **parts):
    """Return the answers used of each round, shape (runs, rounds)."""
    made = meeting(FEW, ROUNDS, **parts)
    return np.array([in_time(trace, FEW) for trace in runs(made, seed, RUNS)])


def travelling(seed):
    """Return scores where queries travel: owners are late or not in every round anew."""
    found = answers(seed, deadline=DEADLINE, latency=Latency(query=SLOW))
    chance = 1 - exp(-RATE * DEADLINE)
    return [
        score("all, travelling", (found == FEW).mean(axis=1), chance**FEW),
        score("answers, travelling", found.mean(axis=1), FEW * chance),
    ]


def computing(seed):
    """Return scores where owners compute, and complete late work before they begin anew."""
    found = answers(seed, deadline=DEADLINE, compute=SLOW)
    late = np.empty(ROUNDS)
    late[0] = fresh = exp(-RATE * DEADLINE)
    for r in range(1, ROUNDS):
        late[r] = (1 - late[r - 1]) * fresh + late[r - 1] * fresh * (1 + RATE * DEADLINE)
    return [
        score("all, computing", (found == FEW).mean(axis=1), ((1 - late) ** FEW).mean()),
        score("answers, computing", found.mean(axis=1), FEW * (1 - late).mean()),
    ]


def drawn(seed, updates=2400):
    """Return scores where two of five owners are drawn: how long, and how often which pair."""
    traces = list(runs(meeting(N, updates, compute=SLOW, asked=2), seed, RUNS))
    pairs = np.zeros((N, N))
    for trace in traces:
        owners = trace.exchanges["owner"][np.argsort(trace.exchanges["message"])].reshape(-1, 2)
        np.add.at(pairs, tuple(owners.T - 1), 1)
    seen_often = pairs[np.triu_indices(N, 1)]
    return [
        score("round of two", mean_gaps(traces), mean_round(2, RATE)),
        counts("pairs", seen_often, np.full(len(seen_often), 1 / len(seen_often))),
    ]


def losing(seed, loss=LOSS):
    """Return the score of answers per round, Binomial(N, 1 − l), empty rounds included."""
    seen_often = np.bincount(answers(seed, channel=Ideal(loss=loss)).ravel(), minlength=FEW + 1)
    law = [comb(FEW, m) * (1 - LOSS) ** m * LOSS ** (FEW - m) for m in range(FEW + 1)]
    return [counts("answers, losses", seen_often, law)]


@shared
def lengths():
    """Return the scores of means."""
    rounds = runs(meeting(N, 1900, compute=SLOW), 31, RUNS)
    never_waiting = network(N, 4800, protocol=Push(), clock=SaturatedClock(), compute=SLOW)
    return [
        score("round", mean_gaps(rounds), mean_round(N, RATE)),
        score("gap", mean_gaps(runs(never_waiting, 32, RUNS)), 1 / (N * RATE)),
        *(drawn(36)[:1] + travelling(33)[1:] + computing(34)[1:]),
    ]


@shared
def chances():
    """Return the scores of probabilities."""
    return travelling(33)[:1] + computing(34)[:1]


@shared
def losses():
    """Return the scores of a binomial law, and of a uniform one of pairs."""
    return losing(35) + drawn(36)[1:]


def scores():
    """Return every score of a sound protocol."""
    return lengths() + chances() + losses()


def test_rounds_last_as_the_slowest_and_deadlines_leave_out():
    require(lengths(), error=0.003)


def test_all_are_in_time_as_often_as_theory_says():
    require(chances(), error=0.01)


def test_losses_thin_rounds_binomially():
    require(losses(), error=CELL)


def test_the_prediction_is_the_mean_round():
    plain = meeting(N, 10, compute=SLOW)
    assert predicted(plain, "throughput") == pytest.approx(1 / mean_round(N, RATE), rel=1e-14)
    assert predicted(plain, "mean_staleness") == 0
    far = meeting(N, 10, compute=SLOW, latency=Latency(answer=Constant(value=0.25)))
    expected = 1 / (0.25 + mean_round(N, RATE))
    assert predicted(far, "throughput") == pytest.approx(expected, rel=1e-14)


@pytest.mark.no_evidence
def test_a_late_owner_that_drops_its_work_is_seen(monkeypatch):
    """Planted bug: at the deadline late owners are free at once, and begin anew."""
    close, begin, known = star._close, Rounds.start_processes, []

    def remember(self, owners, *given):
        known[:] = owners
        begin(self, owners, *given)

    def forgiving(learner, over, ring):
        if learner.idle is over:
            for owner in known:
                owner.busy = False
        close(learner, over, ring)

    monkeypatch.setattr(Rounds, "start_processes", remember)
    monkeypatch.setattr(star, "_close", forgiving)
    assert seen(computing(34)) > 5


@pytest.mark.no_evidence
def test_a_loss_two_points_high_is_seen():
    assert seen(losing(35, LOSS + 0.02)) > 5


@pytest.mark.no_evidence
def test_a_draw_that_leaves_the_last_owner_out_too_often_is_seen(monkeypatch):
    """Planted bug: one draw in ten is of the first four owners alone."""
    draw = Rounds.draw

    def shy(self, numbers, draws):
        return draw(self, numbers[:-1] if draws.random() < 0.1 else numbers, draws)

    monkeypatch.setattr(Rounds, "draw", shy)
    assert seen(drawn(36)[1:]) > 5
