"""Pure ALOHA: an answer is sent as soon as it is ready; overlapping answers are lost."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

from typing_extensions import override

from asyncdp_sim.core.kernel import Kernel, Waiting
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.network.channels.air import Air, Fate, Medium, Port
from asyncdp_sim.network.channels.kind import Deferring
from asyncdp_sim.network.laws import Source
from asyncdp_sim.spec.base import Positive, trait


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
