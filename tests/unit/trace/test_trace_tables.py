"""Tables of a trace, and the column of peers."""

import numpy as np
import pytest

from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.measures import summarise
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.results.columns import update_columns
from asyncdp_sim.trace import Ending, EventRecorder, Exchange, ExchangeOutcome, Recorder, Trace
from asyncdp_sim.trace.vocabulary import EVENTS, EXCHANGES

# Tables: what they hold, and that nobody can change them.


@pytest.fixture(scope="module")
def trace():
    network = Network(
        answers_allowed=(100,) * 3,
        updates=200,
        until=80.0,
        latency=Latency(request=Exponential(mean=0.1), answer=Exponential(mean=0.1)),
        compute=Exponential(mean=0.2),
    )
    return simulate(network, Streams(2).within("replicate", 1), events=True)


@pytest.mark.parametrize("name", ["exchanges", "owners", "events", "updates", "released"])
def test_no_table_can_be_written(trace, name):
    table = getattr(trace, name)
    assert len(table) > 0
    assert not table.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        table[0] = table[1]


def test_updates_are_the_applied_exchanges(trace):
    applied = [x for x in trace.exchanges if x["outcome"] == ExchangeOutcome.applied]
    assert len(applied) == len(trace.updates) > 50
    for k, (row, x) in enumerate(zip(trace.updates, applied, strict=True)):
        assert x["end_k"] == k
        assert (row["tick"], row["owner"]) == (x["end_tick"], x["owner"])
        assert (row["read_tick"], row["message"]) == (x["read_tick"], x["message"])
        assert row["staleness"] == x["end_k"] - x["read_k"]


def test_messages_are_numbered_from_1(trace):
    assert trace.exchanges["message"].min() == 1
    assert trace.events["message"][trace.events["message"] > 0].min() == 1


def test_released_counts_every_answer_that_left(trace):
    count = [0, 0, 0]
    for x in trace.exchanges:
        count[x["owner"] - 1] += x["outcome"] != ExchangeOutcome.unreleased
    assert trace.released.tolist() == count
    assert trace.n_owners == 3


def test_rows_are_packed_as_the_tables_are_laid_out():
    """The largest values of every column survive."""
    kernel = Kernel()
    recorder = EventRecorder(1, kernel)
    big = 2**62
    exchange = Exchange(big + 1, 2**31 - 1, big + 2, big + 3, big + 4)
    exchange.release_tick, exchange.outcome = big + 5, ExchangeOutcome.applied
    exchange.transmissions, exchange.peer = 2**31 - 2, 2**31 - 3
    recorder.exchange(exchange, big + 6, big + 7)
    rows = np.frombuffer(bytes(recorder._rows), dtype=EXCHANGES)
    read = (
        *(big + 1, 2**31 - 1, 2**31 - 3, big + 2, big + 3, big + 4, big + 5, big + 6, big + 7),
        *(2**31 - 2, ExchangeOutcome.applied),
    )
    assert rows.tolist() == [read]
    kernel.tick = big
    recorder.event(7, 2**31 - 1, big + 7, 2**15 - 1, 2**7 - 1)
    assert recorder.event_table().dtype == EVENTS
    assert recorder.event_table().tolist() == [(big, 7, 2**31 - 1, big + 7, 2**15 - 1, 2**7 - 1)]


def closed(recorder: Recorder, end_tick: int) -> Trace:
    return recorder.trace(end_tick, Ending.horizon, on_air_ticks=0, one_on_one=True, one_each=True)


def test_measures_of_nothing_are_none():
    said = summarise([closed(Recorder(4, Kernel()), 0)])
    assert said.updates == 0
    assert said.p_repeat_uniform == 0.25
    nothing = (said.throughput, said.utilisation, said.refusal_rate, said.p_repeat)
    assert nothing == (None, None, None, None)
    assert said.mean_staleness is None


# The column ``peer`` of ``updates``: whose model was read, where there are several.


def columns(**protocol: object) -> dict[str, np.ndarray]:
    asked = parse(Protocol, protocol)
    several = None if asked.makes_updates else 1
    network = Network(
        answers_allowed=(20,) * 3, updates=10, protocol=asked, answers_per_update=several
    )
    return update_columns([simulate(network, Streams(1).within("replicate", 1))], [1])


def test_neighbours_name_each_other():
    found = columns(kind="gossip", graph={"kind": "ring"})
    pairs: dict[int, set[tuple[int, int]]] = {}
    for k, owner, peer in zip(found["k"], found["owner"], found["peer"], strict=True):
        pairs.setdefault(int(k), set()).add((int(owner), int(peer)))
    for both in pairs.values():
        assert {(peer, owner) for owner, peer in both} == both
        assert len(both) == 2


def test_clients_name_the_server_that_they_read():
    found = columns(kind="servers", count=2, read="minimum-wait", window=2)
    assert set(found["peer"].tolist()) <= {1, 2}


def test_one_learner_needs_no_name():
    assert "peer" not in columns(kind="request")
    assert "peer" not in columns(kind="rounds")
