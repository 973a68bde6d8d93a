"""Base of the specifications of shared channels."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.network.channels.loss import Loss, loss_faults
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.spec import Duration, Positive, Spec
from asyncdp_sim.units import TICKS_PER_UNIT

Airtime = Annotated[Duration, Field(ge=1e-9)]


class Uplink(Spec):
    """What every channel has: messages that are lost, and answers that are sent again.

    Attributes
    ----------
    loss : float, list or table
        Answers lost on the way: a probability, one per owner, or a Gilbert–Elliott table.
    loss_query, loss_request, loss_acknowledgement
        The same for the other messages.
    retransmissions : int
        Further attempts for an answer that did not arrive, ≥ 0.
    resend : str
        Further attempts send the "same" noisy answer, free of charge, or a "fresh" one, computed
        and charged again.
    """

    loss: Loss = 0.0
    loss_query: Loss = 0.0
    loss_request: Loss = 0.0
    loss_acknowledgement: Loss = 0.0
    retransmissions: Annotated[int, Field(ge=0, le=10**6)] = 0
    resend: Literal["same", "fresh"] = "same"

    @property
    def contended(self) -> "Contended | None":
        """The channel that transmissions share, if any."""
        return None

    @property
    def lossless(self) -> bool:
        """Whether every message arrives that the channel itself does not destroy."""
        each = (self.loss, self.loss_query, self.loss_request, self.loss_acknowledgement)
        return all(isinstance(loss, float) and loss == 0 for loss in each)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return [
            fault
            for name in ("loss", "loss_query", "loss_request", "loss_acknowledgement")
            for fault in loss_faults(f"channel.{name}", getattr(self, name), n_owners)
        ]


class Contended(Uplink):
    """A shared channel on which a transmission takes time.

    Attributes
    ----------
    airtime : float, optional
        Time units that an answer takes, at least a tick, 1e-9.
    rate_bytes : float, optional
        Bytes per time unit, > 0; the airtime is then the answer's payload over this rate. Exactly
        one of the two is given.
    request_airtime : float, optional
        Time units that a request takes; without it requests do not use the channel.
    """

    airtime: Airtime | None = None
    rate_bytes: Positive | None = None
    request_airtime: Airtime | None = None

    @model_validator(mode="after")
    def _one_airtime(self) -> Self:
        if (self.airtime is None) == (self.rate_bytes is None):
            given = "neither" if self.airtime is None else "both"
            allowed = "allowed is one of airtime and rate_bytes"
            raise faults_of([Fault("airtime", given, allowed)])
        return self

    @property
    def contended(self) -> "Contended":
        """The channel itself."""
        return self

    def answer_airtime(self, answer_bytes: int) -> float:
        """Return the airtime of an answer (time units)."""
        if self.airtime is not None:
            return self.airtime
        return max(answer_bytes / (self.rate_bytes or math.inf), 1 / TICKS_PER_UNIT)

    def longest(self, answer_bytes: int) -> float:
        """Return the longest airtime of any message (time units)."""
        own = self.answer_airtime(answer_bytes)
        return own if self.request_airtime is None else max(own, self.request_airtime)


class Deferring(Contended):
    """A shared channel whose owners wait before they try again.

    Attributes
    ----------
    backoff : law
        Wait before a further attempt; ``none`` sends again at once after a collision or loss.
    backoff_cap : int
        The wait before attempt m + 1 is a draw times 2^min(m − 1, cap): 0 is no growth, 10 the
        truncated exponential backoff of Ethernet.
    """

    backoff: Law = NoTime()
    backoff_cap: Annotated[int, Field(ge=0, le=30)] = 0
