"""Channels with carrier sense: CSMA, and the contention of Wi-Fi (DCF)."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from asyncdp_sim.network.channels.kind import Air, Backoff, Contended, Deferring, Fate, Medium, Port
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
            rule = "allowed is a number ≥ 1e-9 with collision detection: at 0 none collide"
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
    """The distributed coordination function of IEEE 802.11.

    An owner with an answer draws a count, uniform on 0 … W − 1, and sends after so many slots in
    which no owner sends. After i collisions in a row the count is drawn from W·2^min(i, m) slots; a
    successful answer restores the first window. While the channel is busy, counts are frozen, or,
    in Bianchi's model, decrease by one.
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
    counting: Literal["frozen", "bianchi"] = "frozen"
    after_success: Duration = 0.0
    after_collision: Duration = 0.0
    others_after_collision: Duration | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        yield from super().own_faults()
        if self.counting == "bianchi" and self.others_after_collision is not None:
            rule = "not allowed with counting = bianchi, in which all owners count together"
            yield Fault("others_after_collision", f"{self.others_after_collision:g}", rule)

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> "DcfMedium":
        medium = FrozenMedium if self.counting == "frozen" else BianchiMedium
        return medium(self, kernel, streams)


class DcfMedium(Medium):
    """A channel on which owners count slots.

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
        self._sending = 0

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
        yield self.own_slot(owner, int(next(draws) * self.window(owner)))
        fate = yield from self.air.attempt(ticks, begun)
        if fate is not Fate.kept:
            self._collisions[owner] = 0 if fate is Fate.clear else self._collisions[owner] + 1
        self.over(owner, fate)
        return fate

    @abstractmethod
    def own_slot(self, owner: int, count: int) -> Signal:
        """Return the slot of an owner that counts so many others first, from the next one on."""

    @abstractmethod
    def over(self, owner: int, fate: Fate) -> None:
        """Note what came of one of those whose slot this is; the last one ends it."""


class BianchiMedium(DcfMedium):
    """A channel whose slots are those of Bianchi (2000): all count one in a busy slot too.

    A slot in which no owner sends lasts ``slot``, any other as long as its airtime and what follows
    it. An owner that finds no other counting waits a slot first.
    """

    def __init__(self, spec: Dcf, kernel: Kernel, streams: Scope) -> None:
        super().__init__(spec, kernel, streams)
        self._counting: list[tuple[int, Signal]] = []
        self._under_way = False
        self._taken: int | None = None
        self._next = Signal(kernel)

    @override
    def own_slot(self, owner: int, count: int) -> Signal:
        mine = Signal(self.air.kernel)
        self._counting.append((count, mine))
        if not self._under_way:
            self._under_way = True
            self.air.kernel.start(self._slots())
        return mine

    @override
    def over(self, owner: int, fate: Fate) -> None:
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


@dataclass(eq=False, slots=True)
class Contender:
    """An owner that counts: slots left from a tick on, and the signal of its own slot."""

    owner: int
    left: int
    since: int
    begins: Signal


class FrozenMedium(DcfMedium):
    """A channel on which owners count only slots in which they find it idle, as IEEE 802.11 does.

    Slots begin when the channel is free again, ``after_success`` or ``after_collision`` after the
    end of a transmission, and follow each other while it is idle. So an owner that has just
    succeeded and draws 0 sends in the first slot, where no other owner that was counting can. After
    a collision those that sent and the others resume at different times; if the scenario does not
    state them, the first slot is free of both.
    """

    def __init__(self, spec: Dcf, kernel: Kernel, streams: Scope) -> None:
        super().__init__(spec, kernel, streams)
        own = other = self._after[Fate.collided]
        if spec.others_after_collision is None:
            own += self._slot
        else:
            other = to_ticks(spec.others_after_collision)
        self._gaps = {Fate.clear: (self._after[Fate.clear],) * 2, Fate.collided: (own, other)}
        self._counting: list[Contender] = []
        self._resume = self._resume_senders = 0
        self._senders: list[int] = []
        self._last: list[int] = []  # that sent in the last transmission
        self._timer = 0

    @override
    def own_slot(self, owner: int, count: int) -> Signal:
        kernel = self.air.kernel
        contender = Contender(owner, count, kernel.tick, Signal(kernel))
        self._counting.append(contender)
        if self._sending == 0:  # else it starts to count when the transmission is over
            first = self._resume_senders if owner in self._last else self._resume
            late = max(0, kernel.tick - first)
            contender.since = first + -(-late // self._slot) * self._slot
            self._set_timer()
        return contender.begins

    @override
    def over(self, owner: int, fate: Fate) -> None:
        now = self.air.kernel.tick
        if fate is not Fate.kept:
            own, other = self._gaps[fate]
            self._resume, self._resume_senders = now + other, now + own
            self._senders.append(owner)
        self._sending -= 1
        if self._sending == 0:
            if len(self._senders) > 0:
                self._last, self._senders = self._senders, []
                for contender in self._counting:
                    again = contender.owner in self._last
                    contender.since = self._resume_senders if again else self._resume
            self._set_timer()

    def _set_timer(self) -> None:
        """Let the next slot in which somebody sends begin; a timer that was set before is void."""
        self._timer += 1
        if len(self._counting) == 0:
            return
        due = min(contender.since + contender.left * self._slot for contender in self._counting)
        moment = self.air.kernel.at(due, TRANSMISSION_BEGINS)
        moment.callbacks.append(partial(self._begin, self._timer))

    def _begin(self, timer: int, _: object) -> None:
        """Let those send whose slot begins now; the others have counted all slots that are over."""
        if timer != self._timer:
            return
        now, slot = self.air.kernel.tick, self._slot
        for contender in self._counting:
            counted = max(0, (now - contender.since) // slot)
            contender.left -= counted
            contender.since += counted * slot
        begun = [c for c in self._counting if c.left == 0 and c.since == now]
        self._counting = [c for c in self._counting if c.left > 0 or c.since > now]
        self._sending = len(begun)
        for contender in begun:
            contender.begins.fire(now, TRANSMISSION_BEGINS)
