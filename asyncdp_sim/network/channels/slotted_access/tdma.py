"""TDMA: every owner has a slot of its own in each frame."""

from dataclasses import replace
from math import fsum
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.channels.air import Air
from asyncdp_sim.network.channels.contended import Contended
from asyncdp_sim.network.channels.load import Load
from asyncdp_sim.network.channels.slotted_access.slots import SlottedMedium, too_long
from asyncdp_sim.spec import Count, Duration, about
from asyncdp_sim.streams import Scope
from asyncdp_sim.theory.formulas.channels.random_access import RandomAccess
from asyncdp_sim.theory.formulas.channels.tdma import tdma
from asyncdp_sim.theory.formulas.staleness import always_busy_mean
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

    @property
    @override
    def drawn(self) -> bool:
        return False

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

    @override
    def doubt(self, load: Load) -> str:
        if load.broken:
            return load.broken
        if load.overlap:
            return "jobs of one owner wait for the same slot, and collide"
        if not load.saturated:
            return load.not_poisson or load.slow
        length = (self.frame or load.n_owners) * self.slot
        sure = load.job is not None and (
            load.job == 0 or load.job + load.airtime <= length * (1 - 1e-9)
        )
        return "" if sure else "jobs do not surely end within a frame"

    @override
    def through(self, load: Load) -> RandomAccess:
        frame = self.frame or load.n_owners
        if load.saturated:
            return RandomAccess.of(1.0, load.n_owners / (frame * self.slot))
        each = (tdma(frame, self.slot, load.airtime, rate).success_rate for rate in load.rates)
        return RandomAccess.of(1.0, fsum(each) / frame)

    @override
    def mean_staleness(self, load: Load) -> float | None:
        return always_busy_mean(load.n_owners) if load.saturated else None
