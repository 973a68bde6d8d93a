"""CSMA: owners sense the channel before they send; a propagation delay applies."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import TRANSMISSION_BEGINS, Kernel, Waiting
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT, to_ticks
from asyncdp_sim.network.channels.air import Air, Fate, Medium, Port
from asyncdp_sim.network.channels.kind import Backoff, Deferring
from asyncdp_sim.network.laws import too_short
from asyncdp_sim.network.laws.kind import uniforms
from asyncdp_sim.spec.base import Duration, trait
from asyncdp_sim.spec.validation import TAGS

Persistence = Annotated[
    Annotated[float, Field(gt=0, le=1), Tag(TAGS[0])]
    | Annotated[Literal["non-persistent"], Tag(TAGS[2])],
    Discriminator(lambda value: TAGS[2] if isinstance(value, str) else TAGS[0]),
]


class Csma(Deferring):
    """Carrier-sense multiple access (Kleinrock and Tobagi 1975).

    Every station, the sender too, detects a transmission during [start + a, end + a).
    """

    label = "CSMA"
    sends_at_once = False
    carrier_sense = True
    slotted = False
    in_turn = False
    breaks_off = trait(lambda self: self.collision_detection)
    lets_begin = trait(lambda self: not self.gives_up)
    exclusive = trait(lambda self: self.gives_up)

    kind: Literal["csma"] = "csma"
    propagation_delay: Duration
    persistence: Persistence = "non-persistent"
    collision_detection: bool = False

    @override
    def own_faults(self) -> Iterator[Fault]:
        yield from super().own_faults()
        p, delay = self.persistence, to_ticks(self.propagation_delay)
        if not isinstance(p, str) and p < 1 and delay == 0:
            rule = "allowed is a number ≥ 1e-9 where persistence < 1: the wait between two draws"
            yield Fault("propagation_delay", f"{self.propagation_delay:g}", rule)
        if self.collision_detection and delay == 0:
            rule = "allowed is a number ≥ 1e-9 with collision detection: nobody collides at 0"
            yield Fault("propagation_delay", f"{self.propagation_delay:g}", rule)
        if not self.backoff.instant and self.backoff.mean < 1 / TICKS_PER_UNIT:
            yield too_short(self.backoff, "backoff")  # it would listen for ever at a tick

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> "CsmaMedium":
        return CsmaMedium(self, kernel, streams)

    @property
    def gives_up(self) -> bool:
        """Whether an owner that detects another transmission never sends this answer again."""
        return self.persistence == "non-persistent" and self.backoff.instant


class CsmaMedium(Medium):
    """A channel whose owners listen first."""

    def __init__(self, spec: Csma, kernel: Kernel, streams: Scope) -> None:
        self.spec = spec
        self.slot = to_ticks(spec.propagation_delay)
        self.air = Air(kernel, self.slot, cut=spec.collision_detection)
        super().__init__(self.air)
        self._streams = streams

    @override
    def port(self, owner: int) -> Port:
        own = self._streams.within("owner", owner)
        waits = self.spec.waits(own, "deferral")
        p = self.spec.persistence
        if isinstance(p, str):
            return partial(self._if_idle, waits)
        draws = None if p == 1 else uniforms(partial(own.generator, "persistence"))
        return partial(self._when_idle, p, draws)

    def _if_idle(
        self,
        waits: Backoff | None,
        ticks: int,
        begun: Callable[[], bool],
        deferred: Callable[[], None],
    ) -> Waiting[Fate]:
        """Listen, then transmit, or give up or come back later."""
        times = 0
        while self.air.busy():
            deferred()
            if waits is None:
                return Fate.kept
            times += 1
            yield self.air.kernel.tick + waits(times), TRANSMISSION_BEGINS
        return (yield from self.air.attempt(ticks, begun))

    def _when_idle(
        self,
        p: float,
        draws: Iterator[float] | None,
        ticks: int,
        begun: Callable[[], bool],
        _: object,
    ) -> Waiting[Fate]:
        """Listen until the channel is idle, then transmit with probability p or wait a slot."""
        while True:
            if self.air.busy():
                yield self.air.idle()
            elif draws is None or next(draws) < p:
                break
            else:
                yield self.air.kernel.tick + self.slot, TRANSMISSION_BEGINS
        return (yield from self.air.attempt(ticks, begun))
