"""The ideal uplink: every answer has a channel of its own and none is ever lost."""

from typing import Literal

from asyncdp_sim.spec import Spec


class Ideal(Spec):
    """Takes no airtime and loses nothing; an answer's latency is the only delay."""

    kind: Literal["ideal"] = "ideal"
