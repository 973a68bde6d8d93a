"""Pure ALOHA: an answer is sent as soon as it is ready; overlapping answers are lost."""

from typing import Literal

from typing_extensions import override

from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.network.channels.air import Air, Medium
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
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> Medium:
        return Medium(Air(kernel))
