"""Answers that are masked until the sum that they are in is opened."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncdp_sim.core.kernel import Activity, Priority, Signal
from asyncdp_sim.network.latency import Aggregation
from asyncdp_sim.trace import Detail, Exchange, ExchangeOutcome

if TYPE_CHECKING:
    from asyncdp_sim.network.learner import Learner


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

    def opening_of(self, owner: int) -> Signal | None:
        """Return the opening of the next sum for an owner whose answer is in one; else None."""
        if all(owner != exchange.owner for exchange in self._learner.masked):
            return None
        if self._opens is None:
            self._opens = Signal(self._learner.kernel)
        return self._opens
