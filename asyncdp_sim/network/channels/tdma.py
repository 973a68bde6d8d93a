"""TDMA: every owner has a slot of its own in each frame."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.channels.air import Air
from asyncdp_sim.network.channels.contended import Contended
from asyncdp_sim.network.channels.slots import SlottedMedium, too_long
from asyncdp_sim.spec import Count, Duration, about
from asyncdp_sim.streams import Scope
from asyncdp_sim.units import to_ticks


class Tdma(Contended):
    """Time-division access: slot j of every frame belongs to owner j."""

    label = "time division"
    sends_at_once = False
    carrier_sense = False
    slotted = True
    in_turn = True

    kind: Literal["tdma"] = "tdma"
    slot: Annotated[
        Duration, Field(ge=1e-9), about("Length of a slot, at least airtime + guard", "time units")
    ]
    guard: Annotated[
        Duration, about("Time at the end of a slot in which nobody sends", "time units")
    ] = 0.0
    frame: Annotated[
        Count | None,
        about("Slots in a frame, at least one per owner; absent, one per owner", "slots"),
    ] = None

    @override
    def faults_of_airtime(self, airtime: float) -> list[Fault]:
        said = f" (guard {self.guard:g} included)"
        found = too_long(self.slot, airtime + self.guard)
        return [replace(fault, allowed=fault.allowed + said) for fault in found]

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        found = super().faults(n_owners)
        if self.frame is not None and self.frame < n_owners:
            allowed = f"allowed is a whole number ≥ {n_owners}: a slot for every owner"
            found.append(Fault("channel.frame", str(self.frame), allowed))
        return found

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> SlottedMedium:
        return SlottedMedium(Air(kernel), to_ticks(self.slot), self.frame or n_owners)
