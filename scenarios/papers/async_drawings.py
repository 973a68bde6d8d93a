"""Async, figures 1 and 2: the star, and one owner at a time, drawn from runs.

The paper draws them by hand, and reads figure 2 in two ways (section 3): the learner broadcasts,
or owners request. Each is a cell here; a sweep keeps no events, so that a cell's network is
simulated again to be drawn, with the same random streams, and the claims count what came out
otherwise. Nothing was published in numbers: 0 and 1 are what the text says.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from analysis import papers
from asyncdp_sim.core.arrays import Table
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.figures import spacetime
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.network import simulate
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.trace import Detail, EventKind, ExchangeOutcome, Trace
from asyncdp_sim.trace.spans import LOCK, Span, spans
from scenarios.papers.claims import result, unlike
from scenarios.papers.figure import read_figures
from scenarios.papers.problem import once, scenario

BOTH = REQUEST, BROADCAST = "request", "broadcast"
WINDOW = (0.0, 6.0)
"""Of the space–time drawings, in time units: three broadcasts."""
K = EventKind


@once(2)
def trace(found: Result) -> Trace:
    """Simulate the first replicate of a result again, and keep its events."""
    said = scenario(found)
    own = Streams(said.run.seed).within("replicate", found.replicates[0])
    return simulate(said.network, own, events=True)


def happened(found: Result) -> Table:
    """Return all events of a result's first replicate."""
    events = trace(found).events
    assert events is not None
    return events


def otherwise(found: Result) -> float:
    """Return how many updates of the drawn run are other ones than the result's."""
    names = ("k", "tick", "owner")
    drawn = [trace(found).updates[name] for name in names]
    return unlike(found.columns("updates", *names), drawn)


def count(found: Result, *kinds: EventKind) -> int:
    """Return how many events are of these kinds."""
    return int(np.isin(happened(found)["kind"], kinds).sum())


def locks(found: Result) -> list[Span]:
    """Return the learner's exchanges, one after the other."""
    every = spans(happened(found), trace(found).end_tick)
    return [span for span in every if span.name == LOCK]


def overlapping(found: Result) -> float:
    """Return how many exchanges begin before the one before them has ended."""
    return float(sum(later.start < one.end for one, later in pairwise(locks(found))))


def strangers(found: Result) -> float:
    """Return how many updates are not the end of an exchange with their own owner."""
    held = {(span.end, span.owner) for span in locks(found)}
    rows = happened(found)
    rows = rows[rows["kind"] == K.update_applied]
    return float(sum((row["tick"], row["owner"]) not in held for row in rows))


def turned_away(found: Result) -> float:
    """Return the share of requests that find the learner talking which are refused."""
    events, held = happened(found), locks(found)
    starts, ends = np.array([(span.start, span.end) for span in held]).T
    busy = refused = 0
    for row in events[np.isin(events["kind"], (K.request_refused, K.query_sent))]:
        place = int(np.searchsorted(starts, row["tick"], side="left")) - 1  # one begun before
        if place >= 0 and row["tick"] < ends[place]:
            busy += 1
            refused += int(row["kind"] == K.request_refused)
    return refused / busy if busy > 0 else float("nan")


def unheard(found: Result) -> float:
    """Return the share of queries to one owner each that it did not listen to."""
    events = happened(found)
    off = (events["kind"] == K.query_lost) & (events["detail"] == Detail.offline)
    return float(off.sum() / max(1, off.sum() + count(found, K.query_received)))


def irregular(found: Result) -> float:
    """Return the largest difference between two intervals of broadcasts, in ticks."""
    events = happened(found)
    return float(np.ptp(np.diff(events["tick"][events["kind"] == K.broadcast_sent])))


def survivors(found: Result) -> float:
    """Return how many answers overlapped another on air and were used all the same."""
    events = happened(found)
    on_air: dict[int, int] = {}
    met: set[int] = set()
    for row in events:
        if row["kind"] == K.answer_released:
            met |= {*on_air, row["message"]} if len(on_air) > 0 else set()
            on_air[row["message"]] = row["tick"]
        elif row["kind"] in (K.answer_delivered, K.answer_collided):
            on_air.pop(row["message"], None)
    used = set(trace(found).updates["message"].tolist())
    return float(len({int(each) for each in met} & used))


def collided(found: Result) -> float:
    """Return the share of answers sent that collided."""
    table = trace(found)
    return float(table.ended(ExchangeOutcome.collided).sum() / table.released.sum())


def answered(found: Result) -> float:
    """Return how many updates are made per answer that reaches the learner."""
    return trace(found).n_updates / count(found, K.answer_delivered)


def repeated(found: Result) -> float:
    """Return P(i_{k+1} = i_k) in units of 1/N, its value where i_k is uniform."""
    return float(found.summary["p_repeat"]) * found.n_owners


def elsewhere(found: Result) -> float:
    """Return how many exchanges are with another owner, or a server, and not with the learner."""
    return float(np.count_nonzero(trace(found).exchanges["peer"]))


def figure_1(sweep: Sweep) -> Sequence[Picture]:
    """Draw the star."""
    return [papers.structure(result(sweep, name), name=f"structure-{name}") for name in BOTH]


def figure_2(sweep: Sweep) -> Sequence[Picture]:
    """Draw the owner of each update in red, and what went to and fro for it."""
    drawn, (start, end) = [], WINDOW
    for name in BOTH:
        found = result(sweep, name)
        drawn.append(papers.sequence(found, name=f"sequence-{name}"))
        drawing = spacetime.diagram(found, start=start, end=end, happened=happened(found))
        drawn.append(replace(drawing, name=f"space-time-{name}"))
    return drawn


FIGURES = read_figures(Path(__file__).with_suffix(".toml"), globals())
"""In the paper's order."""
