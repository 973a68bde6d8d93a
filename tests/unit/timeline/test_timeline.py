import io
import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.network import Network, simulate
from asyncdp_sim.runs.writing import SHOWN
from asyncdp_sim.streams import Streams
from asyncdp_sim.trace import Detail, EventKind, Trace
from asyncdp_sim.trace.spans import ANSWER, COMPUTING, EXCHANGE, LOCK, QUERY, spans, union
from asyncdp_sim.trace.timeline import CHANNEL, LEARNER, trace_events, write_timeline
from asyncdp_sim.trace.vocabulary import EVENTS

ROOT = Path(__file__).parents[3]
SECOND = 10**9
SLOW = {"kind": "exponential", "mean": 0.2}
FIXED = {"kind": "constant", "value": 0.1}
LATENCY = {"request": FIXED, "query": FIXED, "answer": FIXED}
ON_OFF = {"kind": "on-off", "on": SLOW | {"mean": 4.0}, "off": SLOW | {"mean": 2.0}}
LOSSY = {"kind": "ideal", "loss": 0.3, "loss_query": 0.2, "loss_request": 0.2}
ALOHA = {"kind": "aloha", "airtime": 0.1, "retransmissions": 2}
NETWORKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "refuse": {"latency": LATENCY, "compute": SLOW, "availability": ON_OFF},
    "queue": {
        "latency": LATENCY,
        "compute": SLOW,
        "protocol": {"kind": "request", "busy": "queue"},
    },
    "lossy": {
        "latency": LATENCY,
        "compute": SLOW,
        "channel": LOSSY | {"retransmissions": 1},
        "protocol": {"kind": "request", "busy": "refuse", "timeout": 0.6},
    },
    "push": {"latency": LATENCY, "compute": SLOW, "protocol": {"kind": "push"}},
    "overlap": {"compute": SLOW, "protocol": {"kind": "push", "own_tick": "overlap"}},
    "aloha": {"protocol": {"kind": "push"}, "channel": ALOHA},
    "shared": {"compute": SLOW, "channel": ALOHA},
    "fresh": {"compute": SLOW, "channel": LOSSY | {"retransmissions": 2, "resend": "fresh"}},
    "broadcast": {
        "latency": LATENCY,
        "compute": SLOW,
        "protocol": {"kind": "broadcast", "interval": 1.0},
        "availability": ON_OFF,
    },
}


def traces(name: str, count: int = 1) -> list[Trace]:
    parts = NETWORKS[name]
    network = Network(answers_allowed=(300,) * 4, updates=80, until=200.0, **parts)
    streams = Streams(5)
    numbers = range(1, count + 1)
    return [simulate(network, streams.within("replicate", n), events=True) for n in numbers]


@dataclass(frozen=True)
class Made:
    """What a timeline needs of a trace."""

    events: Any
    end_tick: int
    n_owners: int


def made(rows: list[tuple[Any, ...]], end: float, n_owners: int = 2) -> Any:
    table = np.array(
        [
            (round(time * SECOND), EventKind[kind], owner, message, attempt, detail)
            for time, kind, owner, message, attempt, detail in rows
        ],
        dtype=EVENTS,
    )
    return Made(table, round(end * SECOND), n_owners)


def test_a_timeline_written_by_hand() -> None:
    trace = made(
        [
            (1.0, "clock_tick", 1, 0, 0, 0),
            (1.0, "request_sent", 1, 7, 0, 0),
            (1.25, "query_sent", 1, 7, 0, 0),
            (1.5, "query_received", 1, 7, 0, 0),
            (1.5, "went_offline", 2, 0, 0, 0),
            (1.6, "clock_dropped", 2, 0, 0, Detail.offline),
            (2.0, "answer_released", 1, 7, 1, 0),
            (2.000000001, "answer_delivered", 1, 7, 1, 0),
            (2.000000001, "update_applied", 1, 7, 0, 0),
        ],
        end=3.0,
    )
    found = trace_events(trace, 4)["traceEvents"]
    assert {event["pid"] for event in found} == {4}
    lasting = [
        (e["name"], e["tid"], e["ts"], e["dur"], e["args"]["end"]) for e in found if e["ph"] == "X"
    ]
    first = CHANNEL + 1
    assert lasting == [
        ("request", first, 1000000, 250000, "query_sent"),
        ("lock, owner 1", LEARNER, 1250000, 750000.001, "update_applied"),
        ("exchange", first, 1250000, 750000.001, "update_applied"),
        ("query", first, 1250000, 250000, "query_received"),
        ("offline", first + 1, 1500000, 1500000, "end of the run"),
        ("computing", first, 1500000, 500000, "answer_released"),
        ("answer", first, 2000000, 0.001, "answer_delivered"),
        ("answer of owner 1", CHANNEL, 2000000, 0.001, "answer_delivered"),
    ]
    instants = [(e["name"], e["tid"], e["ts"], e["args"]) for e in found if e["ph"] == "i"]
    assert instants == [
        ("tick", first, 1000000, {"owner": 1}),
        ("tick dropped", first + 1, 1600000, {"owner": 2, "detail": "offline"}),
        ("update", LEARNER, 2000000.001, {"owner": 1, "message": 7, "k": 1}),
    ]
    names = {e["tid"]: e["args"]["name"] for e in found if e["name"] == "thread_name"}
    assert names == {1: "learner", 2: "channel", 3: "owner 1", 4: "owner 2"}
    arrows = [(e["ph"], e["name"], e["tid"], e["ts"]) for e in found if e["ph"] in "sf"]
    assert arrows == [
        ("s", "request", first, 1000000),
        ("f", "request", LEARNER, 1250000),
        ("s", "query", LEARNER, 1250000),
        ("f", "query", first, 1500000),
    ]


