"""The family of packet losses: messages that are lost on their way, on their own or in bursts.

A scenario writes a chance, one for each owner, or a table of a chain, and no ``kind``: the form
says which member it is. :data:`PacketLosses` is the register.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from operator import gt
from typing import Annotated, ClassVar

from pydantic import Discriminator, Field, Tag
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.network.laws import Source
from asyncdp_sim.network.laws.kind import uniforms
from asyncdp_sim.spec.base import EACH_OWNER, PerOwner, Plugin, own, per_owner, wrong_length
from asyncdp_sim.spec.validation import TAGS

Probability = Annotated[float, Field(ge=0, le=1)]


class PacketLoss(Plugin):
    """A law by which messages of an owner are lost."""

    bursty: ClassVar[bool]
    """Losses of one owner's messages depend on one another."""

    @property
    @abstractmethod
    def written(self) -> "WrittenLoss":
        """What a scenario writes for it."""

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
