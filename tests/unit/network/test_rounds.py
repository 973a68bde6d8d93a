"""Rounds and updates of several answers: who is asked, and when a run ends."""

from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.core.errors import InvariantError
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.measures.summary import summarise, updates_until_all
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.protocols import facts_of
from asyncdp_sim.theory.predict.update_order import gap_law, staleness_law
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace import Detail, Ending, EventKind, ExchangeOutcome, Recorder
from asyncdp_sim.trace.spans import EXCHANGE, LOCK, spans
from tests import traces
from tests.ordering.scene import Scripted, joins

# Rounds: who is asked, and when a run ends. Scripted ones stand in tests/ordering/cases.

SLOW = Exponential(mean=0.5)
LEAVE = {"kind": "churn", "lifetime": SLOW}


def network(deadline=None, answers=20, **parts):
    protocol = {"kind": "rounds", "deadline": deadline}
    return traces.network(3, answers, **{"updates": 12, "protocol": protocol, **parts})


def traced(deadline=None, seed=1, **parts):
    return traces.traced(network(deadline, **parts), seed)


@pytest.mark.parametrize("deadline", [None, 0.7])
def test_clocks_have_no_say(deadline):
    clocks = [
        {"kind": "poisson", "rate": [1.0, 5.0, 0.2]},
        {"kind": "deterministic"},
        {"kind": "scripted", "times": [[]] * 3},
    ]
    found = [traced(deadline, clock=clock, compute=SLOW) for clock in clocks]
    for trace in found:
        assert trace.exchanges.tolist() == found[0].exchanges.tolist()
        assert not np.isin(trace.events["kind"], [EventKind.clock_tick]).any()


def test_a_query_that_waits_for_its_owner_ends_with_its_round():
    """Owner 2 is away for the whole run: nothing of the rounds that are over is kept open."""

    class Counting(Scripted):
        most = 0

        def read(self, owner, message, peer=0):
            super().read(owner, message, peer)
            self.most = max(self.most, sum(self.told.values()))

    counting, made = Counting(), network(1.0, until=8.5, compute=SLOW)
    # A copy is not validated: an availability may be one of the tests' own.
    away = made.model_copy(update={"availability": joins(2, 100)})
    trace = traces.traced(away, learning=counting)
    ended = trace.exchanges["outcome"][trace.exchanges["owner"] == 2]
    assert ended.tolist() == [ExchangeOutcome.abandoned] * 8 + [ExchangeOutcome.unreleased]
    assert counting.most <= 2 * 3  # the old round's as the new one begins


@pytest.mark.parametrize("deadline", [None, 1.0])
def test_everybody_leaves_and_the_run_ends(deadline):
    """While queries travel, while owners compute, with and without a deadline."""
    leave = {"kind": "churn", "join": Exponential(mean=0.3), "lifetime": Exponential(mean=1.0)}
    parts = {"availability": leave, "latency": {"query": SLOW}, "compute": SLOW}
    for seed in range(1, 31):
        trace = traced(deadline, seed, updates=10**6, answers=10**6, **parts)
        assert trace.ending is Ending.silent
        assert trace.end_tick < 60 * 10**9


def test_links_that_fail_delay_rounds_and_stop_none():
    failures = {"gap": Exponential(mean=1.0), "length": Exponential(mean=1.0)}
    star = {"kind": "star", "latency": 0.05}
    trace = traced(topology=star | {"failures": failures}, compute=SLOW)
    assert trace.ending is Ending.updates
    assert len(trace.updates) == 36  # nobody is ever left out
    assert trace.end_tick > traced(topology=star, compute=SLOW).end_tick


def test_who_does_not_listen_is_left_out():
    online = {"kind": "bernoulli", "probability": [1.0, 0.5, 0.0]}
    trace = traced(availability=online, updates=15)
    missed = trace.events[trace.events["kind"] == EventKind.query_lost]
    assert set(missed["owner"].tolist()) == {2}
    assert set(missed["detail"].tolist()) == {Detail.offline}
    assert trace.ended(ExchangeOutcome.abandoned).tolist() == [0, len(missed), 0]
    assert trace.owners["attempts"].tolist() == [15, 15, 0]  # who never listens is not asked
    assert trace.owners["online"][1] == 1 - len(missed) / 15


def test_a_fresh_answer_is_to_the_same_model():
    """Whose model was read goes with the query, however often it is answered."""
    kernel = Kernel()
    learner = Learner(kernel, Recorder(2, kernel), traces.network(2, 3, updates=5))
    assert learner.repeat(learner.read(2, learner.begin(2), 0, 7)).peer == 7


def test_the_tables_contradict_an_update_of_nothing():
    trace = traced(compute=SLOW)
    for number in (0, 5, 12):
        ticks = np.insert(trace.update_ticks, number, trace.update_ticks[max(0, number - 1)])
        with pytest.raises(InvariantError, match=r"numbered one by one|go back in time"):
            replace(trace, update_ticks=ticks, events=None)