@pytest.mark.parametrize("name", NETWORKS)
def test_any_timeline_is_well_formed(name: str) -> None:
    file = io.StringIO()
    write_timeline(file, traces(name, 2), (1, 2))
    said = json.loads(file.getvalue())
    events = said["traceEvents"]
    assert said["displayTimeUnit"] == "ms"
    tracks = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in events} <= tracks
    named = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert named == ["replicate 1", "replicate 2"]
    lasting = defaultdict(list)
    arrows = defaultdict(list)
    for event in events:
        assert event["ph"] in ("X", "i", "s", "f", "M")
        assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0
            begin = round(event["ts"] * 1000)
            lasting[event["pid"], event["tid"]].append((begin, begin + round(event["dur"] * 1000)))
        if event["ph"] in "sf":
            arrows[event["name"], event["id"]].append((event["ph"], event["ts"]))
    for found in lasting.values():
        open_until: list[int] = []
        for begin, end in sorted(found, key=lambda pair: (pair[0], -pair[1])):
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            assert not open_until or end <= open_until[-1], "neither nested nor apart"
            open_until.append(end)
    for ends in arrows.values():
        assert [phase for phase, _ in ends] == ["s", "f"]
        assert ends[0][1] <= ends[1][1]
    updates = [e["args"]["k"] for e in events if e["name"] == "update" and e["pid"] == 1]
    assert updates == list(range(1, len(updates) + 1))


@pytest.mark.parametrize("name", NETWORKS)
def test_spans_agree_with_the_tables(name: str) -> None:
    [trace] = traces(name)
    assert trace.events is not None
    found = spans(trace.events, trace.end_tick)
    assert all(0 <= span.start <= span.end <= trace.end_tick for span in found)
    sent = sum(span.name == ANSWER for span in found)
    assert sent == trace.exchanges["transmissions"].sum()
    locks = [span for span in found if span.name == LOCK]
    assert all(a.end <= b.start for a, b in pairwise(locks))
    assert (len(locks) > 0) == trace.one_on_one
    if name in ("fresh", "broadcast"):
        return
    known = {int(row["message"]): row for row in trace.exchanges}
    exchanges = [span for span in found if span.name == EXCHANGE]
    assert len(exchanges) == len(known)
    for span in exchanges:
        row = known[span.message]
        assert (span.start, span.end) == (row["read_tick"], row["end_tick"]), (span, row)


def test_the_lock_holds_through_answers_made_afresh() -> None:
    [trace] = traces("fresh")
    assert trace.events is not None
    locks = union([s for s in spans(trace.events, trace.end_tick) if s.name == LOCK])
    applied = trace.events[trace.events["kind"] == EventKind.update_applied]["tick"]
    ends = {end for _, end in locks}
    assert trace.recomputed > 0
    assert {int(tick) for tick in applied} <= ends


def computing(rows: list[tuple[Any, ...]]) -> list[tuple[int, float, float]]:
    trace = made(rows, end=9.0)
    found = [s for s in spans(trace.events, trace.end_tick) if s.name == COMPUTING]
    return [(s.message, s.start / SECOND, s.end / SECOND) for s in found]


