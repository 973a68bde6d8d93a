"""The network's own parts: the spec, who is told of what, and what a clock promises."""

from itertools import islice

import numpy as np

from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.clocks import DeterministicClock, ScriptedClock
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.trace import EventKind


def scope(seed: int = 1, replicate: int = 1) -> Scope:
    return Streams(seed).within("replicate", replicate)


def no_stream() -> np.random.Generator:
    raise AssertionError("this clock or law draws nothing")


class Diary:
    """A learning object that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int, int]] = []

    def read(self, owner: int, message: int, peer: int = 0) -> None:  # noqa: ARG002
        self.told.append(("read", owner, message))

    def apply(self, owner: int, message: int, peer: int = 0) -> None:  # noqa: ARG002
        self.told.append(("apply", owner, message))

    def release(self, owner: int, message: int) -> None:
        """Nothing is noted of releases."""

    def update(self) -> None:
        self.told.append(("update", *self.told[-1][1:]))


BUSY = Network(
    answers_allowed=(20, 30, 40),
    updates=60,
    until=70.0,
    latency=Latency(request=Exponential(mean=0.05), answer=Exponential(mean=0.1)),
    compute=Exponential(mean=0.1),
)


def test_learning_is_told_of_every_read_and_update_in_order() -> None:
    diary = Diary()
    trace = simulate(BUSY, scope(), learning=diary, events=True)
    words = {
        EventKind.query_sent: "read",
        EventKind.answer_delivered: "apply",
        EventKind.update_applied: "update",
    }
    expected = [
        (words[EventKind(e["kind"])], e["owner"], e["message"])
        for e in trace.events
        if e["kind"] in words
    ]
    assert diary.told == expected
    assert len(expected) > 60


def test_learning_does_not_change_the_trace() -> None:
    alone = simulate(BUSY, scope(), events=True)
    live = simulate(BUSY, scope(), learning=Diary(), events=True)
    assert alone.events.tolist() == live.events.tolist()
    assert alone.exchanges.tolist() == live.exchanges.tolist()


def test_a_replicate_is_the_same_alone_or_among_others() -> None:
    streams = Streams(1)
    among = [simulate(BUSY, streams.within("replicate", r)) for r in (1, 2, 3)]
    alone = simulate(BUSY, scope(replicate=3))
    assert alone.exchanges.tolist() == among[2].exchanges.tolist()


def test_deterministic_ticks_are_multiples_never_accumulated() -> None:
    clock = DeterministicClock(rate=3.0, phase=(0.25, 0.0))
    ticks = list(islice(clock.ticks(0, no_stream, 1), 10**5))
    period = round(10**9 / 3)
    assert ticks[-1] == 250_000_000 + 10**5 * period
    assert next(clock.ticks(1, no_stream, 1)) == period


def test_nobody_ever_ticks() -> None:
    network = Network(answers_allowed=(5,), updates=9, clock=ScriptedClock(times=[[]]))
    trace = simulate(network, scope(), events=True)
    assert (trace.end_tick, len(trace.events), len(trace.updates)) == (0, 0, 0)
