"""Slotted ALOHA: whoever has an answer sends it when the next slot begins."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.channels.air import Air
from asyncdp_sim.network.channels.contended import Deferring
from asyncdp_sim.network.channels.slotted import SlottedMedium
from asyncdp_sim.spec import Duration
from asyncdp_sim.streams import Scope
from asyncdp_sim.units import to_ticks


class SlottedAloha(Deferring):
    """Random access in slots (Roberts 1975).

    Attributes
    ----------
    slot : float
        Time units, at least the airtime. An answer that is ready in a slot goes in the next one;
        one that is ready as a slot begins goes in that.
    """

    kind: Literal["slotted-aloha"] = "slotted-aloha"
    slot: Annotated[Duration, Field(ge=1e-9)]

    @model_validator(mode="after")
    def _fits_the_slot(self) -> Self:
        found = too_long(self.slot, self.airtime, self.request_airtime)
        if len(found) > 0:
            raise faults_of(found)
        return self

    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> SlottedMedium:  # noqa: ARG002
        """Return the channel of one replicate."""
        return SlottedMedium(Air(kernel), to_ticks(self.slot))


def too_long(slot: float, *airtimes: float | None) -> list[Fault]:
    """Return a fault where a slot is shorter than what is sent in it."""
    longest = max((airtime for airtime in airtimes if airtime is not None), default=0.0)
    if to_ticks(longest) <= to_ticks(slot):
        return []
    return [Fault("slot", f"{slot:g}", f"allowed is a number ≥ the airtime {longest:g}")]