def heard(time: float, owner: int, message: int) -> list[tuple[Any, ...]]:
    sent = (time, "broadcast_sent", 0, message, 0, 0)
    return [sent, (time, "query_received", owner, message, 0, 0)]


def test_a_newer_query_to_all_leaves_the_work_under_way_alone() -> None:
    rows = [
        *heard(2.0, 1, 9),
        (3.7, "clock_tick", 1, 0, 0, 0),
        *heard(4.0, 1, 17),
        (4.1, "answer_released", 1, 15, 1, 0),
        (4.2, "answer_lost", 1, 15, 1, Detail.noise),
        *heard(6.0, 1, 20),
        (6.5, "answer_released", 1, 19, 1, 0),  # the same answer, made afresh
        (6.6, "answer_delivered", 1, 19, 1, 0),
        (7.0, "clock_tick", 1, 0, 0, 0),
        (7.1, "clock_tick", 1, 0, 0, 0),  # nothing is left to answer
        (7.5, "answer_released", 1, 21, 1, 0),
    ]
    assert computing(rows) == [(15, 3.7, 4.1), (19, 4.2, 6.5), (21, 7.0, 7.5)]


def test_a_query_to_all_that_is_dropped_begins_nothing() -> None:
    rows = [
        *heard(1.0, 1, 1),
        *heard(2.0, 1, 3),
        (2.0, "query_lost", 1, 3, 0, Detail.busy),
        (2.5, "answer_released", 1, 2, 1, 0),
    ]
    assert computing(rows) == [(2, 1.0, 2.5)]
    trace = made(rows, end=9.0)
    assert [s.message for s in spans(trace.events, trace.end_tick) if s.name == QUERY] == [1, 3]


@pytest.mark.parametrize("channel", ["ideal", "aloha"])
@pytest.mark.parametrize("latency", [{}, LATENCY | {"query": SLOW}])
@pytest.mark.parametrize("own_tick", ["drop", "overlap"])
@pytest.mark.parametrize("answer_at", ["next-tick", "after-delay"])
def test_answers_to_broadcasts_are_computed_from_where_they_were_begun(
    answer_at: str, own_tick: str, latency: dict[str, Any], channel: str
) -> None:
    protocol = {"kind": "broadcast", "interval": 0.5, "superseded": "discard"}
    said = protocol | {"answer_at": answer_at, "own_tick": own_tick}
    network = Network(
        answers_allowed=(40,) * 4, updates=80, until=200.0, protocol=said, compute=SLOW,
        latency=latency, availability=ON_OFF,
        channel={"kind": "ideal"} if channel == "ideal" else ALOHA | {"airtime": 0.05},
    )  # fmt: skip
    trace = simulate(network, Streams(7).within("replicate", 1), events=True)
    assert trace.events is not None
    found = [s for s in spans(trace.events, trace.end_tick) if s.name == COMPUTING]
    rows = trace.exchanges[trace.exchanges["transmissions"] > 0]
    known = {
        int(row["message"]): (int(row["request_tick"]), int(row["release_tick"])) for row in rows
    }
    assert len(known) > 50
    assert {s.message: (s.start, s.end) for s in found} == known


def test_the_same_traces_give_the_same_bytes(tmp_path: Path) -> None:
    write_timeline(tmp_path / "a.json", traces("lossy", 2), (1, 2))
    write_timeline(tmp_path / "b.json", traces("lossy", 2), (1, 2))
    written = (tmp_path / "a.json").read_bytes()
    assert written == (tmp_path / "b.json").read_bytes()
    one = trace_events(traces("lossy")[0], 1)
    both = json.loads(written)["traceEvents"]
    assert one["traceEvents"] == [event for event in both if event["pid"] == 1]


def test_events_are_needed() -> None:
    with pytest.raises(ValueError, match="whose events were kept"):
        trace_events(Made(None, 1, 1), 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [1, 40, 10**6])
def test_a_timeline_of_the_first_events_is_that_of_a_run_that_ended_there(most):
    [trace] = traces("refuse")
    assert trace.events is not None
    first = trace.events[:most]
    end = trace.end_tick if most > len(trace.events) else int(first["tick"][-1])
    cut: Any = SimpleNamespace(events=first, end_tick=end, n_owners=trace.n_owners)
    some, wanted = io.StringIO(), io.StringIO()
    write_timeline(some, [trace], [1], most=most)
    write_timeline(wanted, [cut], [1])
    assert some.getvalue() == wanted.getvalue()


def test_the_docs_say_how_many_events_a_results_timeline_shows():
    said = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
    assert f"up to its {SHOWN:,}nd event" in said
