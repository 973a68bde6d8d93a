"""Exchanges that take no time: owners' clocks merged, with the bits of the event loop.

Where nothing takes time and nobody is ever away, each tick of an owner is an exchange that has
ended before the next tick, whosesoever that is. All that is left to simulate is the order of ticks.
"""

from itertools import islice
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network import compiled
from asyncdp_sim.network.build import block
from asyncdp_sim.network.latency import laws_of
from asyncdp_sim.network.spec import Network
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Ending, ExchangeOutcome, Trace
from asyncdp_sim.trace.vocabulary import EXCHANGES, OWNERS
from asyncdp_sim.units import LAST_TICK, TICKS_PER_UNIT, to_ticks

Ticks = npt.NDArray[np.int64]
_SPARE = 3.0
"""Deviations of a Poisson number by which more ticks are drawn than are expected."""


def covers(network: Network) -> bool:
    """Return whether every tick of a network's clocks is an exchange of its own."""
    latency = network.latency
    stages = (latency.request, latency.query, network.compute, latency.answer)
    return (
        compiled.covers(network)
        and latency.rate_bytes is None
        and all(law.instant for stage in stages for law in laws_of(stage, 1))
        and network.availability.always_online
        and network.clock.mixing  # others tick together time and again
        and network.channel.lossless
        and network.protocol.gives_up_after is None
        and network.topology is None
        and not network.superposed
    )


def merge(network: Network, streams: Scope) -> Trace | None:
    """Simulate one replicate; the trace is that of :func:`~asyncdp_sim.network.simulate`.

    Parameters
    ----------
    network : Network
        That :func:`covers` knows.
    streams : Scope
        The replicate's random streams.

    Returns
    -------
    Trace or None
        None where two clocks tick at one instant: who is served first hangs on when these ticks
        were scheduled, which merging does not tell.

    Raises
    ------
    InvariantError
        If the trace contradicts itself (a bug in the simulator).
    """
    horizon = LAST_TICK if network.until is None else to_ticks(network.until)
    per_update = 1 if network.answers_per_update is None else network.answers_per_update
    wanted = network.updates * per_update
    clocks = _Clocks(network, streams.of_owners(network.owner_numbers))
    try:
        ticks, owners = clocks.first(wanted, horizon)
    except OverflowError:  # ticks later than any run has
        return None
    if (np.diff(ticks[: wanted + 1]) == 0).any():
        return None
    ticks, owners = ticks[:wanted], owners[:wanted]
    ending, end_tick = Ending.horizon, horizon
    if len(ticks) in (wanted, sum(network.answers_allowed)):
        ending = Ending.updates if len(ticks) == wanted else Ending.spent
        end_tick = int(ticks[-1])
    return Trace(
        end_tick=end_tick,
        exchanges=_exchanges(ticks, owners, per_update),
        owners=_owners(owners, network.n_owners, end_tick),
        events=None,
        in_flight_total=0,
        recomputed=0,
        on_air_ticks=0,
        ending=ending,
        one_on_one=network.protocol.one_on_one,
        one_each=network.protocol.one_each,
        update_ticks=ticks[per_update - 1 :: per_update].copy(),
        answers_per_update=network.answers_per_update,
        loop="merged",
    )


class _Clocks:
    """All owners' ticks of which an answer comes, drawn as far as they are wanted."""

    def __init__(self, network: Network, streams: Scope) -> None:
        n, clock = network.n_owners, network.clock
        sources, size = streams.of_each(n, "clock"), block(n)
        self._ahead = [clock.ticks(i, sources.source(i + 1), size) or iter(()) for i in range(n)]
        self._rates = [rate / TICKS_PER_UNIT for rate in clock.rates(n) or ()]
        self._allowed = network.answers_allowed
        self._drawn = [np.zeros(0, dtype=np.int64)] * n

    def first(self, wanted: int, horizon: int) -> tuple[Ticks, Ticks]:
        """Return the first ticks before the horizon, by time, and whose they are (from 1).

        At least so many as are wanted, and whatever is at the tick of the last one; fewer where
        there are no more.
        """
        until = min(horizon, ceil((wanted + _SPARE * sqrt(wanted)) / sum(self._rates)))
        while True:
            for place in range(len(self._drawn)):
                self._draw(place, until)
            every = all(len(t) == k for t, k in zip(self._drawn, self._allowed, strict=True))
            end = horizon if every else until
            known = [ticks[: np.searchsorted(ticks, end)] for ticks in self._drawn]
            count = list(map(len, known))
            if sum(count) >= wanted or end == horizon:
                ticks = np.concatenate(known)
                order = np.argsort(ticks, kind="stable")
                return ticks[order], np.repeat(np.arange(1, len(known) + 1), count)[order]
            until = min(horizon, 2 * until)

    def _draw(self, place: int, until: int) -> None:
        """Draw an owner's ticks until one is that late, or no further one can be answered."""
        ticks, rate = self._drawn[place], self._rates[place]
        while len(ticks) < self._allowed[place] and (len(ticks) == 0 or ticks[-1] < until):
            since = 0 if len(ticks) == 0 else int(ticks[-1])
            mean = rate * (until - since)
            count = min(self._allowed[place] - len(ticks), ceil(mean + _SPARE * sqrt(mean)) + 1)
            more = np.fromiter(islice(self._ahead[place], count), np.int64, count)
            ticks = np.concatenate([ticks, more])
        self._drawn[place] = ticks


def _exchanges(ticks: Ticks, owners: Ticks, per_update: int) -> npt.NDArray[np.void]:
    rows = np.zeros(len(ticks), dtype=EXCHANGES)
    place = np.arange(len(ticks))
    rows["message"], rows["owner"], rows["transmissions"] = place + 1, owners, 1
    for name in ("request_tick", "read_tick", "release_tick", "end_tick"):
        rows[name] = ticks
    rows["read_k"] = rows["end_k"] = place // per_update
    rows["outcome"] = ExchangeOutcome.applied
    rows["outcome"][len(ticks) - len(ticks) % per_update :] = ExchangeOutcome.buffered
    return rows


def _owners(owners: Ticks, n_owners: int, end_tick: int) -> npt.NDArray[np.void]:
    rows = np.zeros(n_owners, dtype=OWNERS)
    rows["owner"] = np.arange(1, n_owners + 1)
    rows["attempts"] = np.bincount(owners, minlength=n_owners + 1)[1:]
    rows["online"] = 1.0 if end_tick > 0 else np.nan  # of no time there is no share
    return rows
