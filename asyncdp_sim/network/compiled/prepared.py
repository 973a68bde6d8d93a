"""A network and its streams as the flat state that the compiled loop begins with."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network.compiled.states import memory, states, words_of
from asyncdp_sim.network.compiled.world import (
    ANSWER,
    CLOCK,
    COMPUTE,
    CONSTANT,
    DISTRIBUTIONS,
    HAPPENING,
    INSTANT,
    LAW,
    OFFLINE,
    ONLINE,
    OWNER,
    PRESENCE,
    QUERY,
    REQUEST,
    RETRY,
    STAGES,
    STATE,
    World,
)
from asyncdp_sim.network.crowd_clock import CrowdClock
from asyncdp_sim.network.latency import laws_of
from asyncdp_sim.network.laws import LawKind
from asyncdp_sim.network.protocols import Request
from asyncdp_sim.network.spec import Network
from asyncdp_sim.network.stall import LIMITS, look_period
from asyncdp_sim.streams import OfEach, Scope
from asyncdp_sim.trace.vocabulary import EVENTS, EXCHANGES
from asyncdp_sim.units import LAST_TICK, to_ticks

_T = TypeVar("_T", bound=np.generic)
ROWS = 4096
"""Room for exchanges, updates and events at first, at most."""
MANY = 1024
"""Owners whose streams are not all made before the run begins."""
_LATER = (REQUEST, QUERY, COMPUTE, ANSWER, RETRY, PRESENCE)
"""Stages that draw nothing before their owner's clock has ticked."""