def test_measures_and_spans_know_rounds():
    """An exchange lasts until its answer is there, or the round is over, or it is known lost."""
    parts = {"compute": SLOW, "channel": {"kind": "ideal", "loss": 0.2}, "availability": LEAVE}
    trace = traced(0.6, answers=99, updates=99, seed=4, **parts)
    ends = dict(trace.exchanges[["message", "end_tick"]].tolist())
    for span in spans(trace.events, trace.end_tick):
        if span.name == EXCHANGE:
            assert span.end == ends[span.message]
    said = summarise([traced(compute=SLOW)])
    assert (said["updates"], said["p_repeat"], said["mean_staleness"]) == (12, None, 0.0)
    assert (said["utilisation"], said["updates_until_all"]) == (1.0, 1.0)


# Updates of several answers: measures, predictions, digests and spans.


def of_buffers(protocol, per_update, updates=30):
    latency = {"answer": Exponential(mean=0.4)}
    parts = {"answers_per_update": per_update, "latency": latency, "protocol": protocol}
    return traces.network(3, 200, updates=updates, **parts)


def test_measures_count_updates_not_answers():
    trace = traces.traced(of_buffers(Push(own_tick="overlap"), 4), 7)
    assert (trace.n_updates, len(trace.updates)) == (30, 120)
    ticks = trace.updates["tick"][3::4]
    assert trace.update_ticks.tolist() == ticks.tolist()
    assert trace.end_tick == ticks[-1]
    owners = trace.updates["owner"].tolist()
    assert updates_until_all(trace) == max(owners.index(i) for i in (1, 2, 3)) // 4 + 1
    assert trace.ended(ExchangeOutcome.applied).tolist() == [owners.count(i) for i in (1, 2, 3)]
    said = summarise([trace])
    assert (said["updates"], said["p_repeat"]) == (30, None)
    assert said["throughput"] == pytest.approx(30 / (trace.end_tick / 1e9))
    assert said["mean_staleness"] == trace.updates["staleness"].mean() > 0


@pytest.mark.parametrize("busy", ["refuse", "queue"])
def test_under_a_lock_no_answer_of_a_buffer_is_stale(busy):
    found = traces.traced(of_buffers(Request(busy=busy), 4), 7)
    assert found.n_updates == 30
    assert not found.updates["staleness"].any()


@pytest.mark.parametrize("protocol", [Request(), Push()], ids=["request", "push"])
def test_theory_predicts_no_throughput_and_says_why(protocol):
    reason = "an update takes 4 answers"
    found, same = (
        {each.quantity: each for each in predict(of_buffers(protocol, several))}
        for several in (4, 1)
    )
    locked = isinstance(protocol, Request)
    unknown = dict.fromkeys(("throughput", "p_repeat", "updates_until_all"), (None, reason))
    unknown["mean_staleness"] = (0.0, "") if locked else (None, reason)
    for quantity, expected in unknown.items():
        assert (found[quantity].value, found[quantity].reason) == expected
    assert gap_law(of_buffers(protocol, 4)) == Unknown(reason)
    assert isinstance(staleness_law(of_buffers(protocol, 4)), Unknown) is not locked
    assert same.keys() == found.keys()
    for quantity in found.keys() - unknown.keys():
        assert found[quantity] == same[quantity]


def test_budgets_are_counted_in_answers():
    """200 answers outlast 30 updates of 4 (120), and not 60 of them, if one owner sent all."""
    assert facts_of(of_buffers(Request(), 4)).spent() == ""
    assert facts_of(of_buffers(Request(), 1, 200)).spent() == ""
    assert "a budget of 200 answers" in facts_of(of_buffers(Request(), 4, 200)).spent()


def test_the_name_of_a_network_without_a_buffer_is_as_before():
    """Pinned: stored traces are found by it."""
    assert of_buffers(Push(), 1).digest(1, 2) == "51569996440eb89c"
    assert len({of_buffers(Push(), per_update).digest(1, 2) for per_update in (1, 2, 3)}) == 3


def test_a_served_exchange_ends_as_its_answer_arrives():
    found = traces.traced(of_buffers(Request(), 4), 7)
    lasting = spans(found.events, found.end_tick)
    end = dict(found.exchanges[["message", "end_tick"]].tolist())
    for name in (LOCK, EXCHANGE):
        own = [span for span in lasting if span.name == name]
        assert len(own) == len(found.exchanges) == 120
        assert all(span.end == end[span.message] for span in own)
        kinds = [span.ending for span in sorted(own, key=lambda span: span.end)]
        update, arrival = EventKind.update_applied, EventKind.answer_delivered
        assert kinds == [arrival, arrival, arrival, update] * 30
