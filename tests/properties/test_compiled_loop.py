"""The compiled loop gives the bytes that the event loop gives, whatever the network."""

from collections.abc import Iterator
from itertools import cycle, product
from random import Random
from typing import Any

import numpy as np
import pytest
from numba.core.registry import cpu_target

from asyncdp_sim.errors import SpecError
from asyncdp_sim.network import Latency, Network, compiled, simulate, simulate_each
from asyncdp_sim.network.availability import Bernoulli, Diurnal, Outages
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.channels.packet_loss import PacketLoss
from asyncdp_sim.network.clocks import PoissonClock, ScriptedClock
from asyncdp_sim.network.compiled import prepared, reach
from asyncdp_sim.network.compiled.sources import draws_of
from asyncdp_sim.network.compiled.states import swappable, words_of
from asyncdp_sim.network.compiled.world import STREAMS
from asyncdp_sim.network.delivery.aggregation import Aggregation
from asyncdp_sim.network.laws import Constant, Empirical, Exponential, Lognormal, Source
from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.network.topology import LinkFailures, Star
from asyncdp_sim.provenance import loop
from asyncdp_sim.streams import Scope, Streams
from asyncdp_sim.trace import Trace, invariants
from tests.fresh import Record, fresh_seed
from tests.properties.interpreted import interpreted
from tests.properties.locked_networks import locked_network

MEAN_1 = Exponential(mean=1.0)
TABLES = ("exchanges", "owners", "update_ticks", "events")
COUNTS = ("end_tick", "ending", "in_flight_total", "recomputed", "on_air_ticks", "one_on_one",
          "one_each", "answers_per_update", "in_order")  # fmt: skip


def scope(seed: int) -> Scope:
    return Streams(seed).within("replicate", 1)


def told(trace: Trace) -> dict[str, object]:
    tables = {name: getattr(trace, name) for name in TABLES}
    said = {name: None if t is None else (t.dtype, t.tobytes()) for name, t in tables.items()}
    return said | {name: getattr(trace, name) for name in COUNTS}


def both(network: Network, seed: int, *, events: bool = True) -> None:
    quick = compiled.play(network, scope(seed), events=events)
    assert told(quick) == told(simulate(network, scope(seed), events=events))


def told_of(network: Network) -> set[object]:
    """Return the words for what a network has."""
    protocol, channel = network.protocol, network.channel
    assert isinstance(protocol, Request)
    has = {
        "superposed": network.superposed,
        "timeout": protocol.timeout is not None,
        "vanish": protocol.vanishes,
        "losses": not channel.lossless,
        "fresh": channel.resend == "fresh",
        "topology": network.topology is not None,
    }
    said = {word for word, holds in has.items() if holds}
    return {protocol.busy, network.clock.kind, network.availability.kind, *said}


def compared(first: int, count: int, *, short: bool = False) -> set[object]:
    """Compare networks by seed; return what they were. Short ones with many events are left out."""
    seen: set[object] = set()
    for seed in range(first, first + count):
        try:
            network = locked_network(Random(seed), short=short)
        except SpecError:  # its parts do not fit together
            continue
        slow = simulate(network, scope(seed), events=True)
        if short and slow.events is not None and len(slow.events) > MOST:
            continue
        assert compiled.covers(network), seed
        assert told(compiled.play(network, scope(seed), events=True)) == told(slow), seed
        seen |= told_of(network)
    return seen


MOST = 300
"""Events that are compared where the loop is not compiled."""
EACH = {"refuse", "queue", "retry", "poisson", "gamma", "deterministic", "always", "bernoulli",
        "on-off", "outages", "superposed", "timeout", "vanish", "losses", "fresh",
        "topology"}  # fmt: skip


def test_fifty_networks() -> None:
    """As the loop is written: compiling it takes longer, and is left to the nightly run."""
    with interpreted():
        assert compared(0, 75, short=True) == EACH


@pytest.mark.nightly
def test_two_thousand_networks(record_property: Record) -> None:
    record_property("tried", 2500)
    assert compared(fresh_seed(), 2500) == EACH


