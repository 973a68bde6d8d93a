"""The simulator has every event of a plain loop over a heap, and its tables, to the bit."""

from collections import deque
from collections.abc import Generator
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

import pytest

from asyncdp_sim.core.kernel import Priority
from asyncdp_sim.core.specification import own
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Always, Bernoulli
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import ScriptedClock
from asyncdp_sim.network.laws import NoTime
from asyncdp_sim.network.protocols import Request
from asyncdp_sim.trace import Detail, Ending, EventKind, ExchangeOutcome
from tests.drawn import Domain
from tests.fresh import fresh_seed
from tests.ordering.random_networks import fitting
from tests.properties.networks import period
from tests.properties.rough_networks import losses, stage

# Locked exchanges on an ideal channel by a plain loop over a heap: a reference for the simulator.
#
# Without SimPy, and without the network's owners, learner, lock and links. What an owner does is
# one generator, which yields (tick, priority) where it waits, or None until its turn comes.

Activity = Generator[tuple[int, int] | None, None, Any]
AT = {
    "request": Priority.REQUEST_ARRIVES,
    "query": Priority.QUERY_ARRIVES,
    "compute": Priority.GRADIENT_READY,
    "answer": Priority.ANSWER_END,
    "retry": Priority.TRANSMISSION_BEGINS,
}


class Asking:
    """An owner: what it draws from its streams, what it may still send, and its last attempt."""

    def __init__(self, network: Network, place: int, streams: Scope) -> None:
        def stream(*purpose: str) -> Any:
            return partial(streams.generator, "owner", place + 1, *purpose)

        again = network.protocol.retry or NoTime()
        laws = {**dict(network.latency), "compute": network.compute, "retry": again}
        self.durations = {name: own(laws[name], place).durations(stream(name), 1) for name in AT}
        loss = network.channel.packet_loss
        self.losses = {
            name: loss(name).draws(stream("loss", name), place)
            for name in ("request", "query", "answer")
        }
        self.clock = network.clock.ticks(place, stream("clock"), 1)
        self.online = own(getattr(network.availability, "probability", 1.0), place)
        self.chances = stream("availability")()
        self.number, self.left, self.busy = place + 1, network.answers_allowed[place], False

    def loses(self, message: str) -> bool:
        return self.losses[message] is not None and next(self.losses[message])


class LockedLoop:
    """One run of a network with protocol ``request``, no timeout, and a horizon."""

    def __init__(self, network: Network, streams: Scope) -> None:
        self.network, self.retries = network, network.protocol.busy == "retry"
        self.heap, self.order, self.line = [], count(), deque()
        self.events, self.exchanges, self.update_ticks = [], [], []
        self.now = self.messages = self.pending = 0
        self.locked, self.served, self.ending = False, None, Ending.horizon
        self.owners = [Asking(network, place, streams) for place in range(network.n_owners)]
        for owner in self.owners:
            self.go(self.live(owner))
        horizon = to_ticks(network.until)
        while self.ending is Ending.horizon and self.heap[0][0] < horizon:
            self.now, _, _, activity = heappop(self.heap)
            self.go(activity)
        self.now = horizon if self.ending is Ending.horizon else self.now
        if self.served is not None:  # cut short by the end
            self.note_exchange(self.served, "in_flight" if self.served.sent > 0 else "unreleased")

    def go(self, activity: Activity) -> None:
        """Let an activity go on until it waits."""
        if (wait := next(activity, None)) is not None:
            heappush(self.heap, (*wait, next(self.order), activity))

    def take_time(self, owner: Asking, stage: str) -> Activity:
        """Wait for the end of a stage, unless it takes no event."""
        if owner.durations[stage] is not None:
            yield self.now + next(owner.durations[stage]), AT[stage]

    def note(self, kind: str, owner: Asking, attempt: int = 0, detail: str = "none") -> None:
        no_message = kind in ("clock_tick", "clock_dropped", "budget_exhausted")
        about = (0 if no_message else owner.message, attempt, Detail[detail])
        self.events.append((self.now, EventKind[kind], owner.number, *about))

    def note_exchange(self, owner: Asking, outcome: str) -> None:
        begun = (owner.message, owner.number, 0, owner.asked, *owner.read)
        released = owner.released if owner.sent > 0 else self.now
        ended = (self.now, len(self.update_ticks), owner.sent, ExchangeOutcome[outcome])
        self.exchanges.append((*begun, released, *ended))

    def live(self, owner: Asking) -> Activity:
        """Attempt an exchange at every tick of the clock that finds the owner online and free."""
        for tick in owner.clock:
            yield tick, Priority.CLOCK_TICK
            if owner.left == 0:
                return
            online = owner.chances.random() < owner.online
            if owner.busy or not online:
                self.note("clock_dropped", owner, detail="busy" if online else "offline")
            else:
                self.note("clock_tick", owner)
                owner.attempt = self.attempt(owner)
                self.go(owner.attempt)

    def attempt(self, owner: Asking) -> Activity:
        """Send requests until the learner takes one, or refuses it for good."""
        owner.busy = True
        self.pending += 1
        while (refused := (yield from self.ask(owner))) is not None and self.retries:
            self.note("retry", owner, detail=refused)
            yield from self.take_time(owner, "retry")
        if refused is None:
            if self.locked:
                self.line.append(owner.attempt)
                self.note("request_queued", owner)
                yield None
            yield from self.exchange(owner)
        owner.busy = False
        self.pending -= 1
        spent = self.pending == 0 and all(each.left == 0 for each in self.owners)
        if spent and self.ending is Ending.horizon:
            self.ending = Ending.spent

    def ask(self, owner: Asking) -> Activity:
        """Send a request; return why it is not served, if it is not."""
        self.messages += 1
        owner.message, owner.asked = self.messages, self.now
        self.note("request_sent", owner)
        if owner.loses("request"):
            self.note("request_lost", owner, detail="noise")
            return "none"
        yield from self.take_time(owner, "request")
        if not self.locked or self.network.protocol.queues:
            return None
        self.note("request_refused", owner)
        return "busy"

    def exchange(self, owner: Asking) -> Activity:
        """Serve an owner alone, from the lock to the next one's turn."""
        self.locked, self.served = True, owner
        owner.read, owner.sent = (self.now, len(self.update_ticks)), 0
        self.note("query_sent", owner)
        yield from self.take_time(owner, "query")
        if owner.loses("query"):
            self.note("query_lost", owner, detail="noise")
            self.note_exchange(owner, "abandoned")
        else:
            if owner.durations["query"] is not None:
                self.note("query_received", owner)
            yield from self.take_time(owner, "compute")
            yield from self.answer(owner)
        self.served = None
        if len(self.line) > 0:
            heappush(self.heap, (self.now, Priority.TURN, next(self.order), self.line.popleft()))
        else:
            self.locked = False

    def answer(self, owner: Asking) -> Activity:
        """Send an answer until it arrives or was sent as often as may be."""
        owner.sent, owner.left, owner.released = 1, owner.left - 1, self.now
        self.note("answer_released", owner, 1)
        if owner.left == 0:
            self.note("budget_exhausted", owner)
        yield from self.take_time(owner, "answer")
        while lost := owner.loses("answer"):
            self.note("answer_lost", owner, owner.sent, "noise")
            if owner.sent > self.network.channel.retransmissions:
                break
            owner.sent += 1
            self.note("answer_resent", owner, owner.sent)
            yield from self.take_time(owner, "answer")
        self.note_exchange(owner, "lost" if lost else "applied")
        if not lost:
            self.note("answer_delivered", owner, owner.sent)
            self.update_ticks.append(self.now)
            self.note("update_applied", owner)
            if len(self.update_ticks) == self.network.updates:
                self.ending = Ending.updates


