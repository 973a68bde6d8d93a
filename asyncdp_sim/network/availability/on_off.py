"""Owners that are online for a while and offline for a while."""

from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from math import exp
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.availability.kind import AvailabilityKind, IsOnline
from asyncdp_sim.network.laws import (
    Law,
    Source,
    too_short,
)
from asyncdp_sim.network.laws.drawn import uniforms
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import about
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Recorder
from asyncdp_sim.units import TICKS_PER_UNIT, to_ticks


class OnOff(AvailabilityKind):
    """An alternating renewal process for each owner, started from its stationary law.

    An owner is online at time 0 with probability E on/(E on + E off); what is left of the period
    under way has the equilibrium law (a uniform share of a length-biased period).
    """

    always_online = False
    all_return = True
    rehearsed = True
    drawn_per_tick = False
    keeps_poisson = False

    kind: Literal["on-off"] = "on-off"
    on: Annotated[Law, about("Length of a period online; its mean is positive")]
    off: Annotated[Law, about("Length of a period offline; its mean is positive")]

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        found = too_short({"on": self.on, "off": self.off})
        if len(found) > 0:
            raise faults_of(found)
        return self

    @override
    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner in owners:
            mine = streams.within("owner", owner.number)
            learner.kernel.start(self._alternate(owner, learner, mine))

    @property
    @override
    def superposable(self) -> bool:
        return self.on.memoryless and self.off.memoryless

    @override
    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> IsOnline:
        """Return what tells whether an owner is online, from what it was when asked last.

        With rates a = 1/E on and b = 1/E off and π = b/(a+b), an owner that was online (offline) a
        time t ago is online with probability π + (1−π)e^{−(a+b)t} (π − πe^{−(a+b)t}).
        """
        recorder.all_by_tick()
        share, rate = self.online_share(1)[0], 1 / self.on.mean + 1 / self.off.mean
        was, asked = bytearray(n_owners + 1), array("q", bytes(8 * (n_owners + 1)))
        known, draws = bytearray(n_owners + 1), uniforms(source)

        def online(owner: int, tick: int) -> bool:
            chance = share
            if known[owner]:
                left = exp(-rate * (tick - asked[owner]) / TICKS_PER_UNIT)
                chance += (1 - share) * left if was[owner] else -share * left
            known[owner], asked[owner] = 1, tick
            was[owner] = next(draws) < chance
            return recorder.attended(owner, was[owner] == 1)

        return online

    @override
    def online_share(self, n_owners: int) -> tuple[float, ...]:
        return (self.on.mean / (self.on.mean + self.off.mean),) * n_owners

    def _begin(self, generator: np.random.Generator) -> tuple[bool, int]:
        online = bool(generator.random() < self.online_share(1)[0])
        rest = float(generator.random()) * (self.on if online else self.off).biased(generator)
        return online, to_ticks(min(rest, 1e9))

    def _alternate(self, owner: Owner, learner: Learner, mine: Scope) -> Activity:
        kernel = learner.kernel
        online, left = self._begin(mine.generator("availability"))
        lengths: dict[bool, Iterator[int] | None] = {
            True: self.on.durations(partial(mine.generator, "online"), 16),
            False: self.off.durations(partial(mine.generator, "offline"), 16),
        }
        if not online:
            owner.go_offline(learner)
        while True:
            yield kernel.tick + left, Priority.PRESENCE
            online = not online
            if online:
                owner.go_online(learner)
            else:
                owner.go_offline(learner)
            period = lengths[online]
            left = 0 if period is None else next(period)