SMALL = Network(
    answers_allowed=(9000, 9000),
    updates=9000,
    clock=PoissonClock(rate=(3.0, 1.0)),
    latency=Latency(request=Exponential(mean=0.01), answer=Lognormal(mean=0.1, cv=1.0)),
)


def test_tables_grow_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "ROWS", 1)
    protocol = Request(timeout=30.0)  # whose timers are many before the first one ends
    many = SMALL.model_copy(update={"updates": 30, "protocol": protocol})
    dark = Outages(groups=((1, 2),), gap=MEAN_1, length=MEAN_1)
    with interpreted():
        both(many, 1)
        both(many.model_copy(update={"availability": dark}), 2, events=False)


def test_a_timer_means_nothing_to_an_exchange_that_begins_before_it_rings() -> None:
    """Half a unit of patience outlives exchanges of a tenth."""
    impatient = SMALL.model_copy(update={"updates": 60, "protocol": Request(timeout=0.5)})
    lossy = impatient.model_copy(update={"channel": Ideal(loss=0.3, retransmissions=2)})
    with interpreted():
        both(impatient, 1)
        both(lossy, 2, events=False)


def test_an_owner_whose_budget_ends_computes_no_fresh_answer() -> None:
    """Six answers each, of which half are lost and computed anew."""
    fresh = Ideal(loss=0.5, retransmissions=5, resend="fresh")
    few = SMALL.model_copy(update={"updates": 60, "answers_allowed": (6, 6), "channel": fresh})
    with interpreted():
        both(few, 1)
        both(few.model_copy(update={"protocol": Request(timeout=0.5)}), 1)


