"""The words of a trace: what can happen, how an exchange can end, and the columns of its tables."""

from enum import IntEnum

import numpy as np


class EventKind(IntEnum):
    """What happened, at one tick."""

    clock_tick = 0
    """An owner's clock ticked and the owner was free to act on it."""
    clock_dropped = 1
    """A clock ticked while its owner was busy or offline (see the detail)."""
    request_sent = 2
    """An owner asked the learner for an exchange."""
    request_refused = 3
    """The request found the learner locked."""
    query_sent = 4
    """The learner read its model for this owner (and, under ``request``, locked itself)."""
    answer_released = 5
    """The first transmission of a distinct noisy answer began: the privacy charge falls here."""
    answer_delivered = 6
    """The answer reached the learner."""
    update_applied = 7
    """The learner used the answer; k grew by one."""
    budget_exhausted = 8
    """The owner released the last answer that its budget allows."""
    went_online = 9
    """The owner came online."""
    went_offline = 10
    """The owner went offline; one that starts so says so at time 0."""


class Detail(IntEnum):
    """What an event's kind leaves open."""

    none = 0
    busy = 1
    """The owner is sending, waiting or being served."""
    offline = 2
    """The owner is not online."""


class Outcome(IntEnum):
    """How far the exchange that a query began has come."""

    unreleased = 0
    """The run ended before the answer was released."""
    in_flight = 1
    """Its answer was released and had not arrived when the run ended."""
    applied = 2
    """Its answer was used for an update."""


EXCHANGES = np.dtype(
    [
        ("message", "i8"),
        ("owner", "i4"),
        ("read_tick", "i8"),
        ("read_k", "i8"),
        ("release_tick", "i8"),
        ("end_tick", "i8"),
        ("end_k", "i8"),
        ("outcome", "i1"),
    ]
)
"""One row per query, in the order of ending, open ones last; owners are numbered from 1.

``read_k`` and ``end_k`` count the updates applied before the read and before the end. What the
end of the run cut short (see ``outcome``) is dated to the end of the run.
"""

UPDATES = np.dtype(
    [("tick", "i8"), ("owner", "i4"), ("read_tick", "i8"), ("staleness", "i4"), ("message", "i8")]
)
"""One row per answer used, in the order of k = 1, 2, …: the applied exchanges, seen by update."""

OWNERS = np.dtype([("owner", "i4"), ("attempts", "i8"), ("refused", "i8"), ("online", "f8")])
"""One row per owner: requests sent, refused on arrival, share of the run that it was online.

Where availability is drawn for each tick, the share is that of its ticks; NaN without any.
"""

EVENTS = np.dtype(
    [
        ("tick", "i8"),
        ("kind", "i1"),
        ("owner", "i4"),
        ("message", "i8"),
        ("attempt", "i2"),
        ("detail", "i1"),
    ]
)
"""One row per event, in the order of happening. Message, attempt and detail 0 are none."""
