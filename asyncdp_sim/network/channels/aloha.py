"""Pure ALOHA: an answer is sent as soon as it is ready; overlapping answers are lost."""

from collections.abc import Callable
from typing import Literal

from typing_extensions import override

from asyncdp_sim.core.kernel import Kernel, Waiting
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.network.channels.air import Air, Fate, Medium, Port
from asyncdp_sim.network.channels.kind import Deferring


class Aloha(Deferring):
    """Unslotted random access (Abramson 1970)."""

    label = "pure ALOHA"
    sends_at_once = True
    carrier_sense = False
    slotted = False
    in_turn = False
    exclusive = True

    kind: Literal["aloha"] = "aloha"

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> "AlohaMedium":
        return AlohaMedium(Air(kernel))


class AlohaMedium(Medium):
    """A channel without any rule of access."""

    @override
    def port(self, owner: int) -> Port:
        return AlohaPort(self.airs[0])


class AlohaPort:
    """An owner that sends at once."""

    def __init__(self, air: Air) -> None:
        self._air = air

    def transmit(
        self,
        ticks: int,
        begun: Callable[[], bool],
        deferred: Callable[[], None],  # noqa: ARG002
    ) -> Waiting[Fate]:
        """Transmit now."""
        return self._air.attempt(ticks, begun)
