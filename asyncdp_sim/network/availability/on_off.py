"""Owners that are online for a while and offline for a while."""

from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from math import exp
from typing import Literal, Self

from pydantic import model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.availability.is_online import Looks
from asyncdp_sim.network.draws import uniforms
from asyncdp_sim.network.laws import Exponential, Law, Source, too_short
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Spec
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Recorder
from asyncdp_sim.units import TICKS_PER_UNIT, to_ticks


class OnOff(Spec):
    """An alternating renewal process for each owner, started from its stationary law.

    An owner is online at time 0 with probability E on/(E on + E off); what is left of the period
    under way has the equilibrium law (a uniform share of a length-biased period).

    Attributes
    ----------
    on, off : law
        Lengths of the periods (time units), with positive means.
    """

    kind: Literal["on-off"] = "on-off"
    on: Law
    off: Law

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        found = too_short({"on": self.on, "off": self.off})
        if len(found) > 0:
            raise faults_of(found)
        return self

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Start every owner's alternation."""
        for owner in owners:
            learner.kernel.start(self._alternate(owner, learner, streams))

    @property
    def memoryless(self) -> bool:
        """Whether it can be worked out at an owner's next tick: if both laws are exponential."""
        return isinstance(self.on, Exponential) and isinstance(self.off, Exponential)

    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> Looks:
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

    def online_share(self, n_owners: int) -> tuple[float, ...]:
        """Return E on/(E on + E off), whatever the laws."""
        return (self.on.mean / (self.on.mean + self.off.mean),) * n_owners

    def faults(self, n_owners: int) -> list[Fault]:  # noqa: ARG002
        """Return nothing: it fits any number of owners."""
        return []

    def _alternate(self, owner: Owner, learner: Learner, streams: Scope) -> Activity:
        own, kernel = streams.within("owner", owner.number), learner.kernel
        start = own.generator("availability")
        online = bool(start.random() < self.online_share(1)[0])
        rest = float(start.random()) * (self.on if online else self.off).biased(start)
        left = to_ticks(min(rest, 1e9))
        lengths: dict[bool, Iterator[int] | None] = {
            True: self.on.durations(partial(own.generator, "online"), 16),
            False: self.off.durations(partial(own.generator, "offline"), 16),
        }
        if not online:
            owner.go_offline(learner)
        while True:
            yield kernel.after(left, Priority.PRESENCE)
            online = not online
            if online:
                owner.go_online(learner)
            else:
                owner.go_offline(learner)
            period = lengths[online]
            left = 0 if period is None else next(period)
