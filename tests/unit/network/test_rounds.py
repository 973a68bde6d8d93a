"""Rounds and updates of several answers: who is asked, and when a run ends."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import InvariantError
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.measures.summary import summarise, updates_until_all
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Bernoulli, Churn
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import DeterministicClock, PoissonClock, ScriptedClock
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.protocols import Protocol, Push, Request, Rounds, star
from asyncdp_sim.network.topology import LinkFailures, Star
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.protocols import facts_of
from asyncdp_sim.theory.predict.update_order import gap_law, staleness_law
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace import Detail, Ending, EventKind, ExchangeOutcome, Recorder, Trace
from asyncdp_sim.trace.spans import EXCHANGE, LOCK, spans
from tests.ordering.scene import Scripted, joins

# Rounds: who is asked, and when a run ends.

SLOW = Exponential(mean=0.5)


def network(deadline: float | None = None, **parts: Any) -> Network:
    fields = {"answers_allowed": (20, 20, 20), "updates": 12, "protocol": Rounds(deadline=deadline)}
    availability = parts.pop("availability", None)
    made = Network(**{"answers_per_update": None, **fields, **parts})
    # A copy is not validated: an availability may be one of the tests' own.
    return made if availability is None else made.model_copy(update={"availability": availability})


def traced(deadline: float | None = None, seed: int = 1, **parts: Any) -> Trace:
    scope = Streams(seed).within("replicate", 1)
    return simulate(network(deadline, **parts), scope, events=True)


@pytest.mark.parametrize("deadline", [None, 0.7])
def test_clocks_have_no_say(deadline: float | None) -> None:
    clocks = [
        PoissonClock(rate=(1.0, 5.0, 0.2)),
        DeterministicClock(),
        ScriptedClock(times=[[]] * 3),
    ]
    found = [traced(deadline, clock=clock, compute=SLOW) for clock in clocks]
    for trace in found:
        assert trace.exchanges.tolist() == found[0].exchanges.tolist()
        assert not np.isin(trace.events["kind"], [EventKind.clock_tick]).any()


def test_a_fast_clock_does_not_cut_slow_owners_short() -> None:
    slow = {"compute": Constant(value=5000.0), "updates": 3}
    assert traced(clock=PoissonClock(rate=1000.0), **slow).ending is Ending.updates


@pytest.mark.parametrize("budget", [1, 2, 20])
def test_who_was_left_out_is_asked_again_whatever_its_budget(budget: int) -> None:
    """Owner 2 joins at 2.5; with a deadline of 1 it is asked at 0, 1 and 2, and answers at 2.75."""
    parts = {"answers_allowed": (20, budget), "compute": Constant(value=0.25)}
    trace = traced(1.0, availability=joins(2, 2.5), updates=3, **parts)
    mine = trace.exchanges[trace.exchanges["owner"] == 2]
    assert (mine["read_tick"] // 10**9).tolist() == [0, 1, 2]
    outcomes = [ExchangeOutcome.abandoned, ExchangeOutcome.abandoned, ExchangeOutcome.applied]
    assert mine["outcome"].tolist() == outcomes
    assert trace.update_ticks.tolist() == [10**9, 2 * 10**9, 275 * 10**7]


def test_a_query_that_waits_for_its_owner_ends_with_its_round() -> None:
    """Owner 2 is away for the whole run: nothing of the rounds that are over is kept open."""

    class Counting(Scripted):
        most = 0

        def read(self, owner: int, message: int, peer: int = 0) -> None:
            super().read(owner, message, peer)
            self.most = max(self.most, sum(self.told.values()))

    counting, made = Counting(), network(1.0, availability=joins(2, 100), until=8.5, compute=SLOW)
    trace = simulate(made, Streams(1).within("replicate", 1), learning=counting)
    ended = trace.exchanges["outcome"][trace.exchanges["owner"] == 2]
    assert ended.tolist() == [ExchangeOutcome.abandoned] * 8 + [ExchangeOutcome.unreleased]
    assert counting.most <= 2 * 3  # the old round's as the new one begins


def test_everybody_leaves_and_the_run_ends() -> None:
    """While queries travel, while owners compute, with and without a deadline."""
    for seed in range(1, 31):
        lifetime = Churn(join=Exponential(mean=0.3), lifetime=Exponential(mean=1.0))
        parts = {"availability": lifetime, "latency": Latency(query=SLOW), "compute": SLOW}
        for deadline in (None, 1.0):
            trace = traced(deadline, seed, updates=10**6, answers_allowed=(10**6,) * 3, **parts)
            assert trace.ending is Ending.silent
            assert trace.end_tick < 60 * 10**9


def test_links_that_fail_delay_rounds_and_stop_none() -> None:
    failures = LinkFailures(gap=Exponential(mean=1.0), length=Exponential(mean=1.0))
    trace = traced(topology=Star(latency=0.05, failures=failures), compute=SLOW)
    assert trace.ending is Ending.updates
    assert len(trace.updates) == 36  # nobody is ever left out
    assert trace.end_tick > traced(topology=Star(latency=0.05), compute=SLOW).end_tick


def test_who_does_not_listen_is_left_out() -> None:
    trace = traced(availability=Bernoulli(probability=(1.0, 0.5, 0.0)), updates=15)
    missed = trace.events[trace.events["kind"] == EventKind.query_lost]
    assert set(missed["owner"].tolist()) == {2}
    assert set(missed["detail"].tolist()) == {Detail.offline}
    assert trace.ended(ExchangeOutcome.abandoned).tolist() == [0, len(missed), 0]
    assert trace.owners["attempts"].tolist() == [15, 15, 0]  # who never listens is not asked
    assert trace.owners["online"][1] == 1 - len(missed) / 15


def test_rounds_that_bring_nothing_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Owner 1 never hears its query; owner 2's budget is spent by and by."""
    monkeypatch.setattr(star, "_EMPTY", 50)
    trace = traced(answers_allowed=(5, 5), channel=Ideal(loss_query=(1.0, 0.0)))
    assert (trace.ending, trace.n_updates) == (Ending.stalled, 5)
    assert trace.owners["attempts"].tolist() == [55, 5]


