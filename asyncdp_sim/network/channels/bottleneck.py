"""A wired link that all answers share: they slow each other, and none is lost."""

from collections.abc import Callable
from typing import Literal

from typing_extensions import override

from asyncdp_sim.core.kernel import ANSWER_END, Kernel, Processor, Waiting
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.network.channels.air import Fate, Medium, Port
from asyncdp_sim.network.channels.kind import Contended


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
