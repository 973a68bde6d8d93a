"""How long messages travel, and how many bytes they hold."""

from typing import Annotated

from pydantic import Field

from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.spec import PerOwner, Positive, Spec, per_owner

Laws = PerOwner[Law]
"""One law for all owners, or a list with one law per owner."""


class Latency(Spec):
    """Travel times of messages (time units), one law each, or a list with one law per owner.

    Attributes
    ----------
    request, answer : law or list
        From an owner to the learner.
    query, acknowledgement : law or list
        From the learner to an owner. An owner waits for the acknowledgement of its answer; nobody
        else does.
    rate_bytes : float or list, optional
        Bytes per time unit between the learner and an owner, > 0: queries, and answers that do not
        go over a shared channel, take their payload over this rate besides.
    """

    request: Laws = NoTime()
    query: Laws = NoTime()
    answer: Laws = NoTime()
    acknowledgement: Laws = NoTime()
    rate_bytes: PerOwner[Positive] | None = None


class Payload(Spec):
    """Sizes of messages.

    Attributes
    ----------
    number_bytes : int
        Bytes of one number of a model or gradient; 8 by default.
    header_bytes : int
        Bytes of a message besides its numbers; 40 by default.
    """

    number_bytes: Annotated[int, Field(ge=1, le=10**6)] = 8
    header_bytes: Annotated[int, Field(ge=0, le=10**9)] = 40

    def size(self, numbers: int) -> int:
        """Return the bytes of a message that holds so many numbers."""
        return numbers * self.number_bytes + self.header_bytes


def laws_of(laws: Law | tuple[Law, ...], n_owners: int) -> tuple[Law, ...]:
    """Return one law per owner."""
    return per_owner(laws, n_owners)
