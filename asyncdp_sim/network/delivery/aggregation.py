"""Secure aggregation as the network has it: answers that are opened together, by one trip more.

Owners mask their answers, and the learner can read the sum of those that arrived once enough of
their senders have told it how to take the masks off. Keys and encrypted shares of the next sum's
masks travel with the messages of this one: each owner's with its answer, all others' with the next
query (after Bonawitz and others, 2017, "Practical secure aggregation"). What remains is a trip of
its own: the learner names those that answered, and they send shares.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from asyncdp_sim.spec import Count, Spec

Bytes = Annotated[int, Field(ge=0, le=10**6)]


class Aggregation(Spec):
    """The terms on which answers are summed.

    Attributes
    ----------
    least : int
        Contributions without which a sum is not opened, n − d; so many shares open one.
    number_bytes : int
        Bytes of a masked number.
    key_bytes, share_bytes : int
        Bytes of an owner's public keys, and of what it shares with one other owner.
    """

    least: Count
    number_bytes: Bytes = 8
    key_bytes: Bytes = 64
    share_bytes: Bytes = 80

    def with_query(self, n_owners: int) -> int:
        """Return the bytes that a query has besides: keys and shares of all other owners."""
        return (n_owners - 1) * (self.key_bytes + self.share_bytes)

    def with_answer(self, n_owners: int) -> int:
        """Return the bytes that an answer has besides: its owner's keys, a share for each other."""
        return self.key_bytes + (n_owners - 1) * self.share_bytes

    def asking(self, n_owners: int) -> int:
        """Return the bytes, without a header, that name those who answered: a bit for each."""
        return -(-n_owners // 8)

    def opening(self, n_owners: int) -> int:
        """Return the bytes, without a header, by which one owner helps to open a sum."""
        return (n_owners - 1) * self.share_bytes

    def last_needed(self, ticks: Sequence[int]) -> int:
        """Return when a sum is open: ``least`` of those that answered have come back."""
        return sorted(ticks)[self.least - 1]


__all__ = ["Aggregation"]
