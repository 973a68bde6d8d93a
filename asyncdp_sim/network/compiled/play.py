"""One replicate of the network by the compiled loop."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network.compiled.prepared import PreparedWorld
from asyncdp_sim.network.compiled.states import generator
from asyncdp_sim.network.compiled.world import DONE, TICKS, World
from asyncdp_sim.network.spec import Network
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Ending, ExchangeOutcome, Trace
from asyncdp_sim.trace.vocabulary import EXCHANGES, OWNERS


def play(network: Network, streams: Scope, *, events: bool = False) -> Trace:
    """Simulate one replicate; the trace is that of :func:`~asyncdp_sim.network.simulate`.

    Parameters
    ----------
    network : Network
        That the loop :func:`~.reach.covers`.
    streams : Scope
        The replicate's random streams.
    events : bool
        Whether to keep every event, not the tables alone.

    Raises
    ------
    InvariantError
        If the trace contradicts itself (a bug in the simulator).
    """
    from asyncdp_sim.network.compiled.steps.loop import run

    prepared = PreparedWorld(network, streams.of_owners(network.owner_numbers), events=events)
    while (lacking := run(prepared.world, generator())) != DONE:
        if lacking == TICKS:
            prepared.tick_on()
        else:
            prepared.grow()
    return _trace(network, prepared.world, prepared.events() if events else None)


def _trace(network: Network, w: World, events: npt.NDArray[np.void] | None) -> Trace:
    state, updates = w.state[0], int(w.state["updates"][0])
    end_tick = int(state["now"] if state["stopped"] else state["horizon"])
    return Trace(
        end_tick=end_tick,
        exchanges=_exchanges(w, end_tick, updates),
        owners=_owners(w, end_tick),
        events=events,
        in_flight_total=0,  # the learner is locked until the only open exchange has ended
        recomputed=int(state["recomputed"]),
        on_air_ticks=0,
        ending=_ending(w),
        one_on_one=network.protocol.one_on_one,
        one_each=network.protocol.one_each,
        update_ticks=w.update_ticks[:updates],
        answers_per_update=network.answers_per_update,
        loop="compiled",
    )


def _ending(w: World) -> Ending:
    state = w.state[0]
    if not state["stopped"]:
        return Ending.horizon
    if state["updates"] == state["target"]:
        return Ending.updates
    if state["stalled"]:
        return Ending.stalled
    return Ending.silent if w.owners["answers_left"].any() else Ending.spent


def _exchanges(w: World, end_tick: int, updates: int) -> npt.NDArray[np.void]:
    """Return the exchanges that have ended, and those that the end has cut short."""
    rows = w.rows[
        : w.state["n_rows"][0]
    ]  # no copy: of a million updates they are most of the memory
    unused = (rows["outcome"] == ExchangeOutcome.applied) & (rows["end_k"] >= updates)
    rows["outcome"][unused] = ExchangeOutcome.buffered
    left = np.flatnonzero(w.owners["open"])
    if len(left) == 0:
        return rows
    mine, cut = w.owners[left], np.zeros(len(left), dtype=EXCHANGES)
    cut["owner"], cut["request_tick"] = left, mine["asked"]
    for name in ("message", "read_tick", "read_k", "release_tick", "transmissions"):
        cut[name] = mine[name]
    cut["end_tick"] = np.where(mine["ended"], mine["ended_tick"], end_tick)
    cut["end_k"] = np.where(mine["ended"], mine["ended_k"], updates)
    cut["outcome"] = ExchangeOutcome.in_flight
    unsent = cut["transmissions"] == 0
    cut["outcome"][unsent] = ExchangeOutcome.unreleased
    cut["release_tick"][unsent] = cut["end_tick"][unsent]
    # Those that the learner gave up come first, as it did.
    return np.concatenate([rows, cut[np.lexsort((cut["end_tick"], ~mine["ended"]))]])


def _owners(w: World, end_tick: int) -> npt.NDArray[np.void]:
    owners, each = np.zeros(len(w.owners) - 1, dtype=OWNERS), w.owners[1:]
    owners["owner"] = np.arange(1, len(w.owners))
    for name in ("attempts", "refused", "unheard"):
        owners[name] = each[name]
    owners["online"] = np.nan  # of no time, or no ticks, there is no share
    if w.state["drawn_per_tick"][0]:
        ticks = each["met"] + each["missed"]
        np.divide(each["met"], ticks, out=owners["online"], where=ticks > 0)
    elif end_tick > 0:
        owners["online"] = 1.0
        if w.state["alternates"][0] or len(w.members) > 0:  # else nobody was ever away
            since = np.where(each["away"] > 0, end_tick - each["offline_since"], 0)
            owners["online"] = 1 - (each["offline_ticks"] + since) / end_tick
    return owners
