"""Networks whose owners may withhold answers: who must be asked, what is refused, how they end."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Latency, Network, learner, simulate
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.network.protocols import Broadcast, Protocol, Push, Request
from asyncdp_sim.trace import Ending, EventKind, ExchangeOutcome, Trace
from asyncdp_sim.trace.spans import COMPUTING, EXCHANGE, LOCK, spans
from tests.ordering.scene import Scripted


class Owner(Scripted):
    """Owner 1 keeps all of its answers to itself."""

    def withholds(self, owner: int, message: int) -> bool:
        super().withholds(owner, message)
        return owner == 1


class Everybody(Scripted):
    def withholds(self, owner: int, message: int) -> bool:
        super().withholds(owner, message)
        return True


def network(**fields: Any) -> Network:
    parts = {"answers_allowed": (20, 20), "updates": 20, "compute": Exponential(mean=0.2)}
    return Network(**{**parts, "withholds": True, **fields})


def traced(learning: Scripted, **fields: Any) -> Trace:
    scope = Streams(3).within("replicate", 1)
    return simulate(network(**fields), scope, learning=learning, events=True)


@pytest.mark.parametrize("flag", ["withholds", "stops"])
def test_somebody_must_be_asked(flag: str) -> None:
    asks = Network(answers_allowed=(2, 2), updates=2, **{flag: True})
    with pytest.raises(ValueError, match="depends on the model: such a network needs a learning"):
        simulate(asks, Streams(1).within("replicate", 1))
    simulate(asks, Streams(1).within("replicate", 1), learning=Scripted())


def test_a_network_that_asks_nobody_keeps_its_name() -> None:
    plain = network(withholds=False)
    assert "withholds" in plain.model_dump()
    others = {network().digest(1, 2), network(withholds=False, stops=True).digest(1, 2)}
    assert len(others | {plain.digest(1, 2)}) == 3
    assert Network(answers_allowed=(2, 2), updates=2).digest(1, 10) == "7930cc71cafcf897"


EACH = pytest.mark.parametrize(
    "protocol",
    [
        Request(),
        Request(busy="queue"),
        Request(timeout=2.0),
        Push(),
        Push(own_tick="overlap"),
        Broadcast(interval=0.5),
        Broadcast(interval=0.5, answer_at="after-delay"),
    ],
    ids=lambda p: f"{p.kind} {getattr(p, 'busy', '')}{getattr(p, 'own_tick', '')}",
)


@EACH
def test_who_withholds_spends_nothing_and_takes_no_part(protocol: Protocol) -> None:
    trace = traced(Owner(), protocol=protocol)
    assert trace.ending is Ending.updates
    assert trace.released[0] == 0
    assert set(trace.updates["owner"].tolist()) == {2}
    assert trace.ended(ExchangeOutcome.withheld)[0] > 3
    of_one = trace.exchanges[trace.exchanges["owner"] == 1]
    assert set(of_one["outcome"].tolist()) <= {
        ExchangeOutcome.withheld, ExchangeOutcome.unreleased, ExchangeOutcome.abandoned,
    }  # fmt: skip
    assert np.all(of_one["transmissions"] == 0)


@EACH
def test_all_silent_for_ever_stalls_and_the_horizon_comes_first(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "ATTEMPTS", 300)
    monkeypatch.setattr(learner, "_BETWEEN", 20)
    trace = traced(Everybody(), protocol=protocol)
    assert trace.ending is Ending.stalled
    assert trace.n_updates == trace.released.sum() == 0
    cut = traced(Everybody(), protocol=protocol, until=5.0)
    assert (cut.ending, cut.end_tick) == (Ending.horizon, 5 * 10**9)


def test_one_clock_for_all_is_the_same_to_those_who_withhold() -> None:
    crowd = PoissonClock(population="superposed")
    trace = traced(Owner(), clock=crowd)
    assert trace.released.tolist() == [0, 20]
    assert trace.ended(ExchangeOutcome.withheld)[0] > 3


@pytest.mark.parametrize("protocol", [Request(), Broadcast(interval=0.5)], ids=lambda p: p.kind)
def test_what_is_drawn_of_a_withheld_answer(protocol: Protocol) -> None:
    """It was computed and not sent; the exchange, and the lock, end as it is withheld."""
    trace = traced(Owner(), protocol=protocol, latency=Latency(query=Constant(value=0.1)))
    silent = trace.events[trace.events["kind"] == EventKind.answer_withheld]
    found = spans(trace.events, trace.end_tick)
    names = (COMPUTING, EXCHANGE, *([LOCK] if protocol.kind == "request" else []))
    for event in silent:
        own = {s.name: s for s in found if (s.owner, s.message) == (1, event["message"])}
        for name in names:
            assert own[name].ending is EventKind.answer_withheld
            assert own[name].end == event["tick"]
        assert own[COMPUTING].end > own[COMPUTING].start
        assert "answer" not in own
    assert len(silent) > 3
