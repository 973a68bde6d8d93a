"""The network's own parts: the spec, who is told of what, and what a clock promises."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.clocks import DeterministicClock, PoissonClock, ScriptedClock
from asyncdp_sim.network.laws import Constant, Exponential, NoTime
from asyncdp_sim.streams import Scope, Streams
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


def test_replicates_and_seeds_differ_and_repeat() -> None:
    ends = {(s, r): simulate(BUSY, scope(s, r)).end_tick for s in (1, 2) for r in (1, 2)}
    assert len(set(ends.values())) == 4
    assert simulate(BUSY, scope(2, 1)).end_tick == ends[2, 1]


def test_a_replicate_is_the_same_alone_or_among_others() -> None:
    streams = Streams(1)
    among = [simulate(BUSY, streams.within("replicate", r)) for r in (1, 2, 3)]
    alone = simulate(BUSY, scope(replicate=3))
    assert alone.exchanges.tolist() == among[2].exchanges.tolist()


def test_a_failing_learner_is_not_silently_ignored() -> None:
    class Failing(Diary):
        def apply(self, owner: int, message: int, peer: int = 0) -> None:  # noqa: ARG002
            raise ZeroDivisionError(owner, message)

    with pytest.raises(ZeroDivisionError):
        simulate(BUSY, scope(), learning=Failing())


def test_a_failing_learner_is_not_silently_ignored_without_any_delay() -> None:
    class Failing(Diary):
        def read(self, owner: int, message: int, peer: int = 0) -> None:  # noqa: ARG002
            raise ZeroDivisionError(owner, message)

    with pytest.raises(ZeroDivisionError):
        simulate(Network(answers_allowed=(1,), updates=1), scope(), learning=Failing())


def test_deterministic_ticks_are_multiples_never_accumulated() -> None:
    clock = DeterministicClock(rate=3.0, phase=(0.25, 0.0))
    ticks = list(islice(clock.ticks(0, no_stream, 1), 10**5))
    period = round(10**9 / 3)
    assert ticks[-1] == 250_000_000 + 10**5 * period
    assert next(clock.ticks(1, no_stream, 1)) == period


def test_a_script_ends() -> None:
    clock = ScriptedClock(times=[[0.5, 1.0], []])
    assert list(clock.ticks(0, no_stream, 1)) == [500_000_000, 10**9]
    assert list(clock.ticks(1, no_stream, 1)) == []


def test_an_owner_without_any_tick_never_asks_and_the_run_ends() -> None:
    network = Network(
        answers_allowed=(5, 5), updates=9, until=9.0, clock=ScriptedClock(times=[[1.0], []])
    )
    trace = simulate(network, scope())
    assert trace.end_tick == 10**9
    assert trace.owners["attempts"].tolist() == [1, 0]


def test_nobody_ever_ticks() -> None:
    network = Network(answers_allowed=(5,), updates=9, clock=ScriptedClock(times=[[]]))
    trace = simulate(network, scope(), events=True)
    assert (trace.end_tick, len(trace.events), len(trace.updates)) == (0, 0, 0)


def test_nothing_draws_unless_asked() -> None:
    """Constant laws and scripted clocks use no stream; none is not even an iterator."""
    assert NoTime().durations(no_stream, 1) is None
    durations: Iterator[int] = Constant(value=0.25).durations(no_stream, 1)
    assert list(islice(durations, 3)) == [250_000_000] * 3
    next(ScriptedClock(times=[[1.0]]).ticks(0, no_stream, 1))
    Exponential(mean=1.0).durations(no_stream, 1)  # asked for at the first draw only


@pytest.mark.parametrize(
    ("clock", "key"),
    [
        (PoissonClock(rate=(1.0, 2.0)), "clock.rate"),
        (DeterministicClock(rate=1.0, phase=(0.0, 0.0)), "clock.phase"),
        (ScriptedClock(times=[[1.0]]), "clock.times"),
        (ScriptedClock(times=[[1.0], [2.0, 1.0], []]), "clock.times[1]"),
        (ScriptedClock(times=[[1.0], [1.0, 1.0], []]), "clock.times[1]"),
    ],
)
def test_a_clock_says_what_does_not_fit_three_owners(clock: object, key: str) -> None:
    assert [fault.key for fault in clock.faults(3)] == [key]


def test_lists_that_fit_are_not_faulted() -> None:
    assert PoissonClock(rate=(1.0, 2.0, 3.0)).faults(3) == []
    assert ScriptedClock(times=[[1.0], [], [0.0, 1e-9]]).faults(3) == []


@pytest.mark.parametrize(
    "bad",
    [
        {"answers_allowed": ()},
        {"answers_allowed": (0,)},
        {"updates": 0},
        {"updates": 1.5},
        {"until": 0.0},
        {"until": float("inf")},
        {"ties": "random"},
        {"unknown": 1},
    ],
)
def test_a_network_refuses_what_makes_no_sense(bad: dict[str, object]) -> None:
    with pytest.raises(SpecError) as caught:
        Network(**{"answers_allowed": (1,), "updates": 1, **bad})
    assert caught.value.faults[0].key.startswith(next(iter(bad)))


def test_the_digest_names_the_network_and_nothing_else() -> None:
    assert BUSY.digest(1, 10) == BUSY.model_copy().digest(1, 10)
    others = [
        BUSY.digest(2, 10),
        BUSY.digest(1, 11),
        BUSY.model_copy(update={"updates": 61}).digest(1, 10),
        BUSY.model_copy(update={"compute": NoTime()}).digest(1, 10),
    ]
    assert len({BUSY.digest(1, 10), *others}) == 5
