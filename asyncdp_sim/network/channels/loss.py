"""Losses of messages on their way: each on its own, or in bursts."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated

from pydantic import Discriminator, Field, Tag

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import TAGS
from asyncdp_sim.network.draws import uniforms
from asyncdp_sim.network.laws import Source
from asyncdp_sim.spec import PerOwner, Spec, own, per_owner, wrong_length

Probability = Annotated[float, Field(ge=0, le=1)]


class GilbertElliott(Spec):
    """Bursts: a two-state chain that takes one step for each message of its owner.

    It starts from its stationary law, bad with probability to_bad/(to_bad + to_good) (Gilbert
    1960, Elliott 1963).

    Attributes
    ----------
    to_bad, to_good : float
        Probabilities of a step from good to bad and from bad to good, in (0, 1].
    loss_good, loss_bad : float
        Probability of a loss in either state.
    """

    to_bad: Annotated[float, Field(gt=0, le=1)]
    to_good: Annotated[float, Field(gt=0, le=1)]
    loss_good: Probability = 0.0
    loss_bad: Probability = 1.0

    @property
    def bad_share(self) -> float:
        """Share of messages sent in the bad state."""
        return self.to_bad / (self.to_bad + self.to_good)

    @property
    def mean(self) -> float:
        """Share of messages lost."""
        return self.loss_good + self.bad_share * (self.loss_bad - self.loss_good)

    def draws(self, source: Source) -> Iterator[bool]:
        """Yield for each message of one owner whether it is lost."""
        uniform = uniforms(source)
        bad = next(uniform) < self.bad_share
        while True:
            yield next(uniform) < (self.loss_bad if bad else self.loss_good)
            leave = next(uniform) < (self.to_good if bad else self.to_bad)
            bad = bad is not leave


def _shape(value: object) -> str:
    if isinstance(value, Mapping | GilbertElliott):
        return TAGS[3]
    return TAGS[1] if isinstance(value, list | tuple) else TAGS[0]


Loss = Annotated[
    Annotated[PerOwner[Probability], Tag(TAGS[0])]
    | Annotated[PerOwner[Probability], Tag(TAGS[1])]
    | Annotated[GilbertElliott, Tag(TAGS[3])],
    Discriminator(_shape),
]
"""A probability, one for each owner, or a Gilbert–Elliott table."""


def losses(loss: Loss, owner: int, source: Source) -> Iterator[bool] | None:
    """Return for each message of an owner (from 0) whether it is lost; None if none ever is."""
    if isinstance(loss, GilbertElliott):
        return loss.draws(source) if loss.mean > 0 else None
    probability = own(loss, owner)
    return _bernoulli(probability, source) if probability > 0 else None


def loss_shares(loss: Loss, n_owners: int) -> tuple[float, ...]:
    """Return the long-run share of messages lost, per owner."""
    if isinstance(loss, GilbertElliott):
        return (loss.mean,) * n_owners
    return per_owner(loss, n_owners)


def loss_faults(key: str, loss: Loss, n_owners: int) -> list[Fault]:
    """Return a list of the wrong length, and losses that let no message through, ever."""
    if not isinstance(loss, GilbertElliott):
        found = wrong_length(key, loss, n_owners)
        if len(found) > 0:
            return found
    if min(loss_shares(loss, n_owners)) == 1:
        allowed = "allowed is a loss < 1 for at least one owner: no update could ever happen"
        return [Fault(key, "1 for every owner", allowed)]
    return []


def _bernoulli(probability: float, source: Source) -> Iterator[bool]:
    return map(partial(_below, probability), uniforms(source))


def _below(probability: float, uniform: float) -> bool:
    return uniform < probability
