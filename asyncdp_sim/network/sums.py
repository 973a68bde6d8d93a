"""Answers that are masked until the sum that they are in is opened, and on which terms."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.kernel import Activity, Priority, Signal, Waiting
from asyncdp_sim.core.specification import Count, Spec
from asyncdp_sim.trace import Detail, Exchange, ExchangeOutcome

if TYPE_CHECKING:
    from asyncdp_sim.network.learner import Learner
    from asyncdp_sim.network.owner import Owner

Trips = Iterator[tuple[int, int, bool]]
"""Of one owner, trip by trip: ticks there and back, and whether one of the messages is lost."""


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
    absent_at : str, optional
        Steps at which messages are lost and owners absent, besides answers: ``opening`` a sum; or
        ``every-step``, where keys and shares take a trip each. Without it, at answers only.
    """

    least: Count
    number_bytes: Bytes = 8
    key_bytes: Bytes = 64
    share_bytes: Bytes = 80
    absent_at: Literal["opening", "every-step"] | None = None

    @property
    def prepared(self) -> bool:
        """Whether keys and shares take trips of their own, before the query."""
        return self.absent_at == "every-step"

    def with_query(self, n_owners: int) -> int:
        """Return the bytes that sums add to a query: keys and shares of all other owners."""
        keys = 0 if self.prepared else self.key_bytes
        return (n_owners - 1) * (keys + self.share_bytes)

    def with_answer(self, n_owners: int) -> int:
        """Return the bytes that sums add to an answer: its owner's keys, a share for each other."""
        return 0 if self.prepared else self.key_bytes + (n_owners - 1) * self.share_bytes

    def trips(self, n_owners: int) -> dict[str, tuple[int, int]]:
        """Return the bytes, without headers, of each trip's two messages: there and back."""
        peers = n_owners - 1
        opening = {"opening": (-(-n_owners // 8), peers * self.share_bytes)}  # a bit for each owner
        if not self.prepared:
            return opening
        shares = (peers * self.key_bytes, peers * self.share_bytes)
        return {"keys": (0, self.key_bytes), "shares": shares, **opening}


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
    owners : sequence of Owner
        All of them, in order.
    trips : mapping of str to sequence of iterator
        By step (keys, shares, opening), then by owner: its trips.
    """

    def __init__(self, learner: "Learner", aggregation: Aggregation, full: int) -> None:
        self.owners: Sequence[Owner] = ()
        self.trips: Mapping[str, Sequence[Trips]] = {}
        self._learner = learner
        self._aggregation = aggregation
        self._full = full
        self._gathered: list[Exchange] = []
        self._opens: Signal | None = None

    def prepare(self, numbers: Ints) -> Waiting[Ints]:
        """Return the owners whose keys and shares arrived; none if a sum of theirs stays shut.

        All of ``numbers`` where these take no trips of their own.
        """
        for step in ("keys", "shares"):
            if step in self.trips:
                came = yield from self._trip(step, numbers.tolist())
                numbers = np.array(sorted(came) if self._suffice(len(came)) else [], dtype=np.int64)
        return numbers

    def given_up(self) -> bool:
        """Give up the owners that may still answer, if they are too few to open a sum."""
        left = [owner.number for owner in self.owners if self._learner.awaits(owner.number)]
        hopeless = self._aggregation.absent_at is not None and not self._suffice(len(left))
        for number in left if hopeless else ():
            self._learner.give_up(number)
        return hopeless

    def _suffice(self, count: int) -> bool:
        return count >= self._aggregation.least

    def _trip(self, step: str, numbers: Sequence[int], enough: int = 0) -> Waiting[list[int]]:
        """Return the owners whose replies arrived when ``enough`` had, or no more were awaited.

        An owner that is absent when its message arrives does not reply. The learner learns of a
        missing reply at the time at which it would have arrived.
        """
        kernel, came = self._learner.kernel, list[int]()
        over, awaited, done = Signal(kernel), len(numbers), False

        def carry(number: int) -> Activity:
            nonlocal awaited, done
            there, back, lost = next(self.trips[step][number - 1])
            yield kernel.tick + there, Priority.QUERY_ARRIVES
            present = self.owners[number - 1].attends(kernel.tick)
            yield kernel.tick + back, Priority.ANSWER_END
            awaited -= 1
            if present and not lost and not done:
                came.append(number)
            if not done and (awaited == 0 or len(came) == enough > 0):
                done = True
                over.fire(kernel.tick, Priority.ANSWER_END)

        for number in numbers:
            kernel.start(carry(number))
        if awaited > 0:
            yield over
        return came

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
        """Use what has been gathered, a trip later, or turn it away where it stays shut."""
        learner, kernel = self._learner, self._learner.kernel
        gathered, self._gathered = self._gathered, []
        opens = self._suffice(len(gathered))
        if opens and self._aggregation.absent_at is not None:
            owners = [exchange.owner for exchange in gathered]
            came = yield from self._trip("opening", owners, self._aggregation.least)
            opens = self._suffice(len(came))
        elif opens:
            trips = [next(self.trips["opening"][exchange.owner - 1]) for exchange in gathered]
            wait = sorted(there + back for there, back, _ in trips)[self._aggregation.least - 1]
            if wait > 0:
                yield kernel.tick + wait, Priority.ANSWER_END
        for exchange in gathered:
            learner.masked.remove(exchange)
            if opens:
                learner.apply_now(exchange)
            else:
                learner.discard(exchange, Detail.unopened)
        if self._opens is not None:
            self._opens.fire(kernel.tick, Priority.QUERY_ARRIVES)
            self._opens = None

    def holds(self, owner: int) -> bool:
        """Return whether an owner's answer is in a sum that is not opened yet."""
        return any(owner == exchange.owner for exchange in self._learner.masked)

    def next_opening(self) -> Signal:
        """Return the signal that the next sum is opened, or turned away."""
        if self._opens is None:
            self._opens = Signal(self._learner.kernel)
        return self._opens
