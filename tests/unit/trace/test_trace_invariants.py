"""Each invariant has a trace that breaks it, and no other before it."""

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from asyncdp_sim.errors import InvariantError
from asyncdp_sim.trace import EventKind, Outcome, Trace, invariants
from asyncdp_sim.trace.vocabulary import EVENTS, EXCHANGES, OWNERS

K = EventKind


@dataclass
class Draft:
    """The tables of a valid trace, open to spoiling.

    Two owners. Message 1 (owner 1) is applied at 20, message 2 (owner 2) refused at 12, message 3
    (owner 2) read at 20, as message 1 ends, and applied at 40, message 4 (owner 1) in flight at
    the end, 60.
    """

    exchanges: np.ndarray = field(
        default_factory=lambda: np.array(
            [
                (1, 1, 10, 0, 15, 20, 0, Outcome.applied),
                (3, 2, 20, 1, 35, 40, 1, Outcome.applied),
                (4, 1, 50, 2, 55, 60, 2, Outcome.in_flight),
            ],
            dtype=EXCHANGES,
        )
    )
    owners: np.ndarray = field(
        default_factory=lambda: np.array([(1, 2, 0, 1.0), (2, 2, 1, 1.0)], dtype=OWNERS)
    )
    events: np.ndarray = field(
        default_factory=lambda: np.array(
            [
                (10, K.clock_tick, 1, 0, 0, 0),
                (10, K.request_sent, 1, 1, 0, 0),
                (10, K.query_sent, 1, 1, 0, 0),
                (12, K.clock_tick, 2, 0, 0, 0),
                (12, K.request_sent, 2, 2, 0, 0),
                (12, K.request_refused, 2, 2, 0, 0),
                (15, K.answer_released, 1, 1, 1, 0),
                (20, K.answer_delivered, 1, 1, 1, 0),
                (20, K.update_applied, 1, 1, 0, 0),
                (20, K.clock_tick, 2, 0, 0, 0),
                (20, K.request_sent, 2, 3, 0, 0),
                (20, K.query_sent, 2, 3, 0, 0),
                (35, K.answer_released, 2, 3, 1, 0),
                (40, K.answer_delivered, 2, 3, 1, 0),
                (40, K.update_applied, 2, 3, 0, 0),
                (50, K.clock_tick, 1, 0, 0, 0),
                (50, K.request_sent, 1, 4, 0, 0),
                (50, K.query_sent, 1, 4, 0, 0),
                (55, K.answer_released, 1, 4, 1, 0),
            ],
            dtype=EVENTS,
        )
    )
    end_tick: int = 60
    in_flight_total: int = 0
    one_on_one: bool = True

    def build(self) -> Trace:
        return Trace(
            self.end_tick,
            self.exchanges,
            self.owners,
            self.events,
            self.in_flight_total,
            self.one_on_one,
        )

    def set(self, table: str, row: int, **values: int) -> None:
        for name, value in values.items():
            getattr(self, table)[name][row] = value

    def forget(self, kind: EventKind) -> None:
        last = int(np.flatnonzero(self.events["kind"] == kind)[-1])
        self.events = np.delete(self.events, last)


def _swap_events(draft: Draft) -> None:
    draft.set("events", 5, tick=16)


BREAKS: dict[str, Callable[[Draft], None]] = {
    "an answer left before its query": lambda d: d.set("exchanges", 0, read_tick=16),
    "an exchange ended before its release": lambda d: d.set("exchanges", 2, release_tick=61),
    "an exchange ended after the run": lambda d: setattr(d, "end_tick", 59),
    "a message was read twice": lambda d: d.set("exchanges", 1, message=1),
    "updates are not numbered one by one": lambda d: d.set("exchanges", 1, end_k=2),
    "updates go back in time": lambda d: d.set(
        "exchanges", 0, read_tick=41, release_tick=42, end_tick=45
    ),
    "an exchange ended before it was read": lambda d: d.set("exchanges", 2, read_k=3),
    "staleness and jobs in flight do not balance": lambda d: setattr(d, "in_flight_total", 1),
    "a request ended twice": lambda d: d.set("owners", 0, attempts=1),
    "a request never ended": lambda d: d.set("owners", 0, attempts=4),
    "two exchanges overlap in a one-on-one protocol": lambda d: d.set("exchanges", 1, read_tick=19),
    "events go back in time": _swap_events,
}
_SOURCE = inspect.getsource(invariants)
_TALLIES = _SOURCE.split("tallies = {")[1].split("}")[0]
TALLIED = [
    kind
    for kind in EventKind.__members__
    if f"EventKind.{kind}:" in _TALLIES or f"tallies[EventKind.{kind}]" in _SOURCE
]


def test_the_draft_is_valid() -> None:
    trace = Draft().build()
    assert trace.updates["tick"].tolist() == [20, 40]
    assert trace.released.tolist() == [2, 1]


@pytest.mark.parametrize("broken", BREAKS)
def test_each_invariant_is_named_when_broken(broken: str) -> None:
    draft = Draft()
    BREAKS[broken](draft)
    with pytest.raises(InvariantError, match=f"contradicts itself: {broken}$"):
        draft.build()


@pytest.mark.parametrize("kind", TALLIED)
def test_events_and_tables_must_agree_on_each_tally(kind: str) -> None:
    draft = Draft()
    draft.forget(EventKind[kind])
    with pytest.raises(InvariantError, match=f"events and tables disagree on {kind}$"):
        draft.build()


def test_every_invariant_of_the_module_is_tested_here() -> None:
    """A new ``_require`` with no broken trace above fails this test."""
    calls = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(invariants)))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_require"
    ]
    said = {c.args[1].value for c in calls if isinstance(c.args[1], ast.Constant)}
    assert said == set(BREAKS)
    tallied = {"request_sent", "request_refused", "query_sent", "answer_released", "update_applied"}
    assert tallied <= set(TALLIED)


def test_half_open_intervals_may_touch() -> None:
    draft = Draft()
    draft.set("exchanges", 0, end_tick=20)
    draft.set("exchanges", 1, read_tick=20)
    assert draft.build().one_on_one


def test_exchanges_may_overlap_where_the_protocol_allows_it() -> None:
    """Staleness 1 and one job in flight just after update 1 balance."""
    draft = Draft(one_on_one=False, in_flight_total=1)
    draft.set("exchanges", 1, read_tick=19, read_k=0)
    assert draft.build().updates["staleness"].tolist() == [0, 1]


def test_an_exchange_of_no_time_is_valid() -> None:
    draft = Draft()
    draft.set("exchanges", 0, read_tick=20, release_tick=20)
    draft.build()


def test_an_error_of_the_simulator_is_not_an_input_error() -> None:
    from asyncdp_sim.errors import InputError

    assert not issubclass(InvariantError, InputError)
