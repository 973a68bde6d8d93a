"""Persistent slotted ALOHA: whoever has an answer sends it in each slot with probability s."""

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.kernel import TRANSMISSION_BEGINS, Kernel, Waiting
from asyncdp_sim.network.channels.air import Air, Fate, Port
from asyncdp_sim.network.channels.contended import Contended
from asyncdp_sim.network.channels.load import Load
from asyncdp_sim.network.channels.slotted_access.slots import too_long
from asyncdp_sim.network.draws import uniforms
from asyncdp_sim.spec import Duration, about
from asyncdp_sim.streams import Scope
from asyncdp_sim.theory.formulas.channels.aloha import slotted_aloha_infinite
from asyncdp_sim.theory.formulas.channels.persistent_aloha import (
    Array,
    SlottedContention,
    persistent_aloha,
)
from asyncdp_sim.theory.formulas.channels.random_access import RandomAccess
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.units import to_ticks

SURE = 1e-9
FORGOTTEN = 1000
"""Slots in which a run is taken to have met all of a chain's states by their long-run shares."""
LARGEST = 300
"""Owners for whom the chain of how many wait is solved, which takes N³ steps."""


class PersistentAloha(Contended):
    """Slotted ALOHA with delayed first transmission (Kleinrock and Lam 1975)."""

    label = "persistent slotted ALOHA"
    sends_at_once = False
    carrier_sense = False
    slotted = True
    in_turn = False
    assumed = "sent once or until they survive"

    kind: Literal["persistent-aloha"] = "persistent-aloha"
    slot: Annotated[
        Duration, Field(ge=1e-9), about("Length of a slot, at least the airtime", "time units")
    ]
    persistence: Annotated[
        float,
        Field(gt=0, le=1),
        about(
            "s: chance that an answer, new or sent before, goes in a slot for which it is ready, "
            "else it waits for the next. The trace has no event for a slot that it lets go",
            "none",
        ),
    ]

    @property
    @override
    def drawn(self) -> bool:
        return self.persistence < 1

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (
            cls(airtime=0.1, slot=0.1, persistence=0.5),
            cls(airtime=0.1, slot=0.25, persistence=1.0, retransmissions=3),
        )

    @override
    def faults_of_airtime(self, airtime: float) -> list[Fault]:
        return too_long(self.slot, airtime)

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> "PersistentMedium":
        return PersistentMedium(Air(kernel), to_ticks(self.slot), self.persistence, streams)

    @property
    @override
    def formula(self) -> str:
        return "$Ge^{-G}$"

    @override
    def doubt(self, load: Load) -> str:
        if load.overlap:
            return super().doubt(load)
        ticks = "" if load.saturated else load.not_poisson or load.unequal
        large = ""
        if load.n_owners > LARGEST:
            large = f"{load.n_owners} owners are more than {LARGEST}, for whom the chain is solved"
        return load.can_lose_messages or ticks or load.slow or large or self._given_up(load)

    def _given_up(self, load: Load) -> str:
        """Why answers that collide are neither lost at once nor sent until they survive.

        Whoever else has an answer, an attempt survives with probability (1−s)^(N−1) at least.
        """
        if load.attempts == 1:
            return ""
        if load.fresh:
            return "answers that are sent again are computed anew"
        survives = (1 - self.persistence) ** (load.n_owners - 1)
        sure = (1 - survives) ** load.attempts <= SURE
        return "" if sure else f"answers may be given up after {load.attempts} attempts"

    @override
    def through(self, load: Load) -> RandomAccess | Unknown:
        if load.overlap:  # Poisson attempts, displaced by independent times, are that again
            per_slot = load.total * self.slot
            return RandomAccess.of(slotted_aloha_infinite(per_slot) / per_slot, load.total)
        found = self._chain(load)
        if _sticks(found.waiting):
            return Unknown("few owners wait or nearly all, for so long that a run may show either")
        return found.access

    @override
    def mean_staleness(self, load: Load) -> float | Unknown | None:
        if load.overlap or load.attempts == 1:
            return None
        doubt = self.doubt(load)
        return Unknown(doubt) if doubt else self._chain(load).mean_staleness

    def _chain(self, load: Load) -> SlottedContention:
        rate, resends = inf if load.saturated else load.rate, load.attempts > 1
        return persistent_aloha(
            load.n_owners, rate, self.slot, self.persistence, load.airtime, resends=resends
        )


def _sticks(waiting: Array) -> bool:
    """Return whether the number that wait may stay above some level, or below it, for too long.

    It falls by one at a time, so that of the slots above n at most a share π_(n+1)/P(> n) leads
    below. What the long run hardly ever meets does not count: nobody waits at first.
    """
    below, above = np.cumsum(waiting)[:-1], np.cumsum(waiting[::-1])[::-1][1:]
    slow = np.minimum(below, above) > FORGOTTEN * waiting[1:]
    return bool(np.any(slow & (above > SURE)))


class PersistentMedium:
    """Slots in which owners send or wait."""

    def __init__(self, air: Air, slot: int, persistence: float, streams: Scope) -> None:
        self._air = air
        self._slot = slot
        self._persistence = persistence
        self._streams = streams

    def port(self, owner: int) -> Port:
        """Return the access of an owner."""
        draws = uniforms(partial(self._streams.generator, "owner", owner, "persistence"))
        return PersistentPort(self._air, self._slot, self._persistence, draws)

    def on_air_ticks(self, end_tick: int) -> int:
        """Return the total duration of all transmissions."""
        return self._air.on_air_ticks(end_tick)

    @property
    def airs(self) -> tuple[Air]:
        """The one channel."""
        return (self._air,)


class PersistentPort:
    """An owner that draws at the beginning of each slot until it sends."""

    def __init__(self, air: Air, slot: int, persistence: float, draws: Iterator[float]) -> None:
        self._air = air
        self._slot = slot
        self._persistence = persistence
        self._draws = draws

    def transmit(
        self,
        ticks: int,
        begun: Callable[[], bool],
        deferred: Callable[[], None],  # noqa: ARG002
    ) -> Waiting[Fate]:
        """Wait for a slot that the draw grants, then transmit."""
        kernel = self._air.kernel
        wait = -kernel.tick % self._slot
        if wait > 0:
            yield kernel.tick + wait, TRANSMISSION_BEGINS
        while self._persistence < 1 and next(self._draws) >= self._persistence:
            yield kernel.tick + self._slot, TRANSMISSION_BEGINS
        return (yield from self._air.attempt(ticks, begun))
