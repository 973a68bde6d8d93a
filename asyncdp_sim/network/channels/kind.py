"""Bases of the specifications of channels, packet losses, and the ideal channel.

Messages are lost on their way, independently or in bursts. A scenario writes a chance, one for each
owner, or a table of a chain, and no ``kind``: the form says which member it is.
:data:`PacketLosses` is the register.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import gt
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.specification import (
    EACH_OWNER,
    Duration,
    PerOwner,
    Plugin,
    Positive,
    Variant,
    own,
    per_owner,
    trait,
    wrong_length,
)
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.core.validation import TAGS
from asyncdp_sim.network.channels.air import Medium
from asyncdp_sim.network.laws import Law, NoTime, Source, uniforms

Probability = Annotated[float, Field(ge=0, le=1)]


class PacketLoss(Plugin):
    """A law by which messages of an owner are lost."""

    bursty: ClassVar[bool]
    """Losses of one owner's messages depend on one another."""

    @property
    @abstractmethod
    def written(self) -> "WrittenLoss":
        """The value by which a scenario states this law of losses."""

    @abstractmethod
    def shares(self, n_owners: int) -> tuple[float, ...]:
        """Return the long-run share of messages lost, per owner."""

    @abstractmethod
    def draws(self, source: Source, owner: int) -> Iterator[bool] | None:
        """Return for each message of an owner (from 0) whether it is lost; None if none ever is."""

    def faults(self, key: str, n_owners: int) -> list[Fault]:
        """Return why no message ever comes through, if none does."""
        if min(self.shares(n_owners)) < 1:
            return []
        rule = "allowed is a loss < 1 for at least one owner: no update could ever happen"
        return [Fault(key, "1 for every owner", rule)]


class IndependentLosses(PacketLoss):
    """Each message is lost on its own."""

    called = "independent"
    bursty = False

    probability: PerOwner[Probability]

    @property
    @override
    def written(self) -> "WrittenLoss":
        return self.probability

    @override
    def shares(self, n_owners: int) -> tuple[float, ...]:
        return per_owner(self.probability, n_owners)

    @override
    def draws(self, source: Source, owner: int) -> Iterator[bool] | None:
        probability = own(self.probability, owner)
        return map(partial(gt, probability), uniforms(source)) if probability > 0 else None

    @override
    def faults(self, key: str, n_owners: int) -> list[Fault]:
        return wrong_length(key, self.probability, n_owners) or super().faults(key, n_owners)


class GilbertElliott(PacketLoss):
    """Bursts: a two-state chain that takes one step for each message of its owner.

    It starts from its stationary law, bad with probability to_bad/(to_bad + to_good) (Gilbert
    1960, Elliott 1963).
    """

    called = "gilbert-elliott"
    bursty = True

    to_bad: Annotated[float, Field(gt=0, le=1)]
    to_good: Annotated[float, Field(gt=0, le=1)]
    loss_good: Probability = 0.0
    loss_bad: Probability = 1.0

    @property
    @override
    def written(self) -> "WrittenLoss":
        return self

    @property
    def bad_share(self) -> float:
        """Share of messages sent in the bad state."""
        return self.to_bad / (self.to_bad + self.to_good)

    @property
    def mean(self) -> float:
        """Share of messages lost."""
        return self.loss_good + self.bad_share * (self.loss_bad - self.loss_good)

    @override
    def shares(self, n_owners: int) -> tuple[float, ...]:
        return (self.mean,) * n_owners

    @override
    def draws(self, source: Source, owner: int) -> Iterator[bool] | None:
        return self._steps(source) if self.mean > 0 else None

    def _steps(self, source: Source) -> Iterator[bool]:
        uniform = uniforms(source)
        bad = next(uniform) < self.bad_share
        while True:
            yield next(uniform) < (self.loss_bad if bad else self.loss_good)
            leave = next(uniform) < (self.to_good if bad else self.to_bad)
            bad = bad is not leave


PacketLosses = IndependentLosses | GilbertElliott
"""Every packet loss; a new one joins by its line here, and by its form in :data:`WrittenLoss`."""


def _shape(value: object) -> str:
    if isinstance(value, Mapping | PacketLoss):  # a table, or what was made of one
        return TAGS[3]
    return TAGS[1] if isinstance(value, list | tuple) else TAGS[0]


WrittenLoss = Annotated[
    Annotated[PerOwner[Probability], Tag(TAGS[0])]
    | Annotated[PerOwner[Probability], Tag(TAGS[1])]
    | Annotated[GilbertElliott, Tag(TAGS[3])],
    Discriminator(_shape),
    EACH_OWNER,
]
"""A probability, one for each owner, or a Gilbert–Elliott table: as a scenario writes them."""


def packet_loss(loss: WrittenLoss) -> PacketLoss:
    """Return the packet loss that a scenario writes so."""
    if isinstance(loss, PacketLoss):
        return loss
    return IndependentLosses.model_construct(probability=loss)


MESSAGES = ("", "_query", "_request", "_acknowledgement")
"""Suffixes of the fields ``loss…``, one for each kind of message; that of answers is empty."""
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
    queues: ClassVar[bool] = False
    """Answers under way at a time share its speed, and none is destroyed."""

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
