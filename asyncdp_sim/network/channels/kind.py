"""Base of the specifications of channels: all that the rest of the network knows of one."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from asyncdp_sim.errors import Fault
from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.channels.air import Medium
from asyncdp_sim.network.channels.packet_loss import PacketLoss, WrittenLoss, packet_loss
from asyncdp_sim.spec import Kind, about
from asyncdp_sim.streams import Scope

if TYPE_CHECKING:
    from asyncdp_sim.network.channels.contended import Contended

MESSAGES = ("", "_query", "_request", "_acknowledgement")
"""What follows ``loss`` in the name of each message's field; answers have the plain one."""


class Backoff:
    """Waits that double with each attempt, up to a cap: any law, times a power of two.

    A backoff is no family of its own: a scenario writes it as a law (``backoff``), and as a number
    that says how far it grows (``backoff_cap``).

    Parameters
    ----------
    draws : iterator of int
        Durations of the law, in ticks.
    cap : int
        The wait after attempt m is a draw times 2^min(m − 1, cap).
    """

    def __init__(self, draws: Iterator[int], cap: int) -> None:
        self._draws = draws
        self._cap = cap

    def ticks(self, attempts: int) -> int:
        """Return how long to wait after this many attempts (≥ 1), in ticks."""
        return next(self._draws) << min(attempts - 1, self._cap)


class ChannelKind(Kind):
    """An uplink channel: how answers, and what else uses it, get to the learner."""

    label: ClassVar[str]
    """Its name in a figure."""

    loss: Annotated[
        WrittenLoss,
        about(
            "Chance that an answer is lost on the way: one, one per owner, or a Gilbert–Elliott "
            "table",
            "none",
        ),
    ] = 0.0
    loss_query: Annotated[WrittenLoss, about("The same of queries", "none")] = 0.0
    loss_request: Annotated[WrittenLoss, about("The same of requests", "none")] = 0.0
    loss_acknowledgement: Annotated[
        WrittenLoss,
        about(
            "The same of acknowledgements: the answer arrived, and its sender sends it again",
            "none",
        ),
    ] = 0.0
    retransmissions: Annotated[
        int,
        Field(ge=0, le=10**6),
        about("Further attempts for an answer that did not arrive", "attempts"),
    ] = 0
    resend: Annotated[
        Literal["same", "fresh"],
        about(
            "Further attempts send the same noisy answer, free of charge, or a fresh one, computed "
            "and charged again"
        ),
    ] = "same"

    @abstractmethod
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> Medium | None:
        """Return the channel of one replicate; None where there is nothing to share."""

    @property
    def contended(self) -> "Contended | None":
        """The channel that transmissions share, if any."""
        return None

    @property
    def exclusive(self) -> bool:
        """Whether an answer that begins and survives was ready at that tick, and was alone."""
        return False

    def waits(self, own: Scope, purpose: str) -> Backoff | None:  # noqa: ARG002
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

    def faults_of_airtime(self, airtime: float) -> list[Fault]:  # noqa: ARG002
        """Return why a message of this airtime (time units) cannot be sent, if it cannot."""
        return []
