"""The ideal channel: answers do not meet."""

from typing import Literal

from typing_extensions import override

from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.channels.kind import ChannelKind
from asyncdp_sim.streams import Scope


class Ideal(ChannelKind):
    """Takes no airtime and nothing collides; an answer's latency is the only delay."""

    label = "ideal"

    kind: Literal["ideal"] = "ideal"

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> None:
        return None
