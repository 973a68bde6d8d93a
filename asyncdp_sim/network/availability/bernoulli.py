"""Owners that listen to each tick of their clock with a fixed probability."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.availability.kind import AvailabilityKind, IsOnline
from asyncdp_sim.network.laws import Source
from asyncdp_sim.network.laws.drawn import uniforms
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import PerOwner, about, per_owner, wrong_length
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Recorder

Probability = Annotated[float, Field(ge=0, le=1)]


class Bernoulli(AvailabilityKind):
    """At each tick an owner is online with ``probability``, independently of all else.

    Poisson clocks thinned so are Poisson again, with rate λp.
    """

    always_online = False
    all_return = False
    rehearsed = True
    drawn_per_tick = True
    keeps_poisson = True

    kind: Literal["bernoulli"] = "bernoulli"
    probability: Annotated[
        PerOwner[Probability],
        about(
            "Chance that an owner is online at a tick, or under broadcast and rounds when a query "
            "arrives",
            "none",
        ),
    ]

    @override
    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner, share in zip(owners, self.online_share(len(owners)), strict=True):
            source = partial(streams.generator, "owner", owner.number, "availability")
            learner.recorder.by_tick(owner.number)
            if share == 0:
                learner.give_up(owner.number)
            owner.attends = partial(
                _attends, uniforms(source), share, learner.recorder, owner.number
            )

    @property
    @override
    def superposable(self) -> bool:
        return True

    @override
    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> IsOnline:
        recorder.all_by_tick()
        shares, draws = self.online_share(n_owners), uniforms(source)
        return lambda owner, tick: recorder.attended(owner, next(draws) < shares[owner - 1])  # noqa: ARG005

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
    tick: int,  # noqa: ARG001
) -> bool:
    return recorder.attended(owner, next(draws) < probability)
