"""Channels with carrier sense: CSMA, and the contention of Wi-Fi (DCF)."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import TRANSMISSION_BEGINS, Activity, Kernel, Signal, Waiting
from asyncdp_sim.core.specification import Duration, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT, to_ticks
from asyncdp_sim.core.validation import TAGS
from asyncdp_sim.network.channels.air import Air, Fate, Medium, Port
from asyncdp_sim.network.channels.kind import Backoff, Contended, Deferring
from asyncdp_sim.network.laws import too_short, uniforms

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


class Dcf(Contended):
    """The distributed coordination function of IEEE 802.11, in the slots of Bianchi (2000).

    An owner with an answer draws a count, uniform on 0 … W − 1, and sends in the slot in which it
    is 0. Counts decrease by one a slot. A slot in which no owner sends lasts ``slot``, any other as
    long as its airtime and what follows it. An owner that finds no other counting waits a slot
    first. After i collisions in a row the count is drawn from W·2^min(i, m) slots; a successful
    answer restores the first window.
    """

    label = "802.11 DCF"
    sends_at_once = False
    carrier_sense = True
    slotted = False
    in_turn = False
    lets_begin = True

    kind: Literal["dcf"] = "dcf"
    slot: Annotated[Duration, Field(ge=1e-9)]
    window: Annotated[int, Field(ge=1, le=2**16)]
    doublings: Annotated[int, Field(ge=0, le=16)]
    after_success: Duration = 0.0
    after_collision: Duration = 0.0

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> "DcfMedium":
        return DcfMedium(self, kernel, streams)


class DcfMedium(Medium):
    """A channel on which owners count slots together.

    Parameters
    ----------
    spec : Dcf
    kernel : Kernel
    streams : Scope
    """

    def __init__(self, spec: Dcf, kernel: Kernel, streams: Scope) -> None:
        self.air = Air(kernel)
        super().__init__(self.air)
        self._spec = spec
        self._slot = to_ticks(spec.slot)
        self._after = {
            Fate.clear: to_ticks(spec.after_success),
            Fate.collided: to_ticks(spec.after_collision),
        }
        self._streams = streams
        self._collisions: Counter[int] = Counter()  # by owner, in a row
        self._counting: list[tuple[int, Signal]] = []
        self._under_way = False
        self._sending = 0
        self._taken: int | None = None
        self._next = Signal(kernel)

    @override
    def port(self, owner: int) -> Port:
        draws = uniforms(partial(self._streams.generator, "owner", owner, "contention"))
        return partial(self._transmit, owner, draws)

    def window(self, owner: int) -> int:
        """Return how many slots an owner's next count is drawn from."""
        return self._spec.window << min(self._collisions[owner], self._spec.doublings)

    def _transmit(
        self, owner: int, draws: Iterator[float], ticks: int, begun: Callable[[], bool], _: object
    ) -> Waiting[Fate]:
        """Count slots down, then transmit."""
        yield self.own_slot(int(next(draws) * self.window(owner)))
        fate = yield from self.air.attempt(ticks, begun)
        if fate is not Fate.kept:
            self._collisions[owner] = 0 if fate is Fate.clear else self._collisions[owner] + 1
        self.over(fate)
        return fate

    def own_slot(self, count: int) -> Signal:
        """Return the slot of an owner that counts so many others first, from the next one on."""
        mine = Signal(self.air.kernel)
        self._counting.append((count, mine))
        if not self._under_way:
            self._under_way = True
            self.air.kernel.start(self._slots())
        return mine

    def over(self, fate: Fate) -> None:
        """Note what came of one of those whose slot this is; the last one ends it."""
        if fate is not Fate.kept:
            self._taken = self._after[fate]
        self._sending -= 1
        if self._sending == 0:
            ticks = self._slot if self._taken is None else self._taken
            self._next.fire(self.air.kernel.tick + ticks, TRANSMISSION_BEGINS)

    def _slots(self) -> Activity:
        """Hold one slot after the other while anybody counts."""
        kernel = self.air.kernel
        yield kernel.tick + self._slot, TRANSMISSION_BEGINS  # all that are ready by then begin
        while len(self._counting) > 0:
            begun = [slot for left, slot in self._counting if left == 0]
            self._counting = [(left - 1, slot) for left, slot in self._counting if left > 0]
            if len(begun) == 0:
                yield kernel.tick + self._slot, TRANSMISSION_BEGINS
                continue
            self._sending, self._taken, self._next = len(begun), None, Signal(kernel)
            for slot in begun:
                slot.fire(kernel.tick, TRANSMISSION_BEGINS)
            yield self._next
        self._under_way = False
