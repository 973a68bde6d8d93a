"""Tables: what they hold, and that nobody can change them."""

from itertools import pairwise

import numpy as np
import pytest

from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.measures import busy_ticks, gaps, repeated, shares, summarise, updates_until_all
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.trace import Ending, EventRecorder, Exchange, ExchangeOutcome, Recorder, Trace
from asyncdp_sim.trace.vocabulary import EVENTS, EXCHANGES


@pytest.fixture(scope="module")
def trace() -> Trace:
    network = Network(
        answers_allowed=(100,) * 3,
        updates=200,
        until=80.0,
        latency=Latency(request=Exponential(mean=0.1), answer=Exponential(mean=0.1)),
        compute=Exponential(mean=0.2),
    )
    return simulate(network, Streams(2).within("replicate", 1), events=True)


@pytest.mark.parametrize("name", ["exchanges", "owners", "events", "updates", "released"])
def test_no_table_can_be_written(trace: Trace, name: str) -> None:
    table = getattr(trace, name)
    assert len(table) > 0
    assert not table.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        table[0] = table[1]


def test_updates_are_the_applied_exchanges(trace: Trace) -> None:
    applied = [x for x in trace.exchanges if x["outcome"] == ExchangeOutcome.applied]
    assert len(applied) == len(trace.updates) > 50
    for k, (row, x) in enumerate(zip(trace.updates, applied, strict=True)):
        assert x["end_k"] == k
        assert (row["tick"], row["owner"]) == (x["end_tick"], x["owner"])
        assert (row["read_tick"], row["message"]) == (x["read_tick"], x["message"])
        assert row["staleness"] == x["end_k"] - x["read_k"]


def test_released_counts_every_answer_that_left(trace: Trace) -> None:
    count = [0, 0, 0]
    for x in trace.exchanges:
        count[x["owner"] - 1] += x["outcome"] != ExchangeOutcome.unreleased
    assert trace.released.tolist() == count
    assert trace.n_owners == 3


def test_rows_are_packed_as_the_tables_are_laid_out() -> None:
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


def test_measures_equal_slow_loops(trace: Trace) -> None:
    owners = trace.updates["owner"].tolist()
    ticks = trace.updates["tick"].tolist()
    k = max(owners.index(i) + 1 for i in (1, 2, 3))
    assert updates_until_all(trace) == k
    assert repeated(trace) == sum(a == b for a, b in pairwise(owners))
    assert shares(trace).tolist() == [owners.count(i) / len(owners) for i in (1, 2, 3)]
    assert np.allclose(np.cumsum(gaps(trace)), np.array(ticks) / 1e9, rtol=0, atol=1e-12)
    busy = sum(int(x["end_tick"] - x["read_tick"]) for x in trace.exchanges)
    assert busy_ticks(trace) == busy
    said = summarise([trace])
    assert said.utilisation == busy / trace.end_tick
    refused = int(trace.owners["refused"].sum())
    assert said.refusal_rate == refused / (refused + len(trace.exchanges))
    assert (said.updates, said.mean_staleness, said.collision_rate) == (len(owners), 0, None)
    assert said.throughput == pytest.approx(len(owners) / (trace.end_tick / 1e9))


def test_busy_ticks_count_overlapping_exchanges_once() -> None:
    rng = np.random.default_rng(3)
    rows = np.zeros(30, dtype=EXCHANGES)
    rows["message"] = np.arange(30)
    rows["owner"] = 1
    rows["request_tick"] = rows["read_tick"] = rows["release_tick"] = rng.integers(0, 200, 30)
    rows["end_tick"] = rows["read_tick"] + rng.integers(0, 30, 30)
    rows["outcome"] = ExchangeOutcome.in_flight
    rows["transmissions"] = 1
    owners = closed(Recorder(1, Kernel()), 300).owners.copy()
    owners["attempts"] = 30
    trace = Trace(
        update_ticks=np.zeros(0, dtype=np.int64),
        end_tick=300,
        exchanges=rows,
        owners=owners,
        events=None,
        in_flight_total=0,
        recomputed=0,
        on_air_ticks=0,
        ending=Ending.horizon,
        one_on_one=False,
        one_each=False,
    )
    busy = {t for x in rows for t in range(x["read_tick"], x["end_tick"])}
    assert busy_ticks(trace) == len(busy)


def test_measures_of_nothing_are_none() -> None:
    said = summarise([closed(Recorder(4, Kernel()), 0)])
    assert said.updates == 0
    assert said.p_repeat_uniform == 0.25
    nothing = (said.throughput, said.utilisation, said.refusal_rate, said.p_repeat)
    assert nothing == (None, None, None, None)
    assert said.mean_staleness is None
