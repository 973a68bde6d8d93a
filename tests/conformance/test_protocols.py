"""Every protocol over channels that lose, destroy and repeat, whoever asks first."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.kernel import TRANSMISSION_BEGINS, Kernel, Waiting
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import LAST_TICK, to_ticks
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.channels import Channel, SlottedAloha
from asyncdp_sim.network.channels.aloha import SlottedMedium
from asyncdp_sim.network.channels.kind import Air, Fate, Port
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Exponential, uniforms
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.trace import Detail, Ending, EventKind, ExchangeOutcome, Trace
from asyncdp_sim.trace.vocabulary import RELEASED
from tests.conformance.members import examples, said
from tests.conformance.test_channels import EACH as EACH_CHANNEL
from tests.conformance.test_channels import SHARED, Plan, Station, hears_at_once
from tests.conformance.test_channels import N as OWNERS
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

# Every protocol over channels that lose, destroy and repeat: budgets, endings, and who is told.

ORACLE = pytest.mark.oracle("budgets, outcomes and messages of every protocol over every channel")

K = EventKind
PERFECT = [each for each in examples(Protocol) if each.update_of in ("pair", "servers")]
PROTOCOLS = [each for each in examples(Protocol) if each not in PERFECT]
"""Protocols that lose nothing, by definition; they have suites of their own."""
CHANNELS: dict[str, dict[str, Any]] = table(__file__, "lossy_channels.toml")
EACH = pytest.mark.parametrize("protocol", PROTOCOLS, ids=said)
OVER = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)
BUDGETS = (1, 4, 9)
ENDS = (K.request_refused, K.request_lost, K.update_applied)
RELEASES = (K.answer_released, K.answer_resent)
ARRIVALS = (K.answer_delivered, K.answer_discarded, K.answer_collided, K.answer_lost)


def network(protocol: Protocol, channel: dict[str, Any], **more: Any) -> Network:
    if protocol.restarts_immediately and channel["kind"] == "csma":  # whose answers have to begin
        channel = channel | {"persistence": 1.0}
    law = Exponential(mean=0.05)
    fields: dict[str, Any] = {
        "answers_allowed": BUDGETS,
        "updates": 10**6,
        "clock": PoissonClock(rate=3.0),
        "latency": Latency(query=law, answer=law, acknowledgement=law),
        "compute": Exponential(mean=0.1),
        "answers_per_update": None if protocol.makes_updates else 1,
    }
    return Network(**fields | {"protocol": protocol, "channel": parse(Channel, channel)} | more)


def traced(protocol: Protocol, channel: dict[str, Any], seed: int = 1, **more: Any) -> Trace:
    scope = Streams(seed).within("replicate", 1)
    return simulate(network(protocol, channel, **more), scope, events=True)


class Strict:
    """A learning object that refuses to be told what cannot be: it keeps what each query asked."""

    def __init__(self) -> None:
        self.asked: dict[int, object] = {}
        self.of: dict[int, int] = {}
        self.begun: set[int] = set()
        self.applied: list[tuple[int, int, object]] = []
        self.k = 0

    def _open(self, owner: int, message: int, what: object) -> None:
        assert message not in self.begun
        self.begun.add(message)
        self.asked[message] = what
        self.of[message] = owner

    def read(self, owner: int, message: int, peer: int = 0) -> None:  # noqa: ARG002
        self._open(owner, message, self.k)

    def broadcast(self) -> object:
        return self.k

    def take(self, owner: int, message: int, sent: object) -> None:
        self._open(owner, message, sent)

    def again(self, message: int, former: int) -> None:
        self._open(self.of[former], message, self.asked[former])

    def release(self, owner: int, message: int) -> None:
        assert self.of[message] == owner
        assert message in self.asked

    def apply(self, owner: int, message: int, peer: int = 0) -> None:  # noqa: ARG002
        assert self.of[message] == owner
        self.applied.append((owner, message, self.asked.pop(message)))

    def update(self) -> None:
        self.k += 1

    def forget(self, message: int) -> None:
        del self.asked[message]


def _one_job(protocol: Protocol) -> bool:
    return getattr(protocol, "own_tick", "drop") == "drop" and not protocol.restarts_immediately


@together
@OVER
@pytest.mark.parametrize("protocol", PERFECT, ids=said)
def test_what_loses_nothing_refuses_channels_that_do(protocol, channel):
    if channel == CHANNELS["perfect"]:
        return
    with pytest.raises(SpecError, match="channel"):
        network(protocol, channel, latency=Latency(), clock=PoissonClock())


@together
@ORACLE
@EACH
@OVER
def test_a_run_ends_and_no_budget_is_exceeded(protocol, channel):
    """Without a horizon: every owner that goes on asking spends all that it may."""
    trace = traced(protocol, channel)
    assert trace.ending is Ending.spent
    assert trace.end_tick < LAST_TICK
    assert trace.released.tolist() == list(BUDGETS)
    left = dict(enumerate(BUDGETS, 1))
    for event in trace.events:
        owner = int(event["owner"])
        if event["kind"] == K.answer_released:
            left[owner] -= 1
            assert left[owner] >= 0
        elif event["kind"] == K.budget_exhausted:
            assert left[owner] == 0
        elif event["kind"] in (K.clock_tick, K.clock_dropped) and _one_job(protocol):
            assert left[owner] > 0
    assert not np.any(
        np.isin(trace.exchanges["outcome"], [ExchangeOutcome.unreleased, ExchangeOutcome.in_flight])
    )
    assert trace.released.sum() == np.isin(trace.exchanges["outcome"], RELEASED).sum()


@together
@EACH
@OVER
def test_a_run_ends_with_update_t(protocol, channel):
    trace = traced(protocol, channel, updates=4, answers_allowed=(10**6,) * 3)
    assert trace.ending is Ending.updates
    assert trace.n_updates == 4
    assert trace.end_tick == trace.updates["tick"][-1]


@together
@ORACLE
@EACH
@OVER
def test_every_message_ends_at_most_once(protocol, channel):
    trace = traced(protocol, channel, until=6.0, answers_allowed=(10**6,) * 3)
    assert trace.ending is Ending.horizon
    ended: Counter[int] = Counter()
    transmissions: Counter[int] = Counter()
    over: Counter[int] = Counter()
    delivered_at: dict[int, int] = {}
    ends = (K.answer_delivered,) if protocol.makes_updates else ENDS
    for event in trace.events:
        message, what = int(event["message"]), K(event["kind"])
        useless = what is K.answer_discarded and event["detail"] != Detail.duplicate
        if (what in ends and message > 0) or useless:
            ended[message] += 1
        if what is K.answer_delivered:
            delivered_at[message] = transmissions[message]
        if what in RELEASES:
            transmissions[message] += 1
            assert event["attempt"] == transmissions[message]
            assert transmissions[message] == over[message] + 1  # the former one has ended
        elif what in ARRIVALS:
            over[message] += 1
            assert over[message] == transmissions[message]
    assert set(ended.values()) == {1}
    rows = trace.exchanges
    assert len(set(rows["message"].tolist())) == len(rows)
    failed = np.isin(
        rows["outcome"], [ExchangeOutcome.collided, ExchangeOutcome.lost, ExchangeOutcome.abandoned]
    )
    assert not set(rows["message"][failed].tolist()) & set(ended)
    # An exchange ends with its update: what is sent again for want of an acknowledgement is not
    # part of it.
    sent = {m: n for m, n in rows[["message", "transmissions"]].tolist() if n > 0}
    assert sent == {m: delivered_at.get(m, n) for m, n in transmissions.items()}
    most = 1 + channel.get("retransmissions", 0)
    assert max(transmissions.values()) <= most
    if channel.get("resend") == "fresh":
        assert set(sent.values()) == {1}  # a fresh answer is an exchange of its own


@together
@EACH
@OVER
def test_a_chain_of_fresh_answers_is_no_longer_than_its_attempts(protocol, channel):
    """Answers to one query of one owner are counted by request; each was charged on its own."""
    trace = traced(protocol, channel, until=6.0, answers_allowed=(10**6,) * 3)
    most = 1 + channel.get("retransmissions", 0)
    asked = int(trace.owners["attempts"].sum())
    if channel.get("resend") != "fresh":
        assert trace.recomputed == 0
        return
    assert 0 < trace.recomputed < (most - 1) * asked
    assert len(trace.exchanges) > trace.recomputed
    assert trace.released.sum() > len(trace.updates)
    failed = np.isin(trace.exchanges["outcome"], [ExchangeOutcome.collided, ExchangeOutcome.lost])
    assert trace.recomputed <= failed.sum()


@EACH
@OVER
@one_in(2, "budget", [3, 10**6])
def test_learning_is_told_of_each_query_once_and_of_its_end_once(protocol, channel, budget):
    """And neither what it is told changes the trace, nor that events are kept."""
    told = Strict()
    spec = network(protocol, channel, until=6.0, answers_allowed=(budget,) * 3)
    live = simulate(spec, Streams(2).within("replicate", 1), learning=told, events=True)
    alone = simulate(spec, Streams(2).within("replicate", 1))
    assert live.exchanges.tolist() == alone.exchanges.tolist()
    assert live.owners.tolist() == alone.owners.tolist()
    assert (live.end_tick, live.on_air_ticks) == (alone.end_tick, alone.on_air_ticks)
    rows = live.exchanges
    assert told.begun == set(rows["message"].tolist())
    applied = rows[np.isin(rows["outcome"], [ExchangeOutcome.applied, ExchangeOutcome.buffered])]
    assert told.applied == applied[["owner", "message", "read_k"]].tolist()
    cut_short = np.isin(rows["outcome"], [ExchangeOutcome.unreleased, ExchangeOutcome.in_flight])
    assert set(told.asked) == set(rows["message"][cut_short].tolist())


@together
@EACH
@OVER
def test_a_promise_of_one_at_a_time_is_kept(protocol, channel):
    trace = traced(protocol, channel, until=8.0, answers_allowed=(10**6,) * 3)
    assert trace.one_on_one == protocol.one_on_one
    rows = trace.exchanges
    begin = np.maximum(rows["read_tick"], rows["request_tick"]).tolist()
    spans = sorted(zip(begin, rows["end_tick"].tolist(), strict=True))
    overlap = any(a[1] > b[0] for a, b in pairwise(spans))
    assert overlap == (not trace.one_on_one)
    assert trace.one_each == _one_job(protocol)


@together
@pytest.mark.parametrize("protocol", [p for p in PROTOCOLS if not p.sends_requests], ids=said)
@pytest.mark.parametrize("name", ["aloha, fresh", "slots side by side"])
def test_time_on_the_air_is_airtime_by_transmissions(protocol, name):
    """Where no request uses the air and the end of the run cuts nothing short."""
    trace = traced(protocol, CHANNELS[name])
    sent = int(np.isin(trace.events["kind"], RELEASES).sum())
    assert trace.on_air_ticks == sent * 10**8
    assert sent >= int(trace.exchanges["transmissions"].sum()) > 10


def test_overlapping_answers_of_one_owner_wait_for_further_slots():
    protocol = parse(Protocol, {"kind": "push", "own_tick": "overlap"})
    slots = {"kind": "tdma", "airtime": 0.3, "slot": 0.3}
    trace = traced(protocol, slots, answers_allowed=(40,))
    assert trace.ended(ExchangeOutcome.collided).tolist() == [0]
    assert len(trace.updates) == 40


# Channels asked by owners in another order: the same comes of each, as far as it can.

SLOTTED = [channel for channel in SHARED if channel.contended.slotted]
ORDERS = range(1, 4)


def came_of(channel: Channel, asked: Plan, ties: int | None = None) -> list[tuple[Any, ...]]:
    """What came of every attempt, by owner; ties at a tick are shuffled with a seed."""
    kernel = Kernel(None if ties is None else np.random.default_rng(ties))
    sent = Station(channel, kernel=kernel).run(asked)
    return sorted((one.owner, one.start, one.end, one.fate) for one in sent)


def in_slots(channel: Channel, order: int | None = None) -> list[tuple[int, int]]:
    """Random attempts as slots begin; or somewhere within the slot before, in a random order."""
    rng, slot = np.random.default_rng(6), to_ticks(getattr(channel.contended, "slot", 0.1))
    slots, owners = rng.integers(1, 151, 240), rng.integers(1, OWNERS + 1, 240)
    early = 0 if order is None else np.random.default_rng(order).integers(0, slot, 240)
    return list(zip((slots * slot - early).tolist(), owners.tolist(), strict=True))


def depends_on_ties(channel: Channel) -> bool:
    asked = in_slots(channel)
    return any(came_of(channel, asked, seed) != came_of(channel, asked) for seed in ORDERS)


def depends_on_who_asks_first(channel: Channel) -> bool:
    asked = came_of(channel, in_slots(channel))
    return any(came_of(channel, in_slots(channel, order)) != asked for order in ORDERS)


@together
@EACH_CHANNEL
def test_what_comes_of_whom_depends_on_ties_only_where_one_is_heard_at_once(channel):
    remedy = (
        "what begins at one tick depends on the order of asking: let those that begin together "
        "meet each other; only if the channel is meant so, name it in hears_at_once()"
    )
    by_turns = channel.contended.queues  # a tick for each answer, in the order in which they came
    assert depends_on_ties(channel) == (hears_at_once(channel) or by_turns), remedy


@together
@pytest.mark.parametrize("channel", SLOTTED, ids=said)
def test_who_asks_first_within_a_slot_makes_no_difference(channel):
    assert not depends_on_who_asks_first(channel)


class OneCoin(SlottedMedium):
    """Slots in which each owner tosses the one coin of the channel as it asks, and may wait one."""

    def __init__(self, air: Air, slot: int, draws: Iterator[float]) -> None:
        super().__init__(air, slot)
        self._draws = draws

    def port(self, owner: int) -> Port:
        return Tossing(super().port(owner), self._air.kernel, self._slot, self._draws).transmit


@dataclass
class Tossing:
    """A slotted port whose owner waits a slot where the next draw says so."""

    right: Port
    kernel: Kernel
    slot: int
    draws: Iterator[float]

    def transmit(self, *how: Any) -> Waiting[Fate]:
        while next(self.draws) >= 0.5:
            yield self.kernel.tick + self.slot, TRANSMISSION_BEGINS
        return (yield from self.right(*how))


class FirstComes(SlottedAloha):
    """A slotted channel whose draws depend on who asks first."""

    kind: Literal["first-comes"] = "first-comes"

    def open(self, kernel: Kernel, streams: Any, *_: Any) -> OneCoin:
        draws = uniforms(partial(streams.generator, "coin"))
        return OneCoin(Air(kernel), to_ticks(self.slot), draws)


def test_draws_that_depend_on_who_asks_first_are_caught():
    """With ties and without: no order of events at one tick need ever change."""
    wrong = FirstComes(airtime=0.1, slot=0.1)
    assert depends_on_ties(wrong)
    assert depends_on_who_asks_first(wrong)
