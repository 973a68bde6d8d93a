"""Exact moments where messages are lost and budgets end, against replays of simulated networks."""

from functools import cache

import numpy as np
import pytest

from analysis.exact.assumptions import silent_by
from analysis.exact.per_update import moments
from analysis.exact.turns import capped_moments, ordered
from asyncdp_sim.core.units import to_units
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, channels, clocks, laws
from asyncdp_sim.network.spec import STAGES
from asyncdp_sim.theory.formulas.channels import mean_attempts
from asyncdp_sim.theory.predict.update_order import releases
from asyncdp_sim.trace import ExchangeOutcome
from asyncdp_sim.trace.vocabulary import RELEASED

from .gossip_cases import Case, OwnersOnly, correlated
from .networks import network, replicates, runs
from .zscores import require, score, seen

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("E ψ with lost messages, spent budgets, or a given order of updates"),
]

UPDATES, RUNS, PARTS, DRAWS = 14, 2000, 4400, 4
FIT = correlated(n_owners=3, records=20, n_features=4, sigma=0.2, seed=1)
CASE = Case(FIT, rho=6.0, updates=UPDATES, scale=np.array([0.5, 0.3, 0.1]) / FIT.weights)
CLOCK = clocks.PoissonClock(rate=(1.5, 1.0, 0.5))
TENTH = laws.Constant(value=0.1)
CAPS = np.array([4, 6, 7])
LOSSES = {"loss": (0.1, 0.4, 0.7), "loss_query": 0.1, "loss_request": (0.0, 0.3, 0.1)}


def samples(case, traces):
    """Return ψ at the end of each trace, each a mean over several draws of the noise, (R,)."""
    repeated = DRAWS * list(traces)
    scopes = replicates(1, len(repeated), 0)
    path = replay(repeated, case.steps, case.reply, scopes, case.updates)
    return case.objective.relative_fitness(path.final).reshape(DRAWS, -1).mean(axis=0)


def psi(case, found):
    return found.expected_excess()[-1] / case.objective.least


@cache
def capped_traces():
    made = network(3, UPDATES, clock=CLOCK, answers_allowed=tuple(CAPS.tolist()))
    return list(runs(made, 7, RUNS))


def lossy(resend):
    return network(
        3, PARTS * UPDATES, clock=CLOCK, compute=laws.Exponential(mean=0.3),
        latency=Latency(query=TENTH, answer=TENTH),
        channel=channels.Ideal(**LOSSES, retransmissions=1, resend=resend),
    )  # fmt: skip


@cache
def lossy_trace(resend):
    """Return one long trace: where owners are independent, its parts are runs of their own."""
    [trace] = runs(lossy(resend), 8, 1)
    return trace


@pytest.mark.parametrize("resend", [pytest.param("same", marks=pytest.mark.nightly), "fresh"])
def test_losses_thin_the_choice_and_moments_stay_exact(resend):
    trace, law = lossy_trace(resend), releases(lossy(resend))
    rows = (trace.updates["owner"] - 1).reshape(PARTS, UPDATES)
    found = samples(CASE, [OwnersOnly(row) for row in rows[:2400]])
    exact = moments(CASE.but(probability=law.chosen).process, CASE.variance)
    require([score("ψ", found, psi(CASE, exact))], error=0.01)
    unthinned = np.array(CLOCK.rate) / sum(CLOCK.rate)
    for wrong in (None, unthinned):  # planted bugs
        bug = moments(CASE.but(probability=wrong).process, CASE.variance)
        assert seen([score("ψ", found, psi(CASE, bug))]) > 5


def mean_gap(net):
    """Return the mean time from one update to the next under a lock, (1 + Σ λ h S)/Σ λ q.

    λ h requests of an owner reach a free learner per time unit, each locks it for S in the mean,
    and λ q end in an update. With times q, c, a of query, computing and answer, lost queries l_q,
    and A transmissions per answer that is begun, S = q + (1 − l_q)(c + A a), or with c for each of
    them where they are computed anew.
    """
    law, loss = releases(net), net.channel.packet_loss
    query, request = (np.array(loss(message).shares(3)) for message in ("query", "request"))
    asked, compute, answer = (np.array(net.mean_times(stage)) for stage in STAGES)
    sent = np.array([mean_attempts(each, law.attempts) for each in law.loss.tolist()])
    reached = np.array(CLOCK.rate) * (1 - request)
    work = (sent if law.fresh else 1.0) * compute + sent * answer
    used = reached * (1 - query) * (1 - law.loss**law.attempts)
    return (1 + reached @ (asked + (1 - query) * work)) / used.sum()


@pytest.mark.parametrize("resend", ["same", "fresh"])
def test_answers_that_are_lost_are_released(resend):
    trace, law = lossy_trace(resend), releases(lossy(resend))
    sent = trace.exchanges[np.isin(trace.exchanges["outcome"], RELEASED)]
    part, owner = sent["end_k"] // UPDATES, sent["owner"] - 1
    counts = np.zeros((PARTS, 3))
    np.add.at(counts, (part, owner), 1)
    exact = UPDATES * law.per_update
    found = [score(f"owner {i}", counts[:, i], exact[i]) for i in range(3)]
    require(found, error=0.01)
    updates = UPDATES * law.chosen  # planted bug: releases that are no updates do not count
    assert seen([score("", counts[:, i], updates[i]) for i in range(3)]) > 5
    gaps = to_units(np.diff(trace.update_ticks[UPDATES - 1 :: UPDATES], prepend=0)) / UPDATES
    require([score("gap", gaps, mean_gap(lossy(resend)))], error=0.01)
    other = lossy("same" if resend == "fresh" else "fresh")
    for bug in (other, other.model_copy(update={"channel": channels.Ideal()})):  # planted bugs
        assert seen([score("gap", gaps, mean_gap(bug))]) > 5
    if resend == "same":
        last = sent["outcome"] == ExchangeOutcome.applied
        last &= sent["end_k"] % UPDATES == UPDATES - 1
        np.add.at(counts, (part[last], owner[last]), -1)
        found = []
        for i, cap in enumerate((10, 5, 4)):
            silent = silent_by(law, np.where(np.arange(3) == i, cap, 10**9), UPDATES)
            found.append(score(f"owner {i}", counts[:, i] >= cap, silent))
        require(found, error=0.03)


def test_moments_are_exact_where_budgets_end():
    found = samples(CASE, capped_traces())
    case = CASE.but(probability=np.array(CLOCK.rate) / 3)
    exact = capped_moments(case.process, CAPS, case.variance)
    require([score("ψ", found, psi(case, exact))], error=0.01)
    endless = moments(case.process, case.variance)  # planted bug: caps that nobody looks at
    equal = capped_moments(CASE.process, CAPS, case.variance)
    for bug in (endless, equal):
        assert seen([score("ψ", found, psi(case, bug))]) > 5


def test_moments_given_the_order_are_those_of_each_order():
    traces = capped_traces()
    owners = np.stack([trace.updates["owner"] - 1 for trace in traces])
    found = samples(CASE, traces)

    def given(owners, louder=1.0):
        variance = CASE.variance * louder
        return ordered(CASE.process, owners, np.array([UPDATES]), variance)[:, 0] / FIT.least

    exact = given(owners)
    require([score("ψ", found - exact + exact.mean(), exact.mean())], error=0.01)
    for bug in (given(owners, 1.21), given(owners[:, ::-1])):  # noise + 10 %, and the last first
        assert seen([score("ψ", found - bug + bug.mean(), bug.mean())]) > 5
    assert exact.std() < 0.8 * found.std()  # what averaging over noise saves
