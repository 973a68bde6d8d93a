"""The flat state of a network, as the compiled loop holds it."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

CLOCK, REQUEST, QUERY, COMPUTE, ANSWER, RETRY, ONLINE, OFFLINE, GAP, LENGTH = range(10)
"""Stages: what takes time by a law; as something that happens, their ends."""
ATTENDS, REQUEST_LOST, QUERY_LOST, ANSWER_LOST = range(10, 14)
"""Chances, which are drawn at the tick of a clock, the sending of a request, and two arrivals."""
ASK, TURN, SEND, AGAIN, GIVE_UP = range(14, 19)
"""What happens at once: an attempt, the service of an owner, a transmission, one more, the end."""
TIMER, WATCH, REST, START, NOT_YET = range(19, 24)
"""The end of the learner's patience, a look at the run, nothing; the run's start, and before it."""
STREAMS = (
    ("clock",), ("request",), ("query",), ("compute",), ("answer",), ("retry",), ("online",),
    ("offline",), (), (), ("availability",), ("loss", "request"), ("loss", "query"),
    ("loss", "answer"),
)  # fmt: skip
"""Purposes in the names of owners' streams, by stage and chance; groups' have other names."""
INSTANT, CONSTANT, EXPONENTIAL, LOGNORMAL, GAMMA, UNIFORM, CHANCE, BURSTS = range(8)
"""Laws: no event (or never), always the same, those that NumPy draws; and two kinds of chance."""
DISTRIBUTIONS = {
    "exponential": EXPONENTIAL, "lognormal": LOGNORMAL, "gamma": GAMMA, "uniform": UNIFORM,
}  # fmt: skip
"""The laws that NumPy draws, by its names for them."""
AT_WORK, LEARNING, ENDING = range(3)
"""Whether an owner waits for the learner's patience to end: no; to send again; to give up."""
DONE, ROOM, TICKS = 0, 1, 2
"""Why the loop came back: nothing is left to happen, a table is full, the one clock of all owners
has no further tick."""
ROOM_EACH = 8
"""More events than one step notes of an owner, and more than it lets happen later."""
ORDER = 56
"""Bits of the running number below a priority."""
NUMBER = 2**ORDER - 1
"""Those bits."""

BEFORE, AFTER = 4, 20
"""Places in the pool: the seed's own four words first, then what words of a digest are hashed with
before and after."""
LENGTH_OF, CHAIN, MIXED, TEXT = 0, 1, 9, 25
"""Rows of the texts that BLAKE2b takes: how many bytes, its chain, its mixing, the text."""
ABREAST = 128
"""Texts that it takes at a time: what a step does to all of them takes few instructions."""
BLOCK = 128
"""Bytes of a text that BLAKE2b mixes in at a time."""

LAW = np.dtype(
    [("code", "i8"), ("first", "f8"), ("second", "f8"), ("third", "f8"), ("fourth", "f8"),
     ("extra", "i8")]
)  # fmt: skip
"""A law: its code, its numbers, and the ticks that come on top."""
STAGE = np.dtype([("law", "i8"), ("law_each", "i8"), ("stream", "i8"), ("stream_each", "i8")])
"""Where a stage's laws and streams begin, and whether (1) each owner has one, or all have one."""
HAPPENING = np.dtype([("tick", "i8"), ("order", "i8"), ("what", "i8"), ("owner", "i8")])
"""What is to happen, in the order of tick and then of priority and running number."""
OWNER = np.dtype(
    [(name, "i8") for name in ("attempts", "refused", "unheard", "answers_left", "phase", "away")]
    + [(name, "?") for name in ("busy", "active", "awaited", "open", "ended")]
    + [
        (name, "i8")
        for name in (
            "offline_since", "offline_ticks", "next_change", "met", "missed", "message",
            "asked", "read_tick", "read_k", "release_tick", "transmissions", "tries",
            "ended_tick", "ended_k", "timer", "waiting", "outcome",
        )
    ],
    align=True,
)  # fmt: skip
"""An owner, and the exchange that it has open. What is read of an owner that does nothing stands
first, so that of very many a line of the cache each is read, and not three."""
STATE = np.dtype(
    [
        (name, "i8")
        for name in (
            "what", "owner", "began", "order", "now", "horizon", "queued", "scheduled", "messages",
            "pending", "awaited", "in_line", "first_in_line", "updates", "per_update", "lacking",
            "released", "released_before", "tried_before", "came_before", "looks", "look_period",
            "presence_changes", "n_rows", "n_events", "target", "most_tried", "most_came",
            "most_looks", "crowd_at", "started", "attempts", "timeout", "recomputed", "most_noted",
        )
    ]
    + [
        (name, "?")
        for name in (
            "stopped", "stalled", "locked", "queues", "retries", "fresh", "vanishes",
            "keeps_events", "drawn_per_tick", "alternates", "superposed", "refuses_unseen",
        )
    ],
    align=True,
)  # fmt: skip
"""The learner, and the loop."""


class Draws(NamedTuple):
    """Laws, and random streams; a stream is seeded when it is first drawn from.

    Attributes
    ----------
    stages, laws : array
        By stage, where its laws and streams begin; all laws.
    streams : array of uint64 (n, 5)
        States of generators, all 0 before the first draw, and what a chain of bursts remembers.
    numbers : array of int64 (N + 1,)
        Numbers that owners have in streams' names.
    memory : array of uint64 (4,)
        The state of the one generator that draws.
    begun : array of uint64
        What stands in streams' names before an owner's number: how many bytes, then the text, with
        room for what follows.
    endings : array of uint8 (stages, width)
        What stands in names behind the number, by stage; 0 fills up.
    pool : array of uint64
        What seeds are worked out with: see :mod:`~.steps.seeds`.
    texts : array of uint64 (rows, ABREAST)
        Names of streams, and what their digests are worked out in: see :mod:`~.steps.digests`.
    """

    stages: npt.NDArray[Any]
    laws: npt.NDArray[Any]
    streams: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.int64]
    memory: npt.NDArray[np.uint64]
    begun: npt.NDArray[np.uint64]
    endings: npt.NDArray[np.uint8]
    pool: npt.NDArray[np.uint64]
    texts: npt.NDArray[np.uint64]


class World(NamedTuple):
    """All that the loop reads and writes; owners are numbered from 1."""

    state: npt.NDArray[Any]
    owners: npt.NDArray[Any]
    heap: npt.NDArray[Any]
    line: npt.NDArray[np.int64]
    crowd: npt.NDArray[np.int64]
    members: npt.NDArray[np.int64]
    update_ticks: npt.NDArray[np.int64]
    rows: npt.NDArray[Any]
    events: npt.NDArray[Any]
    draws: Draws
