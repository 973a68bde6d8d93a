"""Space–time diagram: the messages between owners and learner in a window of simulated time."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.core.units import TICKS_PER_UNIT, to_ticks, to_units, unit_of
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.marks import (
    MESSAGES,
    UPDATE,
    DrawnMark,
    Events,
    marks,
    most_active,
    of_owners,
    tables,
    within,
)
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.scene import Scene
from asyncdp_sim.figures.style import FEW_OWNERS, canvas, style, time_axis
from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.theory.prediction import Unknown

PAGE = 9.0  # inches
WINDOW = 20.0
MOST_MESSAGES = 60  # more arrows than that hide one another


def diagram(
    result: Result,
    *,
    start: float = 0.0,
    end: float | None = None,
    happened: Events | None = None,
    window: float = WINDOW,
    most: int = MOST_MESSAGES,
    inches: float | None = None,
) -> Picture:
    """Draw every message of a window of the first replicate, owners' lines below the learner's.

    All owners of at most 12 have a line, else the 12 with most to show.

    Parameters
    ----------
    result : Result
        With events, unless they are given.
    start, end : float, optional
        The window [start, end) in time units; by default ``window`` units, or fewer where more
        than ``most`` messages would be drawn or the run is shorter.
    happened : structured array, optional
        The events of this replicate, where the result did not keep them.
    window, most : number
        Time units and messages at which a window without an ``end`` ends.
    inches : float, optional
        Width for each message, for a diagram that is wider than a page; absent, as wide as one.

    Raises
    ------
    ResultError
        If the result kept no events, or none in this window.
    """
    chosen = result.replicates[0]
    table = tables(result, chosen)[chosen] if happened is None else happened
    over = int(table["tick"][-1])
    first = to_ticks(start)
    last = min(to_ticks(start + window), over + 1) if end is None else to_ticks(end)
    until = result.scenario["run"].get("until")
    may_go_on = until is not None and to_ticks(until) > over  # after the last event
    every = marks(table, max(over, last) if may_go_on else over)
    rows = within(every, first, last)
    if len(rows) == 0:
        reason = f"no events in [{number(start)}, {number(last / TICKS_PER_UNIT)})"
        raise not_a_result(result.directory, f"{reason} of replicate {chosen}")
    participants = result.participants
    shown = most_active(rows, FEW_OWNERS, participants.numbers)
    rows = of_owners(rows, shown)
    begins = sorted(m.start for m in rows if m.what in MESSAGES and m.start >= first)
    if end is None and len(begins) > most:
        last = max(begins[most], first + 1)
        rows = within(rows, first, last)
    with style():
        sent = sum(mark.what in MESSAGES for mark in rows)
        width = PAGE if inches is None else max(PAGE, inches * sent)
        figure, axes = canvas(width=width, height=1.9 + 0.36 * (len(shown) + 1))
        named = dict(zip(participants.numbers, participants.labels, strict=True))
        called = {owner: named[owner] for owner in shown}
        airtime = result.scenario["channel"].get("airtime")
        on_air = to_ticks(airtime) if isinstance(airtime, int | float) else None
        learner = isinstance(result.network, Unknown) or result.network.protocol.has_learner
        scene = Scene(axes, called, (first, last), on_air, width - 1, has_learner=learner)
        before = sum(mark.what == UPDATE and mark.start < first for mark in every)
        scene.draw(rows, before + 1)
        time = time_axis(unit_of([result.manifest["scenario"]]))
        axes.set_xlabel(time, loc="center" if inches is None else "left")
        axes.set_ylabel("owner $i$")
        figure.legend(handles=scene.legend(), loc="outside upper left", ncols=5)
    caption = _caption(result, chosen, (first, last), shown, learner=learner)
    return Picture("space-time", figure, _as_table(rows), caption, label([result]), exact=False)


def _as_table(found: Sequence[DrawnMark]) -> Columns:
    """Return the marks as columns, times in model units."""
    columns = list(zip(*found, strict=True)) or [()] * len(DrawnMark._fields)
    table: Columns = {
        name: np.array(column) for name, column in zip(DrawnMark._fields, columns, strict=True)
    }
    return table | {name: to_units(table[name]) for name in ("start", "end")}


def _caption(
    result: Result, chosen: int, window: tuple[int, int], shown: Sequence[int], *, learner: bool
) -> str:
    low, high = (number(tick / TICKS_PER_UNIT) for tick in window)
    is_partial = len(shown) < result.n_owners
    which = f", owners {', '.join(map(str, shown))} of {result.n_owners:,}" if is_partial else ""
    when = f"for t in [{low}, {high}) of replicate {chosen}{which}. Time runs to the right"
    if not learner:
        return (
            f"Meetings of owners {when}; each owner has a line. Arrows down from the top line "
            "start a meeting of two owners; arrows up return their results. Numbers at the top "
            "are k."
        )
    locked = " The lock and the updates are those of all owners." if is_partial else ""
    return (
        f"Messages between learner and owners {when}; each owner has a line, and the learner has "
        "the top line. An arrow leads from the sending of a message to its arrival; it is vertical "
        "if the message takes no time. A message that does not arrive ends at its owner's line. "
        f"Numbers above the learner's line are k.{locked}"
    )
