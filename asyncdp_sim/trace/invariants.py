"""What every trace must satisfy; checked whenever one is built, in users' runs too."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import InvariantError
from asyncdp_sim.trace.vocabulary import EventKind, Outcome

if TYPE_CHECKING:
    from asyncdp_sim.trace.tables import Trace


def check(trace: "Trace") -> None:
    """Raise if the tables of a trace contradict each other.

    Raises
    ------
    InvariantError
        Naming the rule that is broken.
    """
    _check_exchanges(trace)
    _check_requests(trace)
    if trace.events is not None:
        _check_events(trace, trace.events)


def _check_exchanges(trace: "Trace") -> None:
    rows = trace.exchanges
    read, release, end = rows["read_tick"], rows["release_tick"], rows["end_tick"]
    _require(np.all(read <= release), "an answer left before its query")
    _require(np.all(release <= end), "an exchange ended before its release")
    _require(np.all(end <= trace.end_tick), "an exchange ended after the run")
    _require(len(np.unique(rows["message"])) == len(rows), "a message was read twice")

    applied = rows[rows["outcome"] == Outcome.applied]
    numbered = np.array_equal(applied["end_k"], np.arange(len(applied)))
    _require(numbered, "updates are not numbered one by one")
    _require(np.all(np.diff(applied["end_tick"]) >= 0), "updates go back in time")
    _require(np.all(rows["read_k"] <= rows["end_k"]), "an exchange ended before it was read")
    # Σ staleness of finished and open jobs = Σ over updates of the jobs in flight just after it.
    staleness = int(np.sum(rows["end_k"] - rows["read_k"]))
    _require(staleness == trace.in_flight_total, "staleness and jobs in flight do not balance")


def _check_requests(trace: "Trace") -> None:
    owners, rows = trace.owners, trace.exchanges
    served = np.bincount(rows["owner"], minlength=len(owners) + 1)[1:]
    waiting = owners["attempts"] - owners["refused"] - served
    _require(np.all(waiting >= 0), "a request ended twice")
    if trace.one_on_one:
        _require(np.all(waiting <= 1), "a request never ended")
        order = np.lexsort((rows["end_tick"], rows["read_tick"]))
        overlap = rows["end_tick"][order][:-1] > rows["read_tick"][order][1:]
        _require(not np.any(overlap), "two exchanges overlap in a one-on-one protocol")


def _check_events(trace: "Trace", events: npt.NDArray[np.void]) -> None:
    owners = trace.owners
    _require(np.all(np.diff(events["tick"]) >= 0), "events go back in time")
    tallies = {
        EventKind.request_refused: int(owners["refused"].sum()),
        EventKind.query_sent: len(trace.exchanges),
        EventKind.answer_released: int(trace.released.sum()),
        EventKind.update_applied: len(trace.updates),
    }
    if trace.one_on_one:  # every tick that finds its owner free is an attempt
        attempts = int(owners["attempts"].sum())
        tallies[EventKind.clock_tick] = attempts
        tallies[EventKind.request_sent] = attempts
        tallies[EventKind.answer_delivered] = len(trace.updates)
    for kind, tally in tallies.items():
        seen = int(np.count_nonzero(events["kind"] == kind))
        _require(seen == tally, f"events and tables disagree on {kind.name}")


def _require(holds: object, broken: str) -> None:
    if not holds:
        raise InvariantError(f"the trace contradicts itself: {broken}")