def test_events_of_many_pieces_are_those_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces that double, and then do not; none is kept beside the table, or looked through."""
    network = Network(answers_allowed=(300,) * 3, updates=300)
    whole = simulate(network, scope(1), events=True).events
    monkeypatch.setattr(prepared, "ROWS", 1)
    monkeypatch.setattr(prepared, "EACH", 64)
    monkeypatch.setattr(invariants, "_TOGETHER", 50)
    made = []
    first = prepared.PreparedWorld.__init__

    def noted(self: prepared.PreparedWorld, *args: Any, **options: Any) -> None:
        made.append(self)
        first(self, *args, **options)

    monkeypatch.setattr(prepared.PreparedWorld, "__init__", noted)
    with interpreted():
        found = compiled.play(network, scope(1), events=True).events
    assert found is not None
    assert whole is not None
    assert found.tobytes() == whole.tobytes()
    assert len(found) > 10 * len(made[0].world.events)
    assert made[0]._full == []


@pytest.mark.long
def test_many_owners_and_many_ticks() -> None:
    crowd = {"answers_allowed": (30,) * 1100, "clock": PoissonClock(), "updates": 40}
    both(SMALL.model_copy(update=crowd), 2, events=False)
    both(SMALL.model_copy(update=crowd | {"answers_allowed": (1,) * 300, "updates": 10**4}), 6)
    crowd["clock"] = PoissonClock(population="superposed")
    both(SMALL.model_copy(update=crowd | {"answers_allowed": (3,) * 9, "until": 900.0}), 3)
    slow = Latency(answer=Exponential(mean=1.0))  # whoever asks meanwhile is but counted
    both(SMALL.model_copy(update=crowd | {"latency": slow, "updates": 40}), 4, events=False)
    lossy = {"channel": Ideal(loss_request=0.5), "latency": slow, "updates": 40}
    both(SMALL.model_copy(update=crowd | lossy), 5, events=False)


@pytest.mark.parametrize("prefix", [("r", 1), ("a name that fills the block" * 5, 12)])
def test_seeds_of_owners_are_those_of_their_streams(prefix: tuple[str, int]) -> None:
    numbers = (1, 2, 9, 10, 11, 12, 19, 4096, 99_999, 100_000, 100_001, 10**12)
    n_owners, of_these = len(numbers), {"answers_allowed": (1,) * len(numbers)}
    network = SMALL.model_copy(update=of_these | {"owner_numbers": numbers})
    scope = Streams(2**70).within(*prefix).of_owners(numbers)
    d = draws_of(network, scope)
    assert d.texts.ctypes.data % 64 == 0
    stages = d.stages.view(np.recarray)  # as numba reads it
    d = d._replace(stages=stages, streams=np.zeros((n_owners + 1, 5), dtype=np.uint64))
    d.stages["stream"], d.stages["stream_each"] = 0, 1
    with interpreted():
        from asyncdp_sim.network.compiled.steps.seeds import seed

        for (stage, purpose), (first, count) in product(
            enumerate(STREAMS), ((1, n_owners), (2, 1))
        ):
            d.streams[:] = 0
            seed(d, stage, first, count)
            afresh, owners = scope.afresh(), range(first, first + count)
            said = [words_of(afresh.generator("owner", owner, *purpose)) for owner in owners]
            assert len(purpose) == 0 or d.streams[first : first + count, :4].tolist() == said
            assert not np.delete(d.streams, owners, axis=0).any()
    assert swappable()


def test_what_is_kept_is_of_these_sources() -> None:
    """A caller that numba keeps is not made anew when a step in another file has changed."""
    from asyncdp_sim.network.compiled.steps.loop import _kept

    def key(sources: str) -> object:
        return _kept(sources)._cache._index_key((), cpu_target.target_context.codegen())

    assert key("as it was") == key("as it was") != key("as it is")


class EverySecond(PacketLoss):
    """Every second message of an owner is lost."""

    called = "every-second"
    bursty = True

    @property
    def written(self) -> PacketLoss:
        return self

    def shares(self, n_owners: int) -> tuple[float, ...]:
        return (0.5,) * n_owners

    def draws(self, source: Source, owner: int) -> Iterator[bool]:  # noqa: ARG002
        return cycle((False, True))

    def answers(self, attempts: int) -> tuple[float, float]:
        return (0.5, 1.0) if attempts == 1 else (0.0, 1.5)


@pytest.mark.parametrize(
    "other",
    [
        {"channel": Ideal().model_copy(update={"loss": EverySecond()})},
        {
            "clock": PoissonClock(population="superposed"),
            "availability": Bernoulli(probability=0.5),
        },
        {"clock": ScriptedClock(times=((1.0,), (2.0,)))},
        {"availability": Diurnal(period=1.0, low=0.1, high=0.9)},
        {"channel": Ideal(loss_acknowledgement=0.1)},
        {"compute": Empirical(values=(0.1, 0.2))},
        {"latency": Latency(acknowledgement=Constant(value=0.1))},
        {"protocol": Request(busy="queue", own_tick="queue")},
        {"protocol": Push()},
        {"ties": "shuffled"},
        {"topology": Star(failures=LinkFailures(gap=MEAN_1, length=MEAN_1))},
        {"topology": Star(), "clock": PoissonClock(population="superposed")},
        {"aggregation": Aggregation(least=1)},
        {"withholds": True},
        {"stops": True},
        {"compute": type("Halved", (Exponential,), {})(mean=1.0)},
        {"clock": type("Late", (PoissonClock,), {})()},
        {"protocol": type("Slow", (Request,), {})()},
        {"channel": type("Noisy", (Ideal,), {})()},
    ],
    ids=str,
)
def test_what_the_compiled_loop_does_not_know_is_left_to_the_event_loop(other: object) -> None:
    assert compiled.covers(SMALL)
    assert not compiled.covers(SMALL.model_copy(update=other))


def test_which_loop_ran_is_said_and_not_to_be_seen_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled one runs where there is enough to do, or all is compiled: never for little."""
    assert not compiled.worthwhile(SMALL, 1)
    assert compiled.worthwhile(SMALL, reach.NEW // 9000 + 1)
    network = SMALL.model_copy(update={"updates": 20})
    slow = simulate_each(network, [scope(5), scope(6)], events=True)
    monkeypatch.setattr(compiled, "worthwhile", lambda *_: True)
    with interpreted():
        quick = simulate_each(network, [scope(5), scope(6)], events=True)
    assert [told(trace) for trace in quick] == [told(trace) for trace in slow]
    assert (loop(slow), loop(quick), loop([*slow, *quick])) == ("simpy", "compiled", "both")
