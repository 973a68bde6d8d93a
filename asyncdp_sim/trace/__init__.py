"""Event vocabulary, recorder, and immutable tables with invariants."""

from asyncdp_sim.trace.recorder import EventRecorder, Exchange, Recorder
from asyncdp_sim.trace.tables import Ending, Trace
from asyncdp_sim.trace.vocabulary import Detail, EventKind, Outcome

__all__ = [
    "Detail",
    "Ending",
    "EventKind",
    "EventRecorder",
    "Exchange",
    "Outcome",
    "Recorder",
    "Trace",
]
