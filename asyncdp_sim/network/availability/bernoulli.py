"""Owners that listen to each tick of their clock with a fixed probability."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.clocks import wrong_length
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import PerOwner, Spec, per_owner
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

    def online_share(self, n_owners: int) -> tuple[float, ...]:
        """Return the share of an owner's ticks that find it online, per owner."""
        return per_owner(self.probability, n_owners)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return wrong_length("availability.probability", self.probability, n_owners)


def uniforms(source: Callable[[], np.random.Generator]) -> Iterator[float]:
    """Yield draws from U[0, 1), without end; the stream is made at the first."""
    generator = source()
    while True:
        yield from generator.random(64).tolist()


def _attends(
    draws: Iterator[float],
    probability: float,
    recorder: Recorder,
    owner: int,
    tick: int,  # noqa: ARG001
) -> bool:
    return recorder.attended(owner, next(draws) < probability)
