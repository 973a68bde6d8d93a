"""Owners whose availability follows the time of day."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import pi, sin
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import TAGS, faults_of
from asyncdp_sim.network.availability.bernoulli import Probability
from asyncdp_sim.network.availability.is_online import Looks
from asyncdp_sim.network.draws import uniforms
from asyncdp_sim.network.laws import Source
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Finite, Several, Spec, per_owner, wrong_length
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Recorder
from asyncdp_sim.units import TICKS_PER_UNIT


def _form(value: Any) -> str:
    if isinstance(value, str):
        return TAGS[2]
    return TAGS[1] if isinstance(value, list | tuple) else TAGS[0]


Phase = Annotated[
    Annotated[Finite, Tag(TAGS[0])]
    | Annotated[Several[Finite], Tag(TAGS[1])]
    | Annotated[Literal["uniform"], Tag(TAGS[2])],
    Discriminator(_form),
]


class Diurnal(Spec):
    """A tick at time t finds owner i online with probability a_i(t), drawn for each tick.

    a_i(t) = low + (high − low) (1 + sin 2π(t/period + phase_i))/2, so that a Poisson clock of
    rate λ_i acts as an inhomogeneous Poisson process of rate λ_i a_i(t).

    Attributes
    ----------
    period : float
        Time units, > 0.
    low, high : float
        0 ≤ low ≤ high ≤ 1.
    phase : float, list or "uniform"
        In periods; one for all owners, one each, or drawn from U[0, 1) for each.
    """

    kind: Literal["diurnal"] = "diurnal"
    period: Annotated[float, Field(gt=0, le=1e9)]
    low: Probability
    high: Probability
    phase: Phase = 0.0

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.low > self.high:
            raise faults_of(
                [Fault("high", str(self.high), f"allowed is a number ≥ low = {self.low}")]
            )
        return self

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Give every owner its phase, and a draw of its own for each tick."""
        for index, owner in enumerate(owners):
            own = streams.within("owner", owner.number)
            if isinstance(self.phase, str):
                phase = float(own.generator("phase").random())
            else:
                phase = per_owner(self.phase, len(owners))[index]
            draws = uniforms(partial(own.generator, "availability"))
            learner.recorder.by_tick(owner.number)
            if self.high == 0:
                learner.give_up(owner.number)
            owner.attends = partial(self._attends, draws, phase, learner.recorder, owner.number)

    def at(self, time: float, phase: float) -> float:
        """Return a(t) for one phase."""
        swing = (1 + sin(2 * pi * (time / self.period + phase))) / 2
        return self.low + (self.high - self.low) * swing

    @property
    def memoryless(self) -> bool:
        """Whether it can be worked out at an owner's next tick: if phases are given."""
        return not isinstance(self.phase, str)

    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> Looks:
        """Return what tells whether an owner attends to a tick."""
        recorder.all_by_tick()
        phases: tuple[float, ...] = per_owner(self.phase, n_owners)  # type: ignore[arg-type]
        draws = uniforms(source)

        def attends(owner: int, tick: int) -> bool:
            share = self.at(tick / TICKS_PER_UNIT, phases[owner - 1])
            return recorder.attended(owner, next(draws) < share)

        return attends

    def online_share(self, n_owners: int) -> tuple[float, ...]:
        """Return the mean of a_i over a period, (low + high)/2."""
        return ((self.low + self.high) / 2,) * n_owners

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        if isinstance(self.phase, str):
            return []
        return wrong_length("availability.phase", self.phase, n_owners)

    def _attends(
        self, draws: Iterator[float], phase: float, recorder: Recorder, owner: int, tick: int
    ) -> bool:
        return recorder.attended(owner, next(draws) < self.at(tick / TICKS_PER_UNIT, phase))
