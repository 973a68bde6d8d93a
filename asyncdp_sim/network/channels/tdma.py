"""TDMA: every owner has a slot of its own in each frame."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.channels.air import Air
from asyncdp_sim.network.channels.contended import Contended
from asyncdp_sim.network.channels.slotted import SlottedMedium
from asyncdp_sim.network.channels.slotted_aloha import too_long
from asyncdp_sim.spec import Count, Duration
from asyncdp_sim.streams import Scope
from asyncdp_sim.units import to_ticks


class Tdma(Contended):
    """Time-division access: slot j of every frame belongs to owner j.

    Attributes
    ----------
    slot : float
        Time units, at least airtime + guard.
    guard : float
        Time units at the end of a slot in which nobody sends, ≥ 0.
    frame : int, optional
        Slots in a frame, at least one per owner (the default).
    """

    kind: Literal["tdma"] = "tdma"
    slot: Annotated[Duration, Field(ge=1e-9)]
    guard: Duration = 0.0
    frame: Count | None = None

    @model_validator(mode="after")
    def _fits_the_slot(self) -> Self:
        within = [
            None if a is None else a + self.guard for a in (self.airtime, self.request_airtime)
        ]
        found = [
            Fault(f.key, f.given, f.allowed + f" (guard {self.guard:g} included)")
            for f in too_long(self.slot, *within)
        ]
        if len(found) > 0:
            raise faults_of(found)
        return self

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        found = super().faults(n_owners)
        if self.frame is not None and self.frame < n_owners:
            allowed = f"allowed is a whole number ≥ {n_owners}: a slot for every owner"
            found.append(Fault("channel.frame", str(self.frame), allowed))
        return found

    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> SlottedMedium:  # noqa: ARG002
        """Return the channel of one replicate."""
        frame = n_owners if self.frame is None else self.frame
        return SlottedMedium(Air(kernel), to_ticks(self.slot), frame)
