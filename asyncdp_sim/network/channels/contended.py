"""Base of the specifications of shared channels: airtime, and waits to try again."""

import math
from functools import partial
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.network.channels.kind import Backoff, ChannelKind
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.spec import Duration, Positive, about
from asyncdp_sim.streams import Scope
from asyncdp_sim.units import TICKS_PER_UNIT

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

    airtime: Annotated[
        Airtime | None,
        about("How long an answer's transmission takes; either this or rate_bytes", "time units"),
    ] = None
    rate_bytes: Annotated[
        Positive | None,
        about(
            "Bytes sent per time unit: an answer's payload over this is its airtime",
            "bytes / time unit",
            example=1000.0,
        ),
    ] = None
    request_airtime: Annotated[
        Airtime | None,
        about(
            "How long a request's transmission takes; absent, requests do not use the channel",
            "time units",
        ),
    ] = None

    @model_validator(mode="after")
    def _one_airtime(self) -> Self:
        if (self.airtime is None) == (self.rate_bytes is None):
            given = "neither" if self.airtime is None else "both"
            allowed = "allowed is one of airtime and rate_bytes"
            raise faults_of([Fault("airtime", given, allowed)])
        return self

    @model_validator(mode="after")
    def _can_be_sent(self) -> Self:
        given = [each for each in (self.airtime, self.request_airtime) if each is not None]
        found = self.faults_of_airtime(max(given)) if len(given) > 0 else []
        if len(found) > 0:
            raise faults_of(found)
        return self

    @property
    @override
    def contended(self) -> "Contended":
        return self

    @property
    def lets_begin(self) -> bool:
        """Whether every answer that is ready begins at last."""
        return not self.carrier_sense

    @property
    def breaks_off(self) -> bool:
        """Whether a transmission may end before its airtime."""
        return False

    def answer_airtime(self, answer_bytes: int) -> float:
        """Return the airtime of an answer (time units)."""
        if self.airtime is not None:
            return self.airtime
        return max(answer_bytes / (self.rate_bytes or math.inf), 1 / TICKS_PER_UNIT)


class Deferring(Contended):
    """A shared channel whose owners wait before they try again."""

    backoff: Annotated[
        Law,
        about(
            "Wait before a further attempt; none sends again at once after a collision or loss, "
            "and has no retry at a busy channel"
        ),
    ] = NoTime()
    backoff_cap: Annotated[
        int,
        Field(ge=0, le=30),
        about(
            "The wait before attempt m + 1 is a draw times 2^min(m − 1, cap): 0 is no growth, 10 "
            "Ethernet's",
            "none",
        ),
    ] = 0

    @override
    def waits(self, own: Scope, purpose: str) -> Backoff | None:
        draws = self.backoff.durations(partial(own.generator, "backoff", purpose), 16)
        return None if draws is None else Backoff(draws, self.backoff_cap)
