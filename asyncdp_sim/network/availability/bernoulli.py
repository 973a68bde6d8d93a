"""Owners that listen to each tick of their clock with a fixed probability."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.availability.is_online import Looks
from asyncdp_sim.network.draws import uniforms
from asyncdp_sim.network.laws import Source
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import PerOwner, Spec, per_owner, wrong_length
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Recorder

Probability = Annotated[float, Field(ge=0, le=1)]


class Bernoulli(Spec):
    """At each tick an owner is online with ``probability``, independently of all else.

    ``probability`` in [0, 1] is one number or a list with one per owner. Poisson clocks thinned
    so are Poisson again, with rate λp.
    """

    kind: Literal["bernoulli"] = "bernoulli"
    probability: PerOwner[Probability]

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Give every owner a draw of its own for each tick."""
        for owner, share in zip(owners, self.online_share(len(owners)), strict=True):
            source = partial(streams.generator, "owner", owner.number, "availability")
            learner.recorder.by_tick(owner.number)
            if share == 0:
                learner.give_up(owner.number)
            owner.attends = partial(
                _attends, uniforms(source), share, learner.recorder, owner.number
            )

    @property
    def memoryless(self) -> bool:
        """Whether it can be worked out at an owner's next tick from what was known last."""
        return True

    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> Looks:
        """Return what tells whether an owner attends to a tick."""
        recorder.all_by_tick()
        shares, draws = self.online_share(n_owners), uniforms(source)
        return lambda owner, tick: recorder.attended(owner, next(draws) < shares[owner - 1])  # noqa: ARG005

    def online_share(self, n_owners: int) -> tuple[float, ...]:
        """Return the share of an owner's ticks that find it online, per owner."""
        return per_owner(self.probability, n_owners)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return wrong_length("availability.probability", self.probability, n_owners)


def _attends(
    draws: Iterator[float],
    probability: float,
    recorder: Recorder,
    owner: int,
    tick: int,  # noqa: ARG001
) -> bool:
    return recorder.attended(owner, next(draws) < probability)
