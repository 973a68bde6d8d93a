"""A network and its streams as the flat state that the compiled loop begins with."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network.compiled.sources import draws_of
from asyncdp_sim.network.compiled.world import (
    HAPPENING,
    NOT_YET,
    OWNER,
    ROOM_EACH,
    STATE,
    World,
)
from asyncdp_sim.network.one_clock.crowd_clock import CrowdClock
from asyncdp_sim.network.spec import Network
from asyncdp_sim.network.stall import LIMITS, look_period
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace.vocabulary import EVENTS, EXCHANGES
from asyncdp_sim.units import LAST_TICK, to_ticks

_T = TypeVar("_T", bound=np.generic)
ROWS = 4096
"""Room for exchanges, updates and events at first, at most."""
EACH = 2**21
"""Events to a piece at most: 48 MiB, which the system gives as they are filled, and takes back."""


class PreparedWorld:
    """A world.

    Parameters
    ----------
    network : Network
        That the loop :func:`~.reach.covers`.
    streams : Scope
        The replicate's.
    events : bool
        Whether every event is kept.
    """

    def __init__(self, network: Network, streams: Scope, *, events: bool) -> None:
        n_owners, together = network.n_owners, network.availability.together
        groups = () if together is None else together.groups
        answers = min(network.updates * (network.answers_per_update or 1), ROWS)
        noted = max(ROOM_EACH, *map(len, groups), 0)
        self.world = World(
            state=np.zeros(1, dtype=STATE),
            owners=_owners(network, streams),
            heap=np.zeros(3 * n_owners + len(groups) + 2 * ROOM_EACH, dtype=HAPPENING),
            line=np.zeros(n_owners, dtype=np.int64),
            crowd=np.zeros((2, 1), dtype=np.int64),
            members=_members(groups),
            update_ticks=np.zeros(min(network.updates, ROWS) + 1, dtype=np.int64),
            rows=np.zeros(answers + 1, dtype=EXCHANGES),
            events=np.zeros(10 * answers + n_owners + noted if events else 0, dtype=EVENTS),
            draws=draws_of(network, streams),
        )
        self._full: list[npt.NDArray[np.void]] = []
        _set_state(network, self.world, events=events)
        self.world.state["most_noted"] = noted
        if network.superposed:
            self._crowd_clock = CrowdClock(network, streams.within("crowd"))
            self.tick_on()

    def tick_on(self) -> None:
        """Draw the next ticks of the one clock of all owners, after the one that is due."""
        w = self.world
        due = slice(int(w.state["scheduled"][0] == 0), None)  # at first none is
        ticks = np.concatenate([w.crowd[:, -1:], np.stack(self._crowd_clock.block())], axis=1)
        self.world = w._replace(crowd=np.ascontiguousarray(ticks[:, due]))
        w.state["crowd_at"] = 0

    def grow(self) -> None:
        """Make twice the room in tables that are half full: what the loop lacks is among them."""
        w, state = self.world, self.world.state[0]
        self.world = w._replace(
            heap=_roomy(w.heap, state["queued"] + ROOM_EACH),
            update_ticks=_roomy(w.update_ticks, state["updates"]),
            rows=_roomy(w.rows, state["n_rows"]),
        )
        if state["keeps_events"] and state["n_events"] + state["most_noted"] > len(w.events):
            self.world = self.world._replace(events=self._next_piece())

    def _next_piece(self) -> npt.NDArray[np.void]:
        """Put the events so far away, and return room for others."""
        w, room = self.world, len(self.world.events)
        self._full.append(w.events[: w.state["n_events"][0]])
        w.state["n_events"] = 0
        return np.zeros(max(room, min(2 * room, EACH)), dtype=EVENTS)

    def events(self) -> npt.NDArray[np.void]:
        """Return the events of all pieces, each of which is let go once it is copied."""
        last = self.world.events[: self.world.state["n_events"][0]]
        if len(self._full) == 0:
            return last
        table = np.empty(sum(map(len, self._full)) + len(last), dtype=EVENTS)
        end = len(table) - len(last)
        table[end:] = last
        while len(self._full) > 0:
            piece = self._full.pop()
            table[end - len(piece) : end] = piece
            end -= len(piece)
        return table


def _owners(network: Network, streams: Scope) -> npt.NDArray[np.void]:
    """Return the owners, as they are at first: who is online, until when, who may ever ask."""
    owners = np.zeros(network.n_owners + 1, dtype=OWNER)
    owners["answers_left"][1:] = network.allowances
    owners["active"][1:] = owners["awaited"][1:] = True
    renewals, chances = network.clock.renewals(), network.availability.chances(network.n_owners)
    if len(renewals) > 0:
        owners["phase"][1:] = [start for _, start in renewals]
    if chances is not None:
        owners["awaited"][1:] = [chance > 0 for chance in chances]
    alternation = network.availability.alternation
    if alternation is not None:
        source = streams.of_each(network.n_owners, "availability")
        for owner in range(1, network.n_owners + 1):
            online, left = alternation.begin(source.generator(owner))
            owners[owner]["away"], owners[owner]["next_change"] = not online, left
    return owners


def _members(groups: tuple[tuple[int, ...], ...]) -> npt.NDArray[np.int64]:
    """Return who goes dark together, by group; 0 fills up."""
    members = np.zeros((len(groups), max(map(len, groups), default=0)), dtype=np.int64)
    for place, group in enumerate(groups):
        members[place, : len(group)] = group
    return members


def _set_state(network: Network, world: World, *, events: bool) -> None:
    state, protocol = world.state[0], network.protocol
    state["awaited"] = np.count_nonzero(world.owners["awaited"])
    state["stopped"] = state["awaited"] == 0
    state["horizon"] = LAST_TICK if network.until is None else to_ticks(network.until)
    state["began"], state["target"] = NOT_YET, network.updates
    answers = network.answers_per_update
    state["per_update"] = state["lacking"] = 0 if answers is None else answers
    state["released_before"] = -1
    state["keeps_events"] = events
    state["superposed"] = network.superposed
    state["alternates"] = network.availability.alternation is not None
    state["drawn_per_tick"] = network.availability.chances(network.n_owners) is not None
    unseen = not events and network.channel.lossless
    state["refuses_unseen"] = unseen and protocol.refuses_at_once(network)
    state["attempts"] = 1 + network.channel.retransmissions
    state["fresh"] = network.channel.resend == "fresh"
    state["vanishes"], timeout = protocol.vanishes, protocol.gives_up_after
    state["timeout"] = 0 if timeout is None else to_ticks(timeout)
    period = look_period(network)
    state["look_period"] = 0 if period is None else period
    state["most_tried"], state["most_came"], state["most_looks"] = LIMITS
    state["queues"], state["retries"] = protocol.queues, protocol.asks_again


def _roomy(table: npt.NDArray[_T], used: int) -> npt.NDArray[_T]:
    """Return a table with twice the room if half is used; memory is what is filled."""
    if 2 * used < len(table):
        return table
    roomy = np.zeros(2 * len(table), dtype=table.dtype)
    roomy[: len(table)] = table
    return roomy
