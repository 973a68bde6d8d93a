"""Channels without carrier sense: pure ALOHA, slotted ALOHA, time division, and a shared link."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import ANSWER_END, TRANSMISSION_BEGINS, Kernel, Processor, Waiting
from asyncdp_sim.core.specification import Count, Duration, Positive, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.channels.kind import Air, Contended, Deferring, Fate, Medium, Port
from asyncdp_sim.network.laws import Source


class Aloha(Deferring):
    """Unslotted random access (Abramson 1970)."""

    label = "pure ALOHA"
    sends_at_once = True
    carrier_sense = False
    slotted = False
    in_turn = False
    exclusive = trait(lambda self: self.capture_ratio is None)

    kind: Literal["aloha"] = "aloha"
    capture_ratio: Positive | None = None

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> "AlohaMedium":
        return AlohaMedium(Air(kernel), self.capture_ratio, streams)


class AlohaMedium(Medium):
    """A channel without any rule of access."""

    def __init__(self, air: Air, capture_ratio: float | None, streams: Scope) -> None:
        super().__init__(air)
        self._air = air
        self._ratio = capture_ratio
        self._streams = streams

    @override
    def port(self, owner: int) -> Port:
        source = partial(self._streams.generator, "owner", owner, "power")
        return partial(self._transmit, _powers(source))

    def _transmit(
        self, powers: Iterator[float], ticks: int, begun: Callable[[], bool], _: object
    ) -> Waiting[Fate]:
        """Transmit now."""
        if self._ratio is None:
            return (yield from self._air.attempt(ticks, begun))
        if not begun():
            return Fate.kept
        sent = yield from self._air.send(ticks, next(powers))
        survives = sent.power > self._ratio * sent.interference
        return Fate.clear if survives else Fate.collided


def _powers(source: Source) -> Iterator[float]:
    generator = source()
    while True:
        yield from generator.exponential(1.0, 64).tolist()


def too_long(slot: float, airtime: float) -> list[Fault]:
    """Return a fault where a slot is shorter than what is sent in it."""
    if to_ticks(airtime) <= to_ticks(slot):
        return []
    return [Fault("slot", f"{slot:g}", f"allowed is a number ≥ the airtime {airtime:g}")]


class SlottedMedium(Medium):
    """A channel on which transmissions begin with a slot.

    Parameters
    ----------
    air : Air
    slot : int
        Ticks; slot j is [j·slot, (j+1)·slot).
    frame : int, optional
        Slots in a frame, each of one owner; without frames every slot is everybody's.
    """

    def __init__(self, air: Air, slot: int, frame: int | None = None) -> None:
        super().__init__(air)
        self._air = air
        self._slot = slot
        self._frame = frame
        self._free: dict[int, int] = {}  # by owner with slots of its own, the first not claimed

    @override
    def port(self, owner: int) -> Port:
        return partial(self._transmit, owner)

    def _transmit(
        self, owner: int, ticks: int, begun: Callable[[], bool], _: object
    ) -> Waiting[Fate]:
        """Wait for the owner's next slot, then transmit."""
        kernel, period, offset = self._air.kernel, self._slot, 0
        if self._frame is not None:
            period, offset = self._slot * self._frame, self._slot * (owner - 1)
        now = max(kernel.tick, self._free.get(owner, 0))
        start = now + (offset - now) % period
        if self._frame is not None:
            self._free[owner] = start + period
        if start > kernel.tick:
            yield start, TRANSMISSION_BEGINS
        fate = yield from self._air.attempt(ticks, begun)
        if fate is Fate.kept and self._free.get(owner) == start + period:
            self._free[owner] = start  # the slot is not used after all, and no later one is claimed
        return fate


class SlottedAloha(Deferring):
    """Random access in slots (Roberts 1975)."""

    label = "slotted ALOHA"
    sends_at_once = False
    carrier_sense = False
    slotted = True
    in_turn = False

    kind: Literal["slotted-aloha"] = "slotted-aloha"
    slot: Annotated[Duration, Field(ge=1e-9)]

    @override
    def faults_of_airtime(self, airtime: float) -> list[Fault]:
        return too_long(self.slot, airtime)

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> SlottedMedium:
        return SlottedMedium(Air(kernel), to_ticks(self.slot))


class Tdma(Contended):
    """Time-division access: slot j of every frame belongs to owner j."""

    label = "time division"
    sends_at_once = False
    carrier_sense = False
    slotted = True
    in_turn = True

    kind: Literal["tdma"] = "tdma"
    slot: Annotated[Duration, Field(ge=1e-9)]
    guard: Duration = 0.0
    frame: Count | None = None

    @override
    def faults_of_airtime(self, airtime: float) -> list[Fault]:
        with_guard = f" (guard {self.guard:g} included)"
        faults = too_long(self.slot, airtime + self.guard)
        return [replace(fault, allowed=fault.allowed + with_guard) for fault in faults]

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        faults = super().faults(n_owners)
        if self.frame is not None and self.frame < n_owners:
            rule = f"allowed is a whole number ≥ {n_owners}: a slot for every owner"
            faults.append(Fault("channel.frame", str(self.frame), rule))
        return faults

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> SlottedMedium:
        return SlottedMedium(Air(kernel), to_ticks(self.slot), self.frame or n_owners)


class Bottleneck(Contended):
    """A link that all answers share: at equal speeds, or one after the other.

    Many packets of several flows of TCP share a slow link equally (processor sharing): each of n
    answers gets 1/n of its speed. Answers of one packet go one after the other ("fifo").
    """

    label = "bottleneck link"
    sends_at_once = True
    carrier_sense = False
    slotted = False
    in_turn = False
    queues = True

    kind: Literal["bottleneck"] = "bottleneck"
    queue: Literal["shared", "fifo"] = "shared"

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> "BottleneckMedium":
        return BottleneckMedium(kernel, fifo=self.queue == "fifo")


class BottleneckMedium(Medium):
    """A shared link at work in one replicate.

    Parameters
    ----------
    kernel : Kernel
    fifo : bool
        Whether answers go one after the other.
    """

    def __init__(self, kernel: Kernel, *, fifo: bool) -> None:
        super().__init__()
        self._kernel = kernel
        self._fifo = fifo
        self._free = 0
        self._link = Processor(kernel, ANSWER_END)
        self._since = 0
        self._under_way = 0
        self._ticks = 0

    @override
    def port(self, owner: int) -> Port:
        return self._transmit

    @override
    def on_air_ticks(self, end_tick: int) -> int:
        return self._ticks + (end_tick - self._since) * self._under_way

    def _transmit(self, ticks: int, begun: Callable[[], bool], _: object) -> Waiting[Fate]:
        if not begun():
            return Fate.kept
        self._count(1)
        if self._fifo:
            self._free = max(self._free, self._kernel.tick) + ticks
            yield self._free, ANSWER_END
        else:
            yield from self._link.work(ticks)
        self._count(-1)
        return Fate.clear

    def _count(self, more: int) -> None:
        """Note that an answer begins or ends now."""
        self._ticks = self.on_air_ticks(self._kernel.tick)
        self._since = self._kernel.tick
        self._under_way += more
