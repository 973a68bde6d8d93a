"""The compiled loop gives the bytes that the event loop gives, whatever the network."""

import secrets
from random import Random

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.network import Latency, Network, compiled, simulate, simulate_each
from asyncdp_sim.network.availability import Bernoulli, Diurnal
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import PoissonClock, ScriptedClock
from asyncdp_sim.network.compiled import reach
from asyncdp_sim.network.compiled.states import states, swappable
from asyncdp_sim.network.laws import Constant, Empirical, Exponential, Lognormal
from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.network.topology import Star
from asyncdp_sim.provenance import loop
from asyncdp_sim.streams import Scope, Streams
from asyncdp_sim.streams.seeding import Seeder
from asyncdp_sim.trace import Trace
from tests.properties.locked_networks import locked_network

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


def compared(first: int, count: int) -> set[object]:
    """Compare networks by seed; return what they were."""
    seen: set[object] = set()
    for seed in range(first, first + count):
        try:
            network = locked_network(Random(seed))
        except SpecError:  # its parts do not fit together
            continue
        assert compiled.covers(network), seed
        both(network, seed)
        protocol = network.protocol
        assert isinstance(protocol, Request)
        seen |= {protocol.busy, network.clock.kind, network.availability.kind}
        seen |= {"superposed"} if network.superposed else set()
    return seen


EACH = {"refuse", "queue", "retry", "poisson", "gamma", "deterministic", "always", "bernoulli",
        "on-off", "superposed"}  # fmt: skip


@pytest.mark.long
def test_fifty_networks() -> None:
    assert compared(0, 50) == EACH


@pytest.mark.nightly
def test_two_thousand_networks() -> None:
    first = secrets.randbelow(2**40)
    print(f"fresh seed {first}")
    assert compared(first, 2000) == EACH


SMALL = Network(
    answers_allowed=(9000, 9000),
    updates=9000,
    clock=PoissonClock(rate=(3.0, 1.0)),
    latency=Latency(request=Exponential(mean=0.01), answer=Lognormal(mean=0.1, cv=1.0)),
)


@pytest.mark.long
def test_tables_grow_and_many_owners_get_their_streams_late() -> None:
    both(SMALL.model_copy(update={"updates": 4500}), 1)
    crowd = {"answers_allowed": (30,) * 1100, "clock": PoissonClock(), "updates": 40}
    both(SMALL.model_copy(update=crowd), 2, events=False)
    crowd["clock"] = PoissonClock(population="superposed")
    both(SMALL.model_copy(update=crowd | {"answers_allowed": (3,) * 9, "until": 900.0}), 3)
    slow = Latency(answer=Exponential(mean=1.0))  # whoever asks meanwhile is but counted
    both(SMALL.model_copy(update=crowd | {"latency": slow, "updates": 40}), 4, events=False)


@pytest.mark.parametrize(
    "other",
    [
        {
            "clock": PoissonClock(population="superposed"),
            "availability": Bernoulli(probability=0.5),
        },
        {"clock": ScriptedClock(times=((1.0,), (2.0,)))},
        {"availability": Diurnal(period=1.0, low=0.1, high=0.9)},
        {"channel": Ideal(loss=0.1)},
        {"compute": Empirical(values=(0.1, 0.2))},
        {"latency": Latency(acknowledgement=Constant(value=0.1))},
        {"protocol": Request(timeout=1.0)},
        {"protocol": Request(busy="queue", own_tick="queue")},
        {"protocol": Push()},
        {"ties": "shuffled"},
        {"topology": Star(latency=0.1)},
        {"withholds": True},
        {"stops": True},
        {"compute": type("Halved", (Exponential,), {})(mean=1.0)},
        {"clock": type("Late", (PoissonClock,), {})()},
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
    quick = simulate_each(network, [scope(5), scope(6)], events=True)
    assert [told(trace) for trace in quick] == [told(trace) for trace in slow]
    assert (loop(slow), loop(quick), loop([*slow, *quick])) == ("simpy", "compiled", "both")


def test_states_are_those_of_numpy() -> None:
    own = np.random.default_rng(3).integers(0, 2**32, (100, 4), dtype=np.uint32)
    common = np.arange(7, 11, dtype=np.uint32)
    found = states(Seeder(common, 4).seeds(own))
    for row, words in zip(found, own, strict=True):
        bits = np.random.PCG64(np.random.SeedSequence([*common, *words]))
        state = bits.state["state"]
        halves = [state[name] >> shift for name in ("state", "inc") for shift in (0, 64)]
        assert row.tolist() == [half & (2**64 - 1) for half in halves]
    assert swappable()
