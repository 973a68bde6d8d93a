"""Each invariant has a trace that breaks it, and no other before it."""

import ast
import inspect
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import InvariantError
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.measures.summary import summarise
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.results.columns import update_columns
from asyncdp_sim.trace import Ending, EventRecorder, Exchange, ExchangeOutcome, Recorder, Trace
from asyncdp_sim.trace import EventKind as K
from asyncdp_sim.trace import tables as invariants
from asyncdp_sim.trace.vocabulary import EVENTS, EXCHANGES, OCCUPATION, OWNERS
from tests.tables import table
from tests.together import together
from tests.traces import network, traced

# Each invariant has a trace that breaks it, and no other before it.

TABLES = table(__file__, "draft.toml")
WORDS = {**K.__members__, **ExchangeOutcome.__members__, **Ending.__members__}


LAYOUTS = {
    "exchanges": EXCHANGES,
    "owners": OWNERS,
    "events": EVENTS,
    "occupation": OCCUPATION,
}


def filled(name: str, layout: np.dtype) -> np.ndarray:
    rows = [tuple(WORDS.get(cell, cell) for cell in row) for row in TABLES[name]]
    return np.array(rows, dtype=layout)


class Draft:
    """The tables of a valid trace, open to spoiling."""

    def __init__(self, **changes: Any) -> None:
        for name, layout in LAYOUTS.items():
            setattr(self, name, filled(name, layout))
        self.spoil([TABLES["run"], changes])

    def build(self) -> Trace:
        """Return the trace, whose updates are at the ticks of the applied exchanges."""
        applied = self.exchanges[self.exchanges["outcome"] == ExchangeOutcome.applied]
        several = self.answers_per_update
        ticks = applied["end_tick"][several - 1 :: several].astype(np.int64)
        return Trace(**vars(self), update_ticks=ticks)

    def set(self, table: str, row: int, **values: int | str) -> None:
        for name, value in values.items():
            getattr(self, table)[name][row] = WORDS.get(value, value)

    def forget(self, kind: K) -> None:
        last = int(np.flatnonzero(self.events["kind"] == kind)[-1])
        self.events = np.delete(self.events, last)

    def spoil(self, changes: list[Any]) -> "Draft":
        """Change fields of the draft, or of rows; forget an event, or do what has a name."""
        for change in changes:
            if isinstance(change, dict):
                vars(self).update({name: WORDS.get(x, x) for name, x in change.items()})
            elif isinstance(change, list):
                self.set(*change[:2], **change[2])
            elif change in TABLES:
                self.spoil(TABLES[change])
            else:
                self.forget(K[change])
        return self


BREAKS = [(said, changes) for said, *changes in TABLES["breaks"]]
_SOURCE = inspect.getsource(invariants)
_TALLIES = _SOURCE.split("tallies = {")[1].split("}")[0]
TALLIED = [
    kind
    for kind in K.__members__
    if f"EventKind.{kind}:" in _TALLIES or f"tallies[EventKind.{kind}]" in _SOURCE
]


@together
@pytest.mark.parametrize(("broken", "changes"), BREAKS, ids=[broken for broken, _ in BREAKS])
def test_each_invariant_is_named_when_broken(broken, changes):
    with pytest.raises(InvariantError, match=f"contradicts itself: {broken}$"):
        Draft().spoil(changes).build()


def test_a_run_may_end_with_the_update_that_reached_the_target():
    draft = Draft(ending=Ending.target, end_tick=40)
    draft.exchanges, draft.events = draft.exchanges[:2], draft.events[:15]
    draft.occupation["idle"] -= 20
    draft.set("owners", 0, attempts=1)
    assert draft.build().ending is Ending.target


@pytest.mark.parametrize("kind", TALLIED)
def test_events_and_tables_must_agree_on_each_tally(kind):
    with pytest.raises(InvariantError, match=f"events and tables disagree on {kind}$"):
        Draft().spoil([kind]).build()


@pytest.mark.parametrize("together", range(1, 8))
def test_events_are_looked_through_piece_by_piece(together, monkeypatch):
    """Wherever two pieces meet."""
    monkeypatch.setattr(invariants, "_TOGETHER", together)
    Draft().build()
    with pytest.raises(InvariantError, match=r"events go back in time$"):
        Draft().spoil([["events", 5, {"tick": 16}]]).build()
    with pytest.raises(InvariantError, match=r"disagree on update_applied$"):
        Draft().spoil(["update_applied"]).build()


def test_every_invariant_of_the_module_is_tested_here():
    """A new ``_require`` with no broken trace above fails this test."""
    calls = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(invariants)))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_require"
    ]
    said = Counter(c.args[1].value for c in calls if isinstance(c.args[1], ast.Constant))
    broken = Counter(message for message, _ in BREAKS)
    assert set(said) == set(broken)
    assert all(broken[message] >= count for message, count in said.items())
    told = "request_sent request_refused query_sent answer_released answer_delivered update_applied"
    assert set(TALLIED) == set(told.split())


@pytest.mark.parametrize("case", TABLES["holds"], ids=lambda case: case["said"])
def test_a_draft_is_valid(case):
    trace = Draft().spoil(case["changes"]).build()
    assert trace.released.tolist() == case["released"]
    updates = trace.updates[["k", "tick", "staleness"]].tolist()
    assert list(map(list, updates)) == case["updates"]
    assert trace.n_updates == len({k for k, *_ in updates}) == len(trace.update_ticks)
    for outcome, ended in case.get("ended", {}).items():
        assert trace.ended(ExchangeOutcome[outcome]).tolist() == ended


# Tables of a trace, and the column of peers.

# Tables: what they hold, and that nobody can change them.


@pytest.fixture(scope="module")
def trace():
    often = Exponential(mean=0.1)
    latency = {"request": often, "answer": often}
    service = Exponential(mean=0.2)
    lively = network(3, 100, updates=200, until=80.0, latency=latency, compute=service)
    return traced(lively, 2)


@pytest.mark.parametrize("name", ["exchanges", "owners", "events", "updates", "released"])
def test_no_table_can_be_written(trace, name):
    table = getattr(trace, name)
    assert len(table) > 0
    assert not table.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        table[0] = table[1]


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


def test_measures_of_nothing_are_none():
    how = {"on_air_ticks": 0, "one_on_one": True, "one_each": True}
    said = summarise([Recorder(4, Kernel()).trace(0, Ending.horizon, **how)])
    assert (said["updates"], said["p_repeat_uniform"]) == (0, 0.25)
    for name in ("throughput", "utilisation", "refusal_rate", "p_repeat", "mean_staleness"):
        assert said[name] is None


# The column ``peer`` of ``updates``: whose model was read, where there are several.


def columns(**protocol):
    return update_columns([traced(network(3, 20, updates=10, protocol=protocol))], [1])


def test_neighbours_name_each_other_and_clients_the_server_that_they_read():
    found = columns(kind="gossip", graph={"kind": "ring"})
    pairs = defaultdict(set)
    for k, *pair in zip(*(found[name].tolist() for name in ("k", "owner", "peer")), strict=True):
        pairs[k].add(tuple(pair))
    for both in pairs.values():
        assert {(peer, owner) for owner, peer in both} == both
        assert len(both) == 2
    read = columns(kind="servers", count=2, read="minimum-wait", window=2)["peer"]
    assert set(read.tolist()) <= {1, 2}


def test_one_learner_needs_no_name():
    assert "peer" not in columns(kind="request")
    assert "peer" not in columns(kind="rounds")
