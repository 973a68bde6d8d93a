"""Owners that are online for a while and offline for a while, that go dark together, or leave."""

from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from math import exp
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import Activity, Priority
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT, to_ticks
from asyncdp_sim.network.availability.kind import Always, AvailabilityKind, IsOnline
from asyncdp_sim.network.laws import LastingLaw, Law, NoTime, Source
from asyncdp_sim.network.laws.kind import uniforms
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec.base import OWNER_NUMBERS, Count, Several, Variant, picked, trait
from asyncdp_sim.trace import Recorder


class OnOff(AvailabilityKind):
    """An alternating renewal process for each owner, started from its stationary law.

    An owner is online at time 0 with probability E on/(E on + E off); what is left of the period
    under way has the equilibrium law (a uniform share of a length-biased period).
    """

    always_online = False
    all_return = True
    drawn_per_tick = False
    keeps_poisson = False
    superposable = trait(lambda self: self.on.memoryless and self.off.memoryless)

    kind: Literal["on-off"] = "on-off"
    on: LastingLaw
    off: LastingLaw

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner in owners:
            mine = streams.within("owner", owner.number)
            learner.kernel.start(self._alternate(owner, learner, mine))

    @override
    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> IsOnline:
        """Return a function that decides whether an owner is online, from its last state.

        With rates a = 1/E on and b = 1/E off and π = b/(a+b), an owner that was online (offline) a
        time t ago is online with probability π + (1−π)e^{−(a+b)t} (π − πe^{−(a+b)t}).
        """
        recorder.all_by_tick()
        share, rate = self.online_share(1)[0], 1 / self.on.mean + 1 / self.off.mean
        was, asked = bytearray(n_owners + 1), array("q", bytes(8 * (n_owners + 1)))
        asked_before, draws = bytearray(n_owners + 1), uniforms(source)

        def online(owner: int, tick: int) -> bool:
            chance = share
            if asked_before[owner]:
                left = exp(-rate * (tick - asked[owner]) / TICKS_PER_UNIT)
                chance += (1 - share) * left if was[owner] else -share * left
            asked_before[owner], asked[owner] = 1, tick
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


Members = Annotated[Several[Annotated[int, Field(ge=1)]], Field(strict=False)]


class Outages(AvailabilityKind):
    """Each group is online for a ``gap`` and then offline for a ``length``, repeatedly."""

    always_online = False
    all_return = True
    drawn_per_tick = False
    keeps_poisson = False

    kind: Literal["outages"] = "outages"
    groups: Annotated[Several[Members], OWNER_NUMBERS]
    numbers: Several[Count] | None = None
    gap: LastingLaw
    length: LastingLaw

    @override
    def of_some(self, places: Sequence[int]) -> Variant:
        kept = [
            (number, group)
            for number, group in zip(self._numbers, picked(self, places).groups, strict=True)
            if len(group) > 0
        ]
        if len(kept) == 0:
            return Always()
        numbers, groups = zip(*kept, strict=True)
        usual = numbers == tuple(range(1, len(groups) + 1))
        return self.model_copy(update={"numbers": None if usual else numbers, "groups": groups})

    @property
    def _numbers(self) -> tuple[int, ...]:
        """What the groups are called."""
        return tuple(range(1, len(self.groups) + 1)) if self.numbers is None else self.numbers

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for number, group in zip(self._numbers, self.groups, strict=True):
            members = [owners[member - 1] for member in group]
            learner.kernel.start(self._recur(number, members, learner, streams))

    @override
    def online_share(self, n_owners: int) -> tuple[float, ...]:
        share = self.gap.mean / (self.gap.mean + self.length.mean)
        return tuple(share**count for count in self.groups_of(n_owners))

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        """Return members that are no owners, and members named twice in one group."""
        faults = []
        if len(set(self._numbers)) < len(self._numbers) or len(self._numbers) != len(self.groups):
            rule = "allowed is a number of its own for every group"
            shown = str(list(self._numbers))
            return [Fault("availability.numbers", shown, rule)]
        for place, group in enumerate(self.groups):
            if max(group) > n_owners:
                rule = f"allowed are owner numbers 1 to {n_owners}"
                faults.append(Fault(f"availability.groups[{place}]", str(list(group)), rule))
            elif len(set(group)) < len(group):
                rule = "allowed is every owner once in a group"
                faults.append(Fault(f"availability.groups[{place}]", str(list(group)), rule))
        return faults

    def groups_of(self, n_owners: int) -> list[int]:
        """Return how many groups each owner is in."""
        return [sum(owner in group for group in self.groups) for owner in range(1, n_owners + 1)]

    def _recur(
        self, number: int, members: Sequence[Owner], learner: Learner, streams: Scope
    ) -> Activity:
        own = streams.within("group", number)
        gaps = self.gap.durations(partial(own.generator, "gap"), 16)
        lengths = self.length.durations(partial(own.generator, "length"), 16)
        while gaps is not None and lengths is not None:
            yield learner.kernel.tick + next(gaps), Priority.PRESENCE
            for owner in members:
                owner.go_offline(learner)
            yield learner.kernel.tick + next(lengths), Priority.PRESENCE
            for owner in members:
                owner.go_online(learner)


class Churn(AvailabilityKind):
    """Each owner joins after a time drawn from ``join`` and leaves for good after a ``lifetime``.

    An exchange under way when its owner leaves is completed. ``none`` joins at once, or never
    leaves.
    """

    always_online = False
    all_return = False
    drawn_per_tick = False
    keeps_poisson = False

    kind: Literal["churn"] = "churn"
    join: Law = NoTime()
    lifetime: Law = NoTime()

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner in owners:
            learner.kernel.start(self._stay(owner, learner, streams))

    @override
    def online_share(self, n_owners: int) -> None:
        return

    def _stay(self, owner: Owner, learner: Learner, streams: Scope) -> Activity:
        own = streams.within("owner", owner.number)
        join = self.join.durations(partial(own.generator, "join"), 1)
        lifetime = self.lifetime.durations(partial(own.generator, "lifetime"), 1)
        if join is not None:
            owner.go_offline(learner)
            yield learner.kernel.tick + next(join), Priority.PRESENCE
            owner.go_online(learner)
        if lifetime is not None:
            yield learner.kernel.tick + next(lifetime), Priority.PRESENCE
            owner.go_offline(learner)
            learner.leave(owner.number)
