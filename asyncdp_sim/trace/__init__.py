"""Event vocabulary, recorder, and immutable tables with invariants."""

from asyncdp_sim.trace.recorder import EventRecorder, Exchange, OccupationRecorder, Recorder
from asyncdp_sim.trace.tables import Trace
from asyncdp_sim.trace.vocabulary import RELEASED, Detail, Ending, EventKind, ExchangeOutcome
