"""Axes of a space–time diagram, and the look of each kind of mark, one collection per kind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import Patch

from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.figures import marks as m
from asyncdp_sim.figures.axes import key
from asyncdp_sim.figures.layout import MAY_GO
from asyncdp_sim.figures.marks import BROADCAST, ON_LEARNER, UPDATE, DrawnMark
from asyncdp_sim.figures.style import OKABE_ITO, plain_text
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


Segment = tuple[tuple[float, float], tuple[float, float]]
INCHES_PER_NUMBER = 0.28


class Scene:
    """Axes with the learner's line on top and one line per owner below.

    Parameters
    ----------
    axes : Axes
    owners : mapping
        From the numbers of owners to their names, from top to bottom.
    window : tuple of int
        [start, end) in ticks.
    airtime : int, optional
        For how many ticks an answer is on air, where a channel is shared.
    inches : float
        Width of the window.
    has_learner : bool
        Whether the line on top is a learner's; where owners are alone it has their meetings.
    """

    def __init__(
        self,
        axes: Axes,
        owners: Mapping[int, str],
        window: tuple[int, int],
        airtime: int | None,
        inches: float,
        *,
        has_learner: bool = True,
    ) -> None:
        self._axes = axes
        self._row = {owner: row for row, owner in enumerate(owners, start=1)}
        self._window = window
        self._airtime = airtime
        self._inches = inches
        self._seen: set[str] = set()
        axes.set_xlim(*(tick / TICKS_PER_UNIT for tick in window))
        axes.set_ylim(len(owners) + 0.5, -0.7)
        above = "learner" if has_learner else "meetings"
        axes.set_yticks(range(len(owners) + 1), [above, *map(plain_text, owners.values())])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)

    def draw(self, found: Sequence[DrawnMark], first_k: int = 1) -> None:
        """Draw the marks of the window; its first update is number ``first_k``."""
        by_kind: dict[str, list[DrawnMark]] = {}
        for mark in found:
            by_kind.setdefault(mark.what, []).append(mark)
        self._seen = set(by_kind)
        self._lines(by_kind.get(OFFLINE, []))
        for kind, marks in by_kind.items():
            x = np.array([_units(mark.start) for mark in marks])
            if kind in BARS:
                self._bars(marks, BARS[kind], 0.24 if kind == LOCK else 0.11)
            elif kind in ARROWS:
                self._messages(kind, marks)
            elif kind in STROKES:
                colour, half = STROKES[kind]
                y = np.array([self._home(mark) for mark in marks])
                self._axes.vlines(x, y - half, y + half, color=colour, linewidth=1.0, zorder=5)
            elif kind in SIGNS:
                self._axes.plot(x, [self._home(mark) for mark in marks], **SIGNS[kind])
        travelling = {query.message for query in by_kind.get(QUERY, [])}
        sent = by_kind.get(BROADCAST, [])
        at = [_units(mark.start) for mark in sent if mark.message not in travelling]
        look: dict[str, Any] = {"color": ARROWS[QUERY].colour, "linewidth": 0.9, "zorder": 3}
        self._axes.vlines(at, 0.0, len(self._row) + 0.4, **look)  # queries that take no time
        self._numbers(by_kind.get(UPDATE, []), first_k)

    def legend(self) -> list[Artist]:
        """Return a key for each kind of mark that was drawn."""
        keys = [self._key(mark) for mark in LABELS if mark in self._seen]
        if self._airtime is not None and self._seen & ON_AIR:
            keys.append(Patch(facecolor=ARROWS[ANSWER].colour, label="on air, by how it ends"))
        return keys

    def _home(self, mark: DrawnMark) -> float:
        return 0.0 if mark.what in ON_LEARNER else float(self._row[mark.owner])

    def _lines(self, absent: Iterable[DrawnMark]) -> None:
        """Draw the learner's line, and each owner's, dotted while it is offline."""
        start, end = self._window
        away: dict[int, list[tuple[int, int]]] = {owner: [] for owner in self._row}
        for mark in absent:
            away[mark.owner].append((mark.start, mark.end))
        present: list[Segment] = [((_units(start), 0.0), (_units(end), 0.0))]
        gone: list[Segment] = []
        for owner, row in self._row.items():
            since = start
            for left, back in away[owner]:
                present.append(((_units(since), row), (_units(max(left, since)), row)))
                gone.append(((_units(left), row), (_units(back), row)))
                since = back
            present.append(((_units(since), row), (_units(max(end, since)), row)))
        self._put(present, color=DARK, linewidth=0.7, zorder=1)
        self._put(gone, color=GRAY, linewidth=0.7, linestyle=(0, (1, 3)), zorder=1)

    def _messages(self, what: str, some: Sequence[DrawnMark]) -> None:
        look = ARROWS[what]
        start, end = (
            np.array([_units(getattr(m, place)) for m in some]) for place in ("start", "end")
        )
        row = np.array([self._row[mark.owner] for mark in some], dtype=float)
        origin = np.zeros(len(some)) if look.down else row
        goal = row if look.down else np.zeros(len(some))
        if look.broken:
            goal = row - BROKEN
        elif look.marker is not None:
            goal = np.full(len(some), BARRIER)
        if look.marker is None:
            self._axes.quiver(
                start, origin, end - start, goal - origin, angles="xy", scale_units="xy", scale=1,
                units="inches", width=0.012, headwidth=6, headlength=7, headaxislength=6.5,
                minlength=0, color=look.colour, zorder=4,
            )  # fmt: skip
        else:
            tips = zip(zip(start, origin, strict=True), zip(end, goal, strict=True), strict=True)
            self._put(list(tips), color=look.colour, linewidth=0.9, zorder=4)
            self._axes.plot(end, goal, **look.sign())
        if self._airtime is not None and what in ON_AIR:
            on_air = [m._replace(end=min(m.end, m.start + self._airtime)) for m in some]
            self._bars(on_air, look.colour, 0.11)

    def _bars(self, some: Sequence[DrawnMark], colour: str, half: float) -> None:
        corners = []
        for mark in some:
            left, right, y = _units(mark.start), _units(mark.end), self._home(mark)
            box = [(left, y - half), (right, y - half), (right, y + half), (left, y + half)]
            corners.append(box)
        bars = PolyCollection(corners, facecolor=colour, edgecolor="none", zorder=2)
        self._axes.add_collection(bars, autolim=False)

    def _numbers(self, updates: Sequence[DrawnMark], first_k: int) -> None:
        """Write k above updates, as many as have room."""
        start, end = (_units(tick) for tick in self._window)
        room = (end - start) * INCHES_PER_NUMBER / self._inches
        free = start - room
        for k, mark in enumerate(updates, start=first_k):
            x = _units(mark.start)
            if x >= free:
                self._axes.text(x, -0.34, f"{k}", ha="center", va="bottom", fontsize=7, gid=MAY_GO)
                free = x + room * max(1, len(str(k)) / 3)

    def _put(self, segments: Sequence[Any], **look: Any) -> None:
        self._axes.add_collection(LineCollection(segments, **look), autolim=False)

    def _key(self, what: str) -> Artist:
        name, look = LABELS[what], SIGNS.get(what, {})
        if what in BARS:
            return Patch(facecolor=BARS[what], label=name)
        if what in ARROWS:
            look = {"color": ARROWS[what].colour} | ARROWS[what].key()
        elif what in STROKES:
            colour, _ = STROKES[what]
            look = {"linestyle": "none", "marker": "|", "markersize": 8, "color": colour}
        elif what == OFFLINE:
            look = {"color": GRAY, "linestyle": (0, (1, 3))}
        return key(name, **look)


def _units(tick: int) -> float:
    return tick / TICKS_PER_UNIT