def test_rounds_that_bring_nothing_now_and_then_do_not_stall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Empty rounds count in a row: others between them begin the count anew."""
    monkeypatch.setattr(star, "_EMPTY", 12)
    trace = traced(**{"answers_allowed": (1000,), "updates": 40, "channel": Ideal(loss=0.5)})
    assert trace.ending is Ending.updates
    assert trace.ended(ExchangeOutcome.lost).sum() > 12


def test_a_fresh_answer_is_to_the_same_model() -> None:
    """Whose model was read goes with the query, however often it is answered."""
    kernel = Kernel()
    learner = Learner(kernel, Recorder(2, kernel), Network(answers_allowed=(3, 3), updates=5))
    assert learner.repeat(learner.read(2, learner.begin(2), 0, 7)).peer == 7


def test_the_tables_contradict_an_update_of_nothing() -> None:
    trace = traced(compute=SLOW)
    for number in (0, 5, 12):
        ticks = np.insert(trace.update_ticks, number, trace.update_ticks[max(0, number - 1)])
        with pytest.raises(InvariantError, match=r"numbered one by one|go back in time"):
            replace(trace, update_ticks=ticks, events=None)


def test_measures_and_spans_know_rounds() -> None:
    """An exchange lasts until its answer is there, or the round is over, or it is known lost."""
    parts = {"compute": SLOW, "channel": Ideal(loss=0.2), "availability": Churn(lifetime=SLOW)}
    trace = traced(0.6, answers_allowed=(99,) * 3, updates=99, seed=4, **parts)
    ends = dict(trace.exchanges[["message", "end_tick"]].tolist())
    for span in spans(trace.events, trace.end_tick):
        if span.name == EXCHANGE:
            assert span.end == ends[span.message]
    said = summarise([traced(compute=SLOW)])
    assert (said["updates"], said["p_repeat"], said["mean_staleness"]) == (12, None, 0.0)
    assert (said["utilisation"], said["updates_until_all"]) == (1.0, 1.0)


def test_a_deadline_as_long_as_the_quickest_answer_is_not_too_short() -> None:
    trace = traced(0.5, compute=(Constant(value=0.5), Constant(value=0.6), Constant(value=9.0)))
    assert set(trace.updates["owner"].tolist()) == {1}
    assert trace.n_updates == 12


# Updates of several answers: measures, predictions, digests and spans.


def of_buffers(protocol: Protocol, per_update: int, updates: int = 30) -> Network:
    return Network(
        answers_allowed=(200,) * 3,
        updates=updates,
        answers_per_update=per_update,
        latency=Latency(answer=Exponential(mean=0.4)),
        protocol=protocol,
    )


def traced_buffers(protocol: Protocol, per_update: int, updates: int = 30) -> Trace:
    scope = Streams(7).within("replicate", 1)
    return simulate(of_buffers(protocol, per_update, updates), scope, events=True)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traced_buffers(Push(own_tick="overlap"), 4)


def test_measures_count_updates_not_answers(trace: Trace) -> None:
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


@pytest.mark.parametrize("protocol", [Request(), Request(busy="queue")], ids=["refuse", "queue"])
def test_under_a_lock_no_answer_of_a_buffer_is_stale(protocol: Protocol) -> None:
    found = traced_buffers(protocol, 4)
    assert found.n_updates == 30
    assert not found.updates["staleness"].any()


@pytest.mark.parametrize("protocol", [Request(), Push()], ids=["request", "push"])
def test_theory_predicts_no_throughput_and_says_why(protocol: Protocol) -> None:
    reason = "an update takes 4 answers"
    found = {each.quantity: each for each in predict(of_buffers(protocol, 4))}
    for quantity in ("throughput", "p_repeat", "updates_until_all"):
        assert (found[quantity].value, found[quantity].reason) == (None, reason)
    locked = isinstance(protocol, Request)
    stale = found["mean_staleness"]
    assert (stale.value, stale.reason) == ((0.0, "") if locked else (None, reason))
    assert gap_law(of_buffers(protocol, 4)) == Unknown(reason)
    assert isinstance(staleness_law(of_buffers(protocol, 4)), Unknown) is not locked
    same = {each.quantity: each for each in predict(of_buffers(protocol, 1))}
    assert same.keys() == found.keys()
    for quantity in set(found) - {"throughput", "p_repeat", "updates_until_all", "mean_staleness"}:
        assert found[quantity] == same[quantity]


def test_budgets_are_counted_in_answers() -> None:
    """200 answers outlast 30 updates of 4 (120), and not 60 of them, if one owner sent all."""
    assert facts_of(of_buffers(Request(), 4)).spent() == ""
    assert facts_of(of_buffers(Request(), 1, 200)).spent() == ""
    assert "a budget of 200 answers" in facts_of(of_buffers(Request(), 4, 200)).spent()


def test_the_name_of_a_network_without_a_buffer_is_as_before() -> None:
    """Pinned: stored traces are found by it."""
    assert of_buffers(Push(), 1).digest(1, 2) == "51569996440eb89c"
    assert len({of_buffers(Push(), per_update).digest(1, 2) for per_update in (1, 2, 3)}) == 3


def test_a_served_exchange_ends_as_its_answer_arrives() -> None:
    found = traced_buffers(Request(), 4)
    lasting = spans(found.events, found.end_tick)
    end = dict(found.exchanges[["message", "end_tick"]].tolist())
    for name in (LOCK, EXCHANGE):
        own = [span for span in lasting if span.name == name]
        assert len(own) == len(found.exchanges) == 120
        assert all(span.end == end[span.message] for span in own)
        kinds = [span.ending for span in sorted(own, key=lambda span: span.end)]
        update, arrival = EventKind.update_applied, EventKind.answer_delivered
        assert kinds == [arrival, arrival, arrival, update] * 30


def test_a_spent_run_leaves_a_part_of_a_buffer() -> None:
    """Three owners with 3 answers each fill two buffers of 4; the ninth answer waits for ever."""
    spare = of_buffers(Push(), 4).model_copy(update={"answers_allowed": (3, 3, 3)})
    found = simulate(spare, Streams(7).within("replicate", 1))
    assert (found.n_updates, int(found.ended(ExchangeOutcome.buffered).sum())) == (2, 1)
    assert found.ending.name == "spent"
    assert found.released.tolist() == [3, 3, 3]
