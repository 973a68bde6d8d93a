"""Secure aggregation as the network has it: answers that are opened together, by one trip more.

Owners mask their answers, and the learner can read the sum of those that arrived once enough of
their senders have told it how to take the masks off. Keys and encrypted shares of the next sum's
masks travel with the messages of this one: each owner's with its answer, all others' with the next
query (after Bonawitz and others, 2017, "Practical secure aggregation"). What remains is a trip of
its own: the learner names those that answered, and they send shares.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from asyncdp_sim.core.kernel import Activity, Priority, Signal
from asyncdp_sim.spec.base import Count, Spec
from asyncdp_sim.trace import Detail, Exchange, ExchangeOutcome

if TYPE_CHECKING:
    from asyncdp_sim.network.learner import Learner

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


class Sums:
    """Keeps masked answers that have arrived, and has them used or turned away together.

    Their exchanges are open until then, and count as delivered when their sum is opened.

    Parameters
    ----------
    learner : Learner
    aggregation : Aggregation
    full : int
        Number of answers after which a sum is opened; 0 leaves it to the protocol.

    Attributes
    ----------
    trips : list of iterator of int
        By owner: how long the trips take by which it helps to open sums.
    """

    def __init__(self, learner: "Learner", aggregation: Aggregation, full: int) -> None:
        self.trips: list[Iterator[int]] = []
        self._learner = learner
        self._aggregation = aggregation
        self._full = full
        self._gathered: list[Exchange] = []
        self._opens: Signal | None = None

    def gather(self, exchange: Exchange) -> None:
        """Keep a masked answer that has arrived."""
        learner = self._learner
        exchange.outcome = ExchangeOutcome.applied
        self._gathered.append(exchange)
        learner.masked.append(exchange)
        if learner.idle is not None and len(learner.open) == len(learner.masked):
            learner.rest()
        elif len(self._gathered) == self._full:
            learner.hold()
            learner.kernel.start(self._filled())

    def _filled(self) -> Activity:
        """Open a sum that has all its answers, while the next one is gathered."""
        yield from self.open()
        self._learner.finish()

    def open(self) -> Activity:
        """Use what has been gathered, a trip later, or turn it away where it is too little."""
        learner, kernel = self._learner, self._learner.kernel
        opened, self._gathered = self._gathered, []
        if len(opened) < self._aggregation.least:
            for exchange in opened:
                learner.masked.remove(exchange)
                learner.discard(exchange, exchange.transmissions, Detail.unopened)
            return
        trips = [next(self.trips[exchange.owner - 1]) for exchange in opened]
        wait = self._aggregation.last_needed(trips)
        if wait > 0:
            yield kernel.tick + wait, Priority.ANSWER_END
        for exchange in opened:
            learner.masked.remove(exchange)
            learner.apply_now(exchange)
        if self._opens is not None:
            self._opens.fire(kernel.tick, Priority.QUERY_ARRIVES)
            self._opens = None

    def of(self, owner: int) -> Signal | None:
        """Return what happens when the next sum is open, for an owner whose answer is in one."""
        if all(owner != exchange.owner for exchange in self._learner.masked):
            return None
        if self._opens is None:
            self._opens = Signal(self._learner.kernel)
        return self._opens