class Prepared:
    """A world, and the streams that its owners are yet to get.

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
        n_owners = network.n_owners
        self._batch = MANY // 4
        self._sources = {stage: streams.of_each(n_owners, STAGES[stage]) for stage in range(9)}
        columns = 1 if network.superposed else n_owners + 1
        laws = np.zeros((len(STAGES), columns), dtype=LAW)
        owners = np.zeros(n_owners + 1, dtype=OWNER)
        owners["answers_left"][1:] = network.answers_allowed
        owners["active"][1:] = owners["awaited"][1:] = True
        state = np.zeros(1, dtype=STATE)
        answers = min(network.updates * (network.answers_per_update or 1), ROWS)
        self.world = World(
            state=state,
            owners=owners,
            heap=np.zeros(3 * n_owners + 3, dtype=HAPPENING),
            line=np.zeros(n_owners, dtype=np.int64),
            laws=laws,
            streams=np.zeros((len(STAGES), columns, 4), dtype=np.uint64),
            memory=memory(),
            crowd_ticks=np.zeros(1, dtype=np.int64),
            crowd_owners=np.zeros(1, dtype=np.int64),
            update_ticks=np.zeros(min(network.updates, ROWS) + 1, dtype=np.int64),
            rows=np.zeros(answers + 1, dtype=EXCHANGES),
            events=np.zeros(10 * answers + 20 if events else 0, dtype=EVENTS),
        )
        _set_laws(network, laws, owners)
        _set_state(network, state[0], events=events)
        _set_presence(network, self.world, self._sources[PRESENCE])
        if network.superposed:
            self._join(network, streams.within("crowd"))
            return
        everybody = np.arange(1, n_owners + 1)
        self._seed((CLOCK, ONLINE, OFFLINE), everybody)
        if n_owners <= MANY:
            self._seed(_LATER, everybody)

    def _join(self, network: Network, crowd: Scope) -> None:
        """Give all owners one clock, and the streams that they share."""
        w = self.world
        w.owners["seeded"] = True
        for stage in (REQUEST, QUERY, COMPUTE, ANSWER):
            if w.laws["code"][stage, 0] > CONSTANT:
                w.streams[stage, 0] = words_of(crowd.generator(STAGES[stage]))
        self._crowd_clock = CrowdClock(network, crowd)
        self.tick_on()

    def tick_on(self) -> None:
        """Draw the next ticks of the one clock of all owners, after the one that is due."""
        w = self.world
        ticks, owners = self._crowd_clock.block()
        due = slice(int(w.state["scheduled"][0] == 0), None)  # at first none is
        self.world = w._replace(
            crowd_ticks=np.append(w.crowd_ticks[-1], ticks)[due],
            crowd_owners=np.append(w.crowd_owners[-1], owners)[due],
        )
        w.state["crowd_at"] = 0

    def seed_next(self) -> None:
        """Make the streams of the owners whose clocks tick next."""
        w = self.world
        waiting = w.heap[: w.state["queued"][0]]
        waiting = waiting[waiting["what"] == CLOCK]
        waiting = waiting[~w.owners["seeded"][waiting["owner"]]]
        self._batch *= 2
        first = np.argsort(waiting["tick"], kind="stable")[: self._batch]
        self._seed(_LATER, waiting["owner"][first])

    def _seed(self, stages: Sequence[int], owners: npt.NDArray[np.int64]) -> None:
        w = self.world
        for stage in stages:
            by_chance = stage == PRESENCE and bool(w.state["drawn_per_tick"][0])
            draws = owners[by_chance | (w.laws["code"][stage, owners] > CONSTANT)]
            if len(draws) > 0:
                w.streams[stage, draws] = states(self._sources[stage].seeds(draws.tolist()))
        if CLOCK not in stages:
            w.owners["seeded"][owners] = True

    def grow(self) -> None:
        """Make more room where the loop found too little."""
        w = self.world
        self.world = w._replace(
            update_ticks=_grown(w.update_ticks), rows=_grown(w.rows), events=_grown(w.events)
        )


def _set_laws(network: Network, laws: npt.NDArray[np.void], owners: npt.NDArray[np.void]) -> None:
    latency, renewals = network.latency, network.clock.renewals()
    one = slice(0, 1) if network.superposed else slice(1, None)  # where laws are of all owners
    if len(renewals) > 0:
        laws[CLOCK, 1:] = _rows([law for law, _ in renewals])
        owners["phase"][1:] = [start for _, start in renewals]
    stages = {
        REQUEST: latency.request,
        QUERY: latency.query,
        COMPUTE: network.compute,
        ANSWER: latency.answer,
    }
    for stage, law in stages.items():
        extra: tuple[int, ...] = ()
        if latency.rate_bytes is not None and stage in (QUERY, ANSWER):
            extra = tuple(map(to_ticks, network.transfer_times(STAGES[stage])))
        rows = _rows(laws_of(law, max(1, len(extra))), extra)
        laws[stage, one] = rows[:1] if network.superposed else rows
    if isinstance(network.protocol, Request) and network.protocol.retry is not None:
        laws[RETRY, 1:] = _row(network.protocol.retry)


def _rows(
    laws: Sequence[LawKind], extra: Sequence[int] = ()
) -> list[tuple[int, float, float, int]]:
    """Return laws in numbers, one or one of each owner, with the ticks that come on top."""
    known = {id(law): _row(law) for law in {id(law): law for law in laws}.values()}
    rows = [known[id(law)] for law in laws]
    if len(extra) == 0:
        return rows
    return [
        (max(code, CONSTANT) if more > 0 else code, first, second, ticks + more)
        for (code, first, second, ticks), more in zip(rows, extra, strict=True)
    ]


def _row(law: LawKind) -> tuple[int, float, float, int]:
    if law.distribution is not None:
        name, numbers = law.distribution
        first, second = (*numbers, 0.0)[:2]
        return DISTRIBUTIONS[name], first, second, 0
    return (INSTANT, 0.0, 0.0, 0) if law.instant else (CONSTANT, 0.0, 0.0, to_ticks(law.mean))


def _set_state(network: Network, state: np.void, *, events: bool) -> None:
    state["awaited"] = network.n_owners
    state["horizon"] = LAST_TICK if network.until is None else to_ticks(network.until)
    state["target"] = network.updates
    answers = network.answers_per_update
    state["per_update"] = state["lacking"] = 0 if answers is None else answers
    state["released_before"] = -1
    state["keeps_events"] = events
    state["superposed"] = network.superposed
    state["refuses_unseen"] = not events and network.protocol.refuses_at_once(network)
    period = look_period(network)
    state["look_period"] = 0 if period is None else period
    state["most_tried"], state["most_came"], state["most_looks"] = LIMITS
    if isinstance(network.protocol, Request):
        state["queues"] = network.protocol.busy == "queue"
        state["retries"] = network.protocol.retry is not None


def _set_presence(network: Network, world: World, source: OfEach) -> None:
    """Say who is online at first, and until when, or with which chance."""
    state, owners = world.state[0], world.owners
    alternation = network.availability.alternation
    chances = network.availability.chances(network.n_owners)
    if alternation is not None:
        state["alternates"] = True
        world.laws[ONLINE, 1:] = _row(alternation.on)
        world.laws[OFFLINE, 1:] = _row(alternation.off)
        for owner in range(1, network.n_owners + 1):
            online, left = alternation.begin(source.generator(owner))
            owners[owner]["away"], owners[owner]["next_change"] = not online, left
    elif chances is not None:
        state["drawn_per_tick"] = True
        world.laws["first"][PRESENCE, 1:] = chances
        owners["awaited"][1:] = [chance > 0 for chance in chances]
        state["awaited"] = owners["awaited"].sum()
        state["stopped"] = state["awaited"] == 0


def _grown(table: npt.NDArray[_T]) -> npt.NDArray[_T]:
    return np.concatenate([table, np.zeros(len(table), dtype=table.dtype)])
