"""The times at which owners are online: always, drawn for each tick, or period by period."""

from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import exp, pi, sin
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import Activity, Priority
from asyncdp_sim.core.specification import (
    EACH_OWNER,
    OWNER_NUMBERS,
    Count,
    Finite,
    PerOwner,
    Several,
    Variant,
    per_owner,
    picked,
    trait,
    wrong_length,
)
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT, to_ticks
from asyncdp_sim.core.validation import TAGS
from asyncdp_sim.network.laws import LastingLaw, Law, NoTime, Source, alternate, uniforms
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.trace import Recorder

IsOnline = Callable[[int, int], bool]
"""From an owner (from 1) and a tick to whether it is online then; ticks never go back."""


class AvailabilityKind(Variant):
    """The times at which owners are online."""

    always_online: ClassVar[bool]
    """Nobody is ever offline."""
    all_return: ClassVar[bool]
    """An owner that is asked while offline is online again later, and answers then."""
    drawn_per_tick: ClassVar[bool]
    """Whether an owner is online is drawn for each tick of its clock (or each query)."""
    keeps_poisson: ClassVar[bool]
    """Ticks of a Poisson clock that find their owner online are a Poisson process."""
    superposable: ClassVar[bool] = False
    """Whether it can be worked out at an owner's next tick from what was known last."""

    @property
    def comes_and_goes(self) -> bool:
        """Whether owners go offline at times of their own, and so perhaps while they work."""
        return not (self.always_online or self.drawn_per_tick)

    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Start whatever brings owners on and off line, if anything does."""

    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> IsOnline | None:
        """Return a function that decides whether an owner is online at a tick.

        None where no owner is ever offline, or where owners receive a signal when they come and go.
        """
        return None

    @abstractmethod
    def online_share(self, n_owners: int) -> tuple[float, ...] | None:
        """Return the long-run share of an owner's ticks that find it online, per owner.

        None where there is no long run.
        """

    def never_online(self, n_owners: int) -> tuple[int, ...]:
        """Return the owners (from 1) of which it is known before a run that they never are."""
        share = self.online_share(n_owners) or ()
        return tuple(owner for owner, owner_share in enumerate(share, start=1) if owner_share == 0)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return []


class Always(AvailabilityKind):
    """Every owner is online all the time."""

    always_online = True
    all_return = True
    drawn_per_tick = False
    keeps_poisson = True
    superposable = True

    kind: Literal["always"] = "always"

    @override
    def online_share(self, n_owners: int) -> tuple[float, ...]:
        return (1.0,) * n_owners


Probability = Annotated[float, Field(ge=0, le=1)]


class DrawnPerTick(AvailabilityKind):
    """Presence that is drawn for each tick, with a chance that owner and time decide.

    Draws come from the owner's stream ``availability``; those of a crowd from its own.
    """

    always_online = False
    all_return = False
    drawn_per_tick = True

    @abstractmethod
    def at(self, time: float, setting: float) -> float:
        """Return the chance that an owner with this setting is online at a time (time units)."""

    @abstractmethod
    def settings(self, n_owners: int, streams: Scope | None) -> Sequence[float]:
        """Return what the chance depends on besides the time, per owner."""

    def _draw(
        self, draws: Iterator[float], recorder: Recorder, setting: float, owner: int, tick: int
    ) -> bool:
        share = self.at(tick / TICKS_PER_UNIT, setting)
        return recorder.attended(owner, next(draws) < share)

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        never = self.never_online(len(owners))
        for owner, setting in zip(owners, self.settings(len(owners), streams), strict=True):
            number, recorder = owner.number, learner.recorder
            draws = uniforms(partial(streams.generator, "owner", number, "availability"))
            recorder.by_tick(number)
            if number in never:
                learner.give_up(number)
            owner.online_at_tick = partial(self._draw, draws, recorder, setting, number)

    @override
    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> IsOnline:
        recorder.all_by_tick()
        settings, draws = self.settings(n_owners, None), uniforms(source)
        return lambda owner, tick: self._draw(draws, recorder, settings[owner - 1], owner, tick)


class Bernoulli(DrawnPerTick):
    """At each tick an owner is online with ``probability``, independently of all else.

    Poisson clocks thinned so are Poisson again, with rate λp.
    """

    keeps_poisson = True
    superposable = True

    kind: Literal["bernoulli"] = "bernoulli"
    probability: PerOwner[Probability]

    @override
    def at(self, time: float, setting: float) -> float:
        return setting

    @override
    def settings(self, n_owners: int, streams: Scope | None) -> tuple[float, ...]:
        return per_owner(self.probability, n_owners)

    @override
    def online_share(self, n_owners: int) -> tuple[float, ...]:
        return per_owner(self.probability, n_owners)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        return wrong_length("availability.probability", self.probability, n_owners)


def _form(value: Any) -> str:
    if isinstance(value, str):
        return TAGS[2]
    return TAGS[1] if isinstance(value, list | tuple) else TAGS[0]


Phase = Annotated[
    Annotated[Finite, Tag(TAGS[0])]
    | Annotated[Several[Finite], Tag(TAGS[1])]
    | Annotated[Literal["uniform"], Tag(TAGS[2])],
    Discriminator(_form),
    EACH_OWNER,
]


class Diurnal(DrawnPerTick):
    """A tick at time t finds owner i online with probability a_i(t), drawn for each tick.

    a_i(t) = low + (high − low) (1 + sin 2π(t/period + phase_i))/2, so that a Poisson clock of
    rate λ_i acts as an inhomogeneous Poisson process of rate λ_i a_i(t).
    """

    keeps_poisson = False
    superposable = trait(lambda self: not isinstance(self.phase, str))

    kind: Literal["diurnal"] = "diurnal"
    period: Annotated[float, Field(gt=0, le=1e9)]
    low: Probability
    high: Probability
    phase: Phase = 0.0

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.low > self.high:
            yield Fault("high", str(self.high), f"allowed is a number ≥ low = {self.low}")

    @override
    def settings(self, n_owners: int, streams: Scope | None) -> Sequence[float]:
        """Return each owner's phase."""
        if not isinstance(self.phase, str):
            phases: tuple[float, ...] = per_owner(self.phase, n_owners)
            return phases
        if streams is None:
            raise ValueError("random phases are drawn from the streams of owners")
        numbers = range(1, n_owners + 1)
        return [float(streams.generator("owner", i, "phase").random()) for i in numbers]

    @override
    def at(self, time: float, setting: float) -> float:
        """Return a(t) of an owner with this phase."""
        swing = (1 + sin(2 * pi * (time / self.period + setting))) / 2
        return self.low + (self.high - self.low) * swing

    @override
    def online_share(self, n_owners: int) -> tuple[float, ...]:
        return ((self.low + self.high) / 2,) * n_owners

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        if isinstance(self.phase, str):
            return []
        return wrong_length("availability.phase", self.phase, n_owners)


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
            owner.set_online(False, learner)
        while True:
            yield kernel.tick + left, Priority.PRESENCE
            online = not online
            owner.set_online(online, learner)
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
        """Numbers of the groups, by which their random streams are named."""
        return tuple(range(1, len(self.groups) + 1)) if self.numbers is None else self.numbers

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for number, group in zip(self._numbers, self.groups, strict=True):
            change = partial(_set_all_online, [owners[member - 1] for member in group], learner)
            own = streams.within("group", number)
            learner.kernel.start(alternate(learner.kernel, own, self.gap, self.length, change))

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


def _set_all_online(owners: Sequence[Owner], learner: Learner, online: bool) -> None:
    """Let all these owners go online, or offline."""
    for owner in owners:
        owner.set_online(online, learner)


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
            owner.set_online(False, learner)
            yield learner.kernel.tick + next(join), Priority.PRESENCE
            owner.set_online(True, learner)
        if lifetime is not None:
            yield learner.kernel.tick + next(lifetime), Priority.PRESENCE
            owner.set_online(False, learner)
            learner.leave(owner.number)
