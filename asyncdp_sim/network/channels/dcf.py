"""Wi-Fi's contention: owners count random slots down, those that collide count from more."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.kernel import TRANSMISSION_BEGINS, Activity, Kernel, Signal, Waiting
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.channels.air import Air, Fate, Medium, Port
from asyncdp_sim.network.channels.kind import Contended
from asyncdp_sim.network.laws.kind import uniforms
from asyncdp_sim.spec.base import Duration


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
        yield self.turn(int(next(draws) * self.window(owner)))
        fate = yield from self.air.attempt(ticks, begun)
        if fate is not Fate.kept:
            self._collisions[owner] = 0 if fate is Fate.clear else self._collisions[owner] + 1
        self.over(fate)
        return fate

    def turn(self, count: int) -> Signal:
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
            turns = [turn for left, turn in self._counting if left == 0]
            self._counting = [(left - 1, turn) for left, turn in self._counting if left > 0]
            if len(turns) == 0:
                yield kernel.tick + self._slot, TRANSMISSION_BEGINS
                continue
            self._sending, self._taken, self._next = len(turns), None, Signal(kernel)
            for turn in turns:
                turn.fire(kernel.tick, TRANSMISSION_BEGINS)
            yield self._next
        self._under_way = False
