"""Base of the specifications of channels: all that the rest of the network knows of one."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field

from asyncdp_sim.errors import Fault
from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.channels.air import Medium
from asyncdp_sim.network.channels.backoff import Backoff
from asyncdp_sim.network.channels.load import Load
from asyncdp_sim.network.channels.packet_loss import PacketLoss, WrittenLoss, packet_loss
from asyncdp_sim.spec import Kind, about
from asyncdp_sim.streams import Scope
from asyncdp_sim.theory.formulas.channels.random_access import RandomAccess
from asyncdp_sim.theory.prediction import Unknown

if TYPE_CHECKING:
    from asyncdp_sim.network.channels.contended import Contended

MESSAGES = ("", "_query", "_request", "_acknowledgement")
"""What follows ``loss`` in the name of each message's field; answers have the plain one."""
NOT_SHARED = Unknown("owners share no channel")


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

    @abstractmethod
    def access(self, load: Load) -> RandomAccess | Unknown:
        """Return what gets through while no budget is spent, or why it is not known.

        Where answers are sent again, what is predicted has each of them arrive at last.
        """

    @property
    def contended(self) -> "Contended | None":
        """The channel that transmissions share, if any."""
        return None

    @property
    def exclusive(self) -> bool:
        """Whether an answer that begins and survives was ready at that tick, and was alone."""
        return False

    @property
    def forgets_owners(self) -> bool:
        """Whether owners of successive answers that survive are independent, if all are equal."""
        return False

    @property
    def formula(self) -> str:
        """Throughput of an infinite population by its load G, in TeX; empty if it is not short."""
        return ""

    def setting(self, airtime: float) -> str:  # noqa: ARG002
        """Return what tells its curve of throughput from another's of this kind, for a figure."""
        return ""

    def spread_alike(self) -> Self:
        """Return the channel as an infinite population has it: spread alike, if over several."""
        return self

    def mean_staleness(self, load: Load) -> float | Unknown | None:  # noqa: ARG002
        """Return the mean staleness, or why it is not known; None where no formula has it."""
        return None

    def dependence(self, *, overlap: bool) -> str:
        """Return why owners of successive updates are not independent with one law, or nothing.

        Parameters
        ----------
        overlap : bool
            Whether every tick starts a job of its own.
        """
        if overlap or self.forgets_owners:
            return ""
        return f"no such result for channel {self.kind} as set"

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
