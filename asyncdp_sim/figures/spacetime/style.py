"""Colours, shapes and names of the marks in a space–time diagram."""

from dataclasses import dataclass
from typing import Any

from asyncdp_sim.figures.kit.style import OKABE_ITO
from asyncdp_sim.figures.spacetime import marks as m
from asyncdp_sim.trace.spans import ANSWER, COMPUTING, LOCK, OFFLINE, QUERY, REQUEST, WAITING

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = OKABE_ITO[:6]
BLACK, DARK, GRAY = "#000000", "#555555", "#aaaaaa"

BROKEN = 0.5
"""How many rows above its owner's line a message breaks off which does not arrive."""
BARRIER = 0.32
"""Where a message ends that the learner turns away: just below its line."""


@dataclass(frozen=True)
class Arrow:
    """Look of a message.

    Attributes
    ----------
    colour : str
    marker : str, optional
        What it ends in, instead of a head.
    down : bool
        Whether it comes from the learner.
    broken : bool
        Whether it does not arrive.
    """

    colour: str
    marker: str | None = None
    down: bool = False
    broken: bool = False

    def sign(self) -> dict[str, Any]:
        """Return how the mark at its end is drawn."""
        return _sign(self.marker or "", self.colour, hollow=self.marker in ("o", "s"))

    def key(self) -> dict[str, Any]:
        """Return how a legend shows it."""
        if self.marker is None:
            return {"marker": "v" if self.down else "^", "markersize": 5, "linewidth": 1.0}
        shape = self.sign() | {"linestyle": "-", "linewidth": 1.0}
        shape.pop("color")
        return shape | ({"marker": "|"} if self.marker == "_" else {})


def _sign(marker: str, colour: str, size: float = 6.0, *, hollow: bool = False) -> dict[str, Any]:
    face = "white" if hollow else colour
    thin = {"markeredgewidth": 1.2 if hollow or marker == "_" else 0.5, "linestyle": "none"}
    edge = colour if hollow or marker == "_" else "white"
    return {"marker": marker, "markersize": size, "markerfacecolor": face,
            "markeredgecolor": edge, "color": colour, "zorder": 6} | thin  # fmt: skip


ARROWS = {
    REQUEST: Arrow(SKY),
    m.REFUSED: Arrow(ORANGE, "_"),
    m.QUEUED: Arrow(SKY, "o"),
    m.REQUEST_LOST: Arrow(PURPLE, "D", broken=True),
    QUERY: Arrow(BLUE, down=True),
    m.QUERY_LOST: Arrow(PURPLE, "v", down=True, broken=True),
    ANSWER: Arrow(GREEN),
    m.COLLIDED: Arrow(VERMILION, "X", broken=True),
    m.ANSWER_LOST: Arrow(PURPLE, "o", broken=True),
    m.DISCARDED: Arrow(DARK, "s"),
}
"""Messages."""

ON_AIR = {ANSWER, m.COLLIDED, m.ANSWER_LOST, m.DISCARDED}
"""Messages that hold a shared channel, shown on their owner's line meanwhile."""

BARS = {LOCK: "#c4c4c4", COMPUTING: "#f3d08a", WAITING: "#bfe2f7"}
"""What lasts, on a line."""

STROKES = {m.TICK: (BLACK, 0.2), m.DROPPED: (GRAY, 0.12)}
"""Short strokes across a line: colour and half length."""

SIGNS = {
    m.UPDATE: _sign("o", BLACK, 5.5),
    m.TIMEOUT: _sign("D", VERMILION, 5.5, hollow=True),
    m.BROADCAST: _sign("s", BLUE, 5.5),
    m.RETRY: _sign(">", ORANGE, 6.0, hollow=True),
    m.SENSED: _sign("s", ORANGE, 5.5, hollow=True),
    m.SPENT: _sign("*", BLACK, 9.0),
    m.UNACKNOWLEDGED: _sign("P", PURPLE, 6.5),
    m.WITHHELD: _sign("o", GREEN, 5.5, hollow=True),
}
"""Instants."""

LABELS = {
    m.TICK: "clock tick",
    m.DROPPED: "tick dropped",
    REQUEST: "request",
    m.REFUSED: "request refused",
    m.QUEUED: "request queued",
    WAITING: "waits for its turn",
    m.REQUEST_LOST: "request lost",
    m.SENSED: "channel heard busy",
    m.RETRY: "tries again later",
    m.BROADCAST: "query to all",
    QUERY: "query",
    m.QUERY_LOST: "query lost",
    COMPUTING: "computes, waits to send",
    ANSWER: "answer",
    m.COLLIDED: "answer collided",
    m.ANSWER_LOST: "answer lost",
    m.DISCARDED: "answer discarded",
    m.WITHHELD: "answer withheld",
    m.UNACKNOWLEDGED: "acknowledgement lost",
    LOCK: "learner locked",
    m.UPDATE: "update $k$",
    m.TIMEOUT: "learner's timeout",
    m.SPENT: "budget spent",
    OFFLINE: "owner offline",
}
"""Names in the legend, in its order."""
