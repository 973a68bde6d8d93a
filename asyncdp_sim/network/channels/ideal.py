"""The ideal channel: answers do not meet."""

from typing import Literal, Self

from typing_extensions import override

from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.channels.kind import ChannelKind
from asyncdp_sim.network.channels.packet_loss import GilbertElliott
from asyncdp_sim.streams import Scope


class Ideal(ChannelKind):
    """Takes no airtime and nothing collides; an answer's latency is the only delay."""

    label = "ideal"

    kind: Literal["ideal"] = "ideal"

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        bursts = GilbertElliott(to_bad=0.2, to_good=0.5, loss_bad=0.9, loss_good=0.05)
        return (
            cls(),
            cls(loss=0.2, loss_acknowledgement=0.3, retransmissions=2),
            cls(loss=bursts, loss_request=(0.1, 0.0, 0.5), resend="fresh"),
        )

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> None:
        return None
