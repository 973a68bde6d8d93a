"""Bases of the specifications of channels, and the ideal one."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network.channels.air import Medium
from asyncdp_sim.network.channels.packet_loss import PacketLoss, WrittenLoss, packet_loss
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.spec.base import Duration, Positive, Variant, trait

MESSAGES = ("", "_query", "_request", "_acknowledgement")
"""What follows ``loss`` in the name of each message's field; answers have the plain one."""


Backoff = Callable[[int], int]
"""From the attempts made, m ≥ 1, to the ticks until the next: a draw times 2^min(m − 1, cap)."""


class ChannelKind(Variant):
    """An uplink channel: how answers, and what else uses it, get to the learner."""

    label: ClassVar[str]
    """Its name in a figure."""
    exclusive: ClassVar[bool] = False
    """Whether an answer that begins and survives was ready at that tick, and was alone."""

    loss: WrittenLoss = 0.0
    loss_query: WrittenLoss = 0.0
    loss_request: WrittenLoss = 0.0
    loss_acknowledgement: WrittenLoss = 0.0
    retransmissions: Annotated[int, Field(ge=0, le=10**6)] = 0
    resend: Literal["same", "fresh"] = "same"

    @abstractmethod
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> Medium | None:
        """Return the channel of one replicate; None where there is nothing to share."""

    @property
    def contended(self) -> "Contended | None":
        """The channel that transmissions share, if any."""
        return None

    def waits(self, own: Scope, purpose: str) -> Backoff | None:
        """Return an owner's waits before it tries again; None where it does not wait."""
        return None

    def packet_loss(self, message: str = "") -> PacketLoss:
        """Return which messages of a kind (a field ``loss`` + ``message``) are lost."""
        return packet_loss(getattr(self, f"loss{message}"))

    @property
    def lossless(self) -> bool:
        """Whether every message arrives that the channel itself does not destroy."""
        return all(getattr(self, f"loss{message}") == 0.0 for message in MESSAGES)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return [
            fault
            for message in MESSAGES
            for fault in self.packet_loss(message).faults(f"channel.loss{message}", n_owners)
        ]

    def faults_of_airtime(self, airtime: float) -> list[Fault]:
        """Return why a message of this airtime (time units) cannot be sent, if it cannot."""
        return []


class Ideal(ChannelKind):
    """No airtime and no collisions; an answer's latency is the only delay."""

    label = "ideal"

    kind: Literal["ideal"] = "ideal"

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> None:
        return None


Airtime = Annotated[Duration, Field(ge=1e-9)]


class Contended(ChannelKind):
    """A shared channel on which a transmission takes time."""

    sends_at_once: ClassVar[bool]
    """An answer that is ready begins, whatever is on the air."""
    carrier_sense: ClassVar[bool]
    """Owners listen first: an answer may wait for others to end, or never begin."""
    slotted: ClassVar[bool]
    """Transmissions begin with slots."""
    in_turn: ClassVar[bool]
    """Every owner has slots of its own, so that no two owners collide."""
    lets_begin: ClassVar[bool] = trait(lambda self: not self.carrier_sense)
    """Whether every answer that is ready begins at last."""
    breaks_off: ClassVar[bool] = False
    """Whether a transmission may end before its airtime."""

    airtime: Airtime | None = None
    rate_bytes: Positive | None = None
    request_airtime: Airtime | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        airtimes = [time for time in (self.airtime, self.request_airtime) if time is not None]
        if (self.airtime is None) == (self.rate_bytes is None):
            shown = "neither" if self.airtime is None else "both"
            yield Fault("airtime", shown, "allowed is one of airtime and rate_bytes")
        elif len(airtimes) > 0:
            yield from self.faults_of_airtime(max(airtimes))

    @property
    @override
    def contended(self) -> "Contended":
        return self

    def answer_airtime(self, answer_bytes: int) -> float:
        """Return the airtime of an answer (time units)."""
        if self.airtime is not None:
            return self.airtime
        return max(answer_bytes / (self.rate_bytes or math.inf), 1 / TICKS_PER_UNIT)


class Deferring(Contended):
    """A shared channel whose owners wait before they try again."""

    backoff: Law = NoTime()
    backoff_cap: Annotated[int, Field(ge=0, le=30)] = 0

    @override
    def waits(self, own: Scope, purpose: str) -> Backoff | None:
        draws = self.backoff.durations(partial(own.generator, "backoff", purpose), 16)
        cap = self.backoff_cap
        return None if draws is None else lambda attempts: next(draws) << min(attempts - 1, cap)