RATES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Many are multiples of each other, and of durations: ties."""
EVENTS = {
    "clock_tick", "clock_dropped", "request_sent", "request_refused", "request_queued",
    "request_lost", "query_sent", "query_received", "query_lost", "answer_released",
    "answer_resent", "answer_lost", "answer_delivered", "update_applied", "budget_exhausted",
    "retry",
}  # fmt: skip


def locked_network(rng):
    n = rng.choice((1, 2, 3, 5, 8, 30))
    shares = tuple(rng.choice((0.3, 0.9, 1.0)) for _ in range(n))
    busy = rng.choice(("refuse", "queue", "retry"))
    messages = ("loss", "loss_query", "loss_request")
    lost = {name: rng.choice((0.0, losses(rng, n))) for name in messages}
    return Network(
        answers_allowed=[rng.choice((1, 3, 20, 1000)) for _ in range(n)],
        updates=rng.choice((1, 10, 100)),
        until=rng.choice((0.5, 2.0, 20.0)),
        clock=Domain(rng.choice, n, RATES).clock(None, lambda kind: kind is not ScriptedClock),
        availability=rng.choice([Always(), Bernoulli(probability=shares)]),
        latency=Latency(request=stage(rng, n), query=stage(rng, n), answer=stage(rng, n)),
        compute=stage(rng, n),
        channel=Ideal(**lost, retransmissions=rng.choice((0, 1, 5))),
        protocol=Request(busy=busy, retry=period(rng) if busy == "retry" else None),
    )


def compared(first: int, count: int) -> tuple[set[str], set[Ending]]:
    """Compare networks by seed; return what happened in them, and how they ended."""
    kinds, endings = set(), set()
    for seed in range(first, first + count):
        network = fitting(partial(locked_network, Random(seed)))
        trace = simulate(network, Streams(seed).within("r", 1), events=True)
        loop = LockedLoop(network, Streams(seed).within("r", 1))
        assert trace.events.tolist() == loop.events, seed
        assert trace.exchanges.tolist() == loop.exchanges, seed
        assert trace.update_ticks.tolist() == loop.update_ticks, seed
        assert (trace.end_tick, trace.ending) == (loop.now, loop.ending), seed
        kinds |= {EventKind(kind).name for kind in set(trace.events["kind"].tolist())}
        endings.add(trace.ending)
    return kinds, endings


@pytest.mark.long
def test_two_hundred_networks():
    assert compared(0, 200) == (EVENTS, {Ending.updates, Ending.spent, Ending.horizon})


@pytest.mark.nightly
def test_three_thousand_networks(record_property):
    record_property("tried", 3000)
    assert compared(fresh_seed(), 3000)[0] == EVENTS
