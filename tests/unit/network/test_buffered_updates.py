"""Updates of several answers: measures, predictions, digests and spans."""

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.measures import gaps, shares, summarise, updates_until_all
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Protocol, Push, Request
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.protocols import facts_of
from asyncdp_sim.theory.predict.staleness import staleness_law
from asyncdp_sim.theory.predict.update_order import gap_law
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace import EventKind, ExchangeOutcome, Trace
from asyncdp_sim.trace.spans import EXCHANGE, LOCK, spans


def network(protocol: Protocol, per_update: int, updates: int = 30) -> Network:
    return Network(
        answers_allowed=(200,) * 3,
        updates=updates,
        answers_per_update=per_update,
        latency=Latency(answer=Exponential(mean=0.4)),
        protocol=protocol,
    )


def traced(protocol: Protocol, per_update: int, updates: int = 30) -> Trace:
    scope = Streams(7).within("replicate", 1)
    return simulate(network(protocol, per_update, updates), scope, events=True)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traced(Push(own_tick="overlap"), 4)


def test_measures_count_updates_not_answers(trace: Trace) -> None:
    assert (trace.n_updates, len(trace.updates)) == (30, 120)
    ticks = trace.updates["tick"][3::4]
    assert trace.update_ticks.tolist() == ticks.tolist()
    assert trace.end_tick == ticks[-1]
    assert np.allclose(np.cumsum(gaps(trace)), ticks / 1e9, rtol=0, atol=1e-12)
    owners = trace.updates["owner"].tolist()
    assert updates_until_all(trace) == max(owners.index(i) for i in (1, 2, 3)) // 4 + 1
    assert shares(trace).tolist() == [owners.count(i) / 120 for i in (1, 2, 3)]
    said = summarise([trace])
    assert (said.updates, said.p_repeat) == (30, None)
    assert said.throughput == pytest.approx(30 / (trace.end_tick / 1e9))
    assert said.mean_staleness == trace.updates["staleness"].mean() > 0


@pytest.mark.parametrize("protocol", [Request(), Request(busy="queue")], ids=["refuse", "queue"])
def test_under_a_lock_no_answer_of_a_buffer_is_stale(protocol: Protocol) -> None:
    found = traced(protocol, 4)
    assert found.n_updates == 30
    assert not found.updates["staleness"].any()


@pytest.mark.parametrize("protocol", [Request(), Push()], ids=["request", "push"])
def test_theory_predicts_no_throughput_and_says_why(protocol: Protocol) -> None:
    reason = "an update takes 4 answers"
    found = {each.quantity: each for each in predict(network(protocol, 4))}
    for quantity in ("throughput", "p_repeat", "updates_until_all"):
        assert (found[quantity].value, found[quantity].reason) == (None, reason)
    locked = isinstance(protocol, Request)
    stale = found["mean_staleness"]
    assert (stale.value, stale.reason) == ((0.0, "") if locked else (None, reason))
    assert gap_law(network(protocol, 4)) == Unknown(reason)
    assert isinstance(staleness_law(network(protocol, 4)), Unknown) is not locked
    same = {each.quantity: each for each in predict(network(protocol, 1))}
    assert same.keys() == found.keys()
    for quantity in set(found) - {"throughput", "p_repeat", "updates_until_all", "mean_staleness"}:
        assert found[quantity] == same[quantity]


def test_budgets_are_counted_in_answers() -> None:
    """200 answers outlast 30 updates of 4 (120), and not 60 of them, if one owner sent all."""
    assert facts_of(network(Request(), 4)).spent() == ""
    assert facts_of(network(Request(), 1, 200)).spent() == ""
    assert "a budget of 200 answers" in facts_of(network(Request(), 4, 200)).spent()


def test_the_name_of_a_network_without_a_buffer_is_as_before() -> None:
    """Pinned: stored traces are found by it."""
    assert network(Push(), 1).digest(1, 2) == "51569996440eb89c"
    assert len({network(Push(), per_update).digest(1, 2) for per_update in (1, 2, 3)}) == 3


def test_a_served_exchange_ends_as_its_answer_arrives() -> None:
    found = traced(Request(), 4)
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
    spare = network(Push(), 4).model_copy(update={"answers_allowed": (3, 3, 3)})
    found = simulate(spare, Streams(7).within("replicate", 1))
    assert (found.n_updates, int(found.ended(ExchangeOutcome.buffered).sum())) == (2, 1)
    assert found.ending.name == "spent"
    assert found.released.tolist() == [3, 3, 3]
