"""Occupation of owners: what they were at, tick by tick, and the messages they sent and heard."""

from array import array
from collections.abc import Collection, Iterator
from enum import IntEnum
from itertools import pairwise

import numpy as np

from asyncdp_sim.core.arrays import Bools, Ints, Table
from asyncdp_sim.core.units import LAST_TICK
from asyncdp_sim.trace.vocabulary import EventKind

Ticks = Ints
_K = EventKind


class State(IntEnum):
    """The states of an owner: one of these at a time, the first that holds.

    An owner that has gone offline ends what it computes or sends, and receives nothing.
    """

    sending = 0
    """A message of its own is on the air or on the wire."""
    computing = 1
    """It works on an answer."""
    offline = 2
    """It is not online."""
    receiving = 3
    """A message to it is on the air or on the wire."""
    listening = 4
    """It has something to send and waits for the channel: carrier sense, slots, backoff."""
    idle = 5
    """Nothing of all that."""


MESSAGES = ("requests", "answers", "queries", "acknowledgements", "openings")
"""Counts of messages: requests and transmissions of answers sent, queries and acknowledgements
heard, and trips by which an owner helped to open a sum."""
OCCUPATION = np.dtype(
    [("owner", "i4"), *((state.name, "i8") for state in State), *((n, "i8") for n in MESSAGES)]
)
"""One row per owner: ticks in each state, which fill the run, and messages."""


class Spells:
    """Spells of owners in states other than idle, as they are noted.

    Attributes
    ----------
    acknowledged : list of tuple of int
        Owner (from 1) and tick of each acknowledgement that takes time, when it arrives.
    openings : list of int
        By owner (from 1), how often it helped to open a sum.
    travelling : set of int
        Owners to whom queries take time, so that an event tells when one is heard.
    """

    def __init__(self, n_owners: int) -> None:
        self._rows = array("q")
        self.acknowledged: list[tuple[int, int]] = []
        self.openings = [0] * (n_owners + 1)
        self.travelling: set[int] = set()

    def note(self, owner: int, state: State, start: int, end: int) -> None:
        """Note that an owner is in a state during [start, end), or until the run ends before."""
        if end > start:
            self._rows.extend((owner, state, start, min(end, LAST_TICK)))

    def begin(self, owner: int, state: State, start: int) -> int:
        """Note that an owner is in a state from now on; return the number of the spell."""
        self._rows.extend((owner, state, start, LAST_TICK))
        return len(self._rows) - 1

    def end(self, spell: int, tick: int) -> None:
        """Note when a spell has ended; one that has no end lasts as long as the run."""
        self._rows[spell] = tick

    @property
    def rows(self) -> Ticks:
        """Owner, state, start and end of each spell, shape (M, 4)."""
        return np.array(self._rows, dtype=np.int64).reshape(-1, 4)

    def occupation(self, events: Table, end_tick: int) -> Table:
        """Return the table ``OCCUPATION`` of a run that had these events."""
        n_owners = len(self.openings) - 1
        table = np.zeros(n_owners, dtype=OCCUPATION)
        table["owner"] = np.arange(1, n_owners + 1)
        for state, ticks in zip(State, occupied(self.rows, n_owners, end_tick).T, strict=True):
            table[state.name] = ticks
        for name, count in counted(events, n_owners, self.travelling).items():
            table[name] = count
        table["acknowledgements"] = self._acknowledgements(events, end_tick)
        table["openings"] = self.openings[1:]
        table.setflags(write=False)
        return table

    def _acknowledgements(self, events: Table, end_tick: int) -> Ticks:
        """Return how many acknowledgements each owner heard: those that arrived and were whole."""
        came = np.array([owner for owner, tick in self.acknowledged if tick < end_tick], dtype=int)
        lost = events["owner"][events["kind"] == _K.acknowledgement_lost]
        lost, owners = lost[np.isin(lost, came)], len(self.openings)
        return (np.bincount(came, minlength=owners) - np.bincount(lost, minlength=owners))[1:]


def occupied(rows: Ticks, n_owners: int, end_tick: int) -> Ticks:
    """Return the ticks of [0, end_tick) that each owner is in each state, shape (N, 6).

    Spells may overlap: a tick counts for the first of their states.

    Parameters
    ----------
    rows : array (M, 4)
        Owner, state, start and end of each spell.
    n_owners, end_tick : int
    """
    owner, state, start, end = rows.T
    end = np.minimum(end, end_tick)
    order = np.lexsort((start, owner))
    order = order[end[order] > start[order]]
    edges = np.searchsorted(owner[order], np.arange(1, n_owners + 2))
    ticks_by_state = np.zeros((n_owners, len(State)), dtype=np.int64)
    for place, (a, b) in enumerate(pairwise(edges.tolist())):
        mine = order[a:b]
        ticks_by_state[place] = list(_own(state[mine], start[mine], end[mine], end_tick))
    return ticks_by_state


def _own(state: Ticks, start: Ticks, end: Ticks, end_tick: int) -> Iterator[int]:
    """Yield one owner's ticks in each state; its spells are in the order of their starts."""
    sofar = 0
    for state_now in State:
        earlier = state <= state_now
        upto = end_tick if state_now is State.idle else covered(start[earlier], end[earlier])
        yield upto - sofar
        sofar = upto


def covered(start: Ticks, end: Ticks) -> int:
    """Return the ticks that intervals, in the order of their starts, cover together."""
    if len(start) == 0:
        return 0
    reach = np.maximum.accumulate(end)
    begin = np.maximum(start, np.concatenate([start[:1], reach[:-1]]))
    return int(np.maximum(reach - begin, 0).sum())


def counted(events: Table, n_owners: int, travelling: Collection[int]) -> dict[str, Ticks]:
    """Return each owner's requests and answers sent and queries heard, by their events.

    Parameters
    ----------
    events : structured array
        With the columns ``EVENTS``.
    n_owners : int
    travelling : collection of int
        Owners to whom queries take time.
    """
    kind, owner = events["kind"], events["owner"]

    def times(which: Bools) -> Ticks:
        return np.bincount(owner[which], minlength=n_owners + 1)[1:]

    answers = np.isin(kind, (_K.answer_released, _K.answer_resent))
    return {
        "requests": times(kind == _K.request_sent),
        "answers": times(answers),
        "queries": times(_heard(events, travelling)),
    }


def _heard(events: Table, travelling: Collection[int]) -> Bools:
    """Return which events are the first of a query that reached its owner.

    One that takes no time is heard as it is sent, if it is not lost; one to all is heard by each
    owner in an event of its own. What is lost after it was heard was heard.
    """
    names = ("owner", "message", "kind")
    keys = np.stack([events[name].astype(np.int64) for name in names])
    owner, message, kind = keys
    which = np.array([owner, message])
    arrived = kind == _K.query_received
    lost = (kind == _K.query_lost) & ~_among(which, which[:, arrived])
    sent = (kind == _K.query_sent) & ~np.isin(owner, list(travelling))
    sent &= ~_among(which, which[:, lost]) & ~_among(which, which[:, arrived])
    return np.asarray(arrived | sent)


def _among(pairs: Ticks, others: Ticks) -> Bools:
    """Return which pairs of owner and message are among others, both of shape (2, M)."""
    most = int(pairs[1].max(initial=0)) + 1
    return np.isin(pairs[0] * most + pairs[1], others[0] * most + others[1])
