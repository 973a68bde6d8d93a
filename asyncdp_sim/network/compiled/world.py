"""The flat state of a network, as the compiled loop holds it."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

CLOCK, REQUEST, QUERY, COMPUTE, ANSWER, RETRY, ONLINE, OFFLINE, PRESENCE = range(9)
"""Stages, each of which has a law and a stream per owner; and what happens when they end."""
TURN, ASK_AGAIN, WATCH = 9, 10, 11
"""What else happens."""
STAGES = ("clock", "request", "query", "compute", "answer", "retry", "online", "offline",
          "availability")  # fmt: skip
"""Names of the stages' streams."""
INSTANT, CONSTANT, EXPONENTIAL, LOGNORMAL, GAMMA, UNIFORM = range(6)
"""Laws: no event, always the same, and those that NumPy draws."""
DISTRIBUTIONS = {
    "exponential": EXPONENTIAL, "lognormal": LOGNORMAL, "gamma": GAMMA, "uniform": UNIFORM,
}  # fmt: skip
"""The laws that NumPy draws, by its names for them."""
DONE, ROOM, STREAMS, TICKS = 0, 1, 2, 3
"""Why the loop came back: nothing is left to happen, a table is full, an owner has no streams, the
one clock of all owners has no further tick."""
EVENTS_EACH = 16
"""More events than are ever noted between two looks at the room that is left."""
ORDER = 56
"""Bits of the running number below a priority."""

LAW = np.dtype([("code", "i8"), ("first", "f8"), ("second", "f8"), ("extra", "i8")])
"""A law: its code, its numbers, and the ticks that come on top."""
HAPPENING = np.dtype([("tick", "i8"), ("order", "i8"), ("what", "i8"), ("owner", "i8")])
"""What is to happen, in the order of tick and then of priority and running number."""
OWNER = np.dtype(
    [
        ("attempts", "i8"), ("refused", "i8"), ("answers_left", "i8"),
        ("message", "i8"), ("asked", "i8"), ("read_tick", "i8"), ("read_k", "i8"),
        ("release_tick", "i8"), ("transmissions", "i8"),
        ("away", "i8"), ("offline_since", "i8"), ("offline_ticks", "i8"),
        ("next_change", "i8"), ("phase", "i8"), ("met", "i8"), ("missed", "i8"),
        ("busy", "?"), ("active", "?"), ("awaited", "?"), ("seeded", "?"),
    ],
    align=True,
)  # fmt: skip
"""An owner, and the exchange that it has open."""
STATE = np.dtype(
    [
        (name, "i8")
        for name in (
            "now", "horizon", "queued", "scheduled", "messages", "pending", "awaited", "serving",
            "in_line", "first_in_line", "updates", "per_update", "lacking", "released",
            "released_before", "tried_before", "came_before", "looks", "look_period",
            "presence_changes", "n_rows", "n_events", "wanting", "target",
            "most_tried", "most_came", "most_looks", "crowd_at",
        )
    ]
    + [
        (name, "?")
        for name in (
            "stopped", "stalled", "locked", "queues", "retries", "keeps_events", "drawn_per_tick",
            "alternates", "superposed", "refuses_unseen",
        )
    ],
    align=True,
)  # fmt: skip
"""The learner, and the loop."""


class World(NamedTuple):
    """All that the loop reads and writes; owners are numbered from 1.

    Laws and streams have a column for each owner, or, where one clock ticks for all, one for all.
    """

    state: npt.NDArray[Any]
    owners: npt.NDArray[Any]
    heap: npt.NDArray[Any]
    line: npt.NDArray[np.int64]
    laws: npt.NDArray[Any]
    streams: npt.NDArray[np.uint64]
    memory: npt.NDArray[np.uint64]
    crowd_ticks: npt.NDArray[np.int64]
    crowd_owners: npt.NDArray[np.int64]
    update_ticks: npt.NDArray[np.int64]
    rows: npt.NDArray[Any]
    events: npt.NDArray[Any]
