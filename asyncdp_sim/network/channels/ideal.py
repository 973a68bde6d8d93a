"""The ideal uplink: every answer has a channel of its own."""

from typing import Literal

from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.channels.contended import Uplink
from asyncdp_sim.streams import Scope


class Ideal(Uplink):
    """Takes no airtime and nothing collides; an answer's latency is the only delay."""

    kind: Literal["ideal"] = "ideal"

    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> None:  # noqa: ARG002
        """Return None: there is nothing to share."""
        return
