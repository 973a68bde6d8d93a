"""Owners that are online at each tick of their clock with a chance, fixed or by the time of day."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import pi, sin
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network.availability.kind import AvailabilityKind, IsOnline
from asyncdp_sim.network.laws import Source
from asyncdp_sim.network.laws.kind import uniforms
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec.base import (
    EACH_OWNER,
    Finite,
    PerOwner,
    Several,
    own,
    per_owner,
    trait,
    wrong_length,
)
from asyncdp_sim.spec.validation import TAGS
from asyncdp_sim.trace import Recorder

Probability = Annotated[float, Field(ge=0, le=1)]


class Bernoulli(AvailabilityKind):
    """At each tick an owner is online with ``probability``, independently of all else.

    Poisson clocks thinned so are Poisson again, with rate λp.
    """

    always_online = False
    all_return = False
    drawn_per_tick = True
    keeps_poisson = True
    superposable = True

    kind: Literal["bernoulli"] = "bernoulli"
    probability: PerOwner[Probability]

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner, share in zip(owners, self.online_share(len(owners)), strict=True):
            source = partial(streams.generator, "owner", owner.number, "availability")
            learner.recorder.by_tick(owner.number)
            if share == 0:
                learner.give_up(owner.number)
            owner.online_at_tick = partial(
                _attends, uniforms(source), share, learner.recorder, owner.number
            )

    @override
    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> IsOnline:
        recorder.all_by_tick()
        shares, draws = self.online_share(n_owners), uniforms(source)
        return lambda owner, _: recorder.attended(owner, next(draws) < shares[owner - 1])

    @override
    def online_share(self, n_owners: int) -> tuple[float, ...]:
        return per_owner(self.probability, n_owners)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        return wrong_length("availability.probability", self.probability, n_owners)


def _attends(
    draws: Iterator[float],
    probability: float,
    recorder: Recorder,
    owner: int,
    _: int,
) -> bool:
    return recorder.attended(owner, next(draws) < probability)


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


class Diurnal(AvailabilityKind):
    """A tick at time t finds owner i online with probability a_i(t), drawn for each tick.

    a_i(t) = low + (high − low) (1 + sin 2π(t/period + phase_i))/2, so that a Poisson clock of
    rate λ_i acts as an inhomogeneous Poisson process of rate λ_i a_i(t).
    """

    always_online = False
    all_return = False
    drawn_per_tick = True
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
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner in owners:
            mine = streams.within("owner", owner.number)
            if isinstance(self.phase, str):
                phase = float(mine.generator("phase").random())
            else:
                phase = own(self.phase, owner.number - 1)
            draws = uniforms(partial(mine.generator, "availability"))
            learner.recorder.by_tick(owner.number)
            if self.high == 0:
                learner.give_up(owner.number)
            owner.online_at_tick = partial(
                self._attends, draws, phase, learner.recorder, owner.number
            )

    def at(self, time: float, phase: float) -> float:
        """Return a(t) for one phase."""
        swing = (1 + sin(2 * pi * (time / self.period + phase))) / 2
        return self.low + (self.high - self.low) * swing

    @override
    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> IsOnline:
        recorder.all_by_tick()
        phases: tuple[float, ...] = per_owner(self.phase, n_owners)  # type: ignore[arg-type]
        draws = uniforms(source)

        def online_at_tick(owner: int, tick: int) -> bool:
            share = self.at(tick / TICKS_PER_UNIT, phases[owner - 1])
            return recorder.attended(owner, next(draws) < share)

        return online_at_tick

    @override
    def online_share(self, n_owners: int) -> tuple[float, ...]:
        return ((self.low + self.high) / 2,) * n_owners

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        if isinstance(self.phase, str):
            return []
        return wrong_length("availability.phase", self.phase, n_owners)

    def _attends(
        self, draws: Iterator[float], phase: float, recorder: Recorder, owner: int, tick: int
    ) -> bool:
        return recorder.attended(owner, next(draws) < self.at(tick / TICKS_PER_UNIT, phase))
