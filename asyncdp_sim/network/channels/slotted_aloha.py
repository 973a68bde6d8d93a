"""Slotted ALOHA: whoever has an answer sends it when the next slot begins."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.channels.air import Air
from asyncdp_sim.network.channels.contended import Deferring
from asyncdp_sim.network.channels.slots import SlottedMedium, too_long
from asyncdp_sim.spec import Duration, about
from asyncdp_sim.streams import Scope
from asyncdp_sim.units import to_ticks


class SlottedAloha(Deferring):
    """Random access in slots (Roberts 1975)."""

    label = "slotted ALOHA"
    sends_at_once = False
    carrier_sense = False
    slotted = True
    in_turn = False

    kind: Literal["slotted-aloha"] = "slotted-aloha"
    slot: Annotated[
        Duration,
        Field(ge=1e-9),
        about(
            "Length of a slot, at least the airtime. An answer that is ready in a slot goes in "
            "the next one; one that is ready as a slot begins goes in that",
            "time units",
        ),
    ]

    @override
    def faults_of_airtime(self, airtime: float) -> list[Fault]:
        return too_long(self.slot, airtime)

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> SlottedMedium:
        return SlottedMedium(Air(kernel), to_ticks(self.slot))
