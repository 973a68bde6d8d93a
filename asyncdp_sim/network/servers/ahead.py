"""Exchanges with servers of which some are ahead: their updates may be some steps off.

Where each of several servers steps when it can, an owner may read, and answer, for step k before
the slowest server has made step k − 1. Update k is made when the last one has made its step k, so
answers to it may arrive while the learner still counts fewer updates.
"""

from collections.abc import Iterator

from asyncdp_sim.network.learner import Learner
from asyncdp_sim.trace import EventKind, Exchange
from asyncdp_sim.trace.vocabulary import ANSWER_DELIVERED, APPLIED, QUERY_SENT


class Ahead:
    """Keeps exchanges until the update that they are for; none of them is ever stale.

    Parameters
    ----------
    learner : Learner
        Who counts the updates.

    Attributes
    ----------
    arrived : dict
        By k − 1, the exchanges whose answers wait for update k, and when each had arrived.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._open: dict[int, Exchange] = {}
        learner.kept_elsewhere = self.left
        self.arrived: dict[int, list[tuple[Exchange, int]]] = {}

    def read(self, owner: int, asked: int, peer: int, read_tick: int, step: int) -> Exchange:
        """Open an exchange for a step ``step`` (from 1), of a model that left at ``read_tick``.

        The model is taken up now, and is still the server's: it waits for this owner's answer.
        """
        message = self._learner.begin(owner)
        exchange = Exchange(message, owner, asked, read_tick, step - 1, peer)
        self._open[message] = exchange
        self._learner.event(QUERY_SENT, owner, message)
        self._learner.form(owner, message, peer)
        return exchange

    def release(self, exchange: Exchange) -> None:
        """Note that the owner begins to send its answer, which servers use as it reaches them."""
        self._learner.release(exchange)
        self._learner.use(exchange)

    def arrive(self, exchange: Exchange) -> None:
        """Note that all of an answer has arrived; its row is written with its update."""
        self._learner.event(ANSWER_DELIVERED, exchange.owner, exchange.message, 1)
        exchange.outcome = APPLIED
        del self._open[exchange.message]
        arrived = self.arrived.setdefault(exchange.read_k, [])
        arrived.append((exchange, self._learner.kernel.tick))

    def step(self, server: int) -> None:
        """Note that a server (from 1) makes its next step."""
        self._learner.event(EventKind.server_stepped, 0, 0, server)
        self._learner.server_step(server)

    def update(self) -> None:
        """Make the learner's next update of the answers that have arrived for it."""
        k = self._learner.updates
        for exchange, end_tick in self.arrived.pop(k, []):
            self._learner.recorder.exchange(exchange, end_tick, k)
        self._learner.update()

    def left(self, end_tick: int) -> Iterator[Exchange]:
        """Yield what the end of the run has cut short: what arrived for later updates first."""
        for k in sorted(self.arrived):
            for exchange, tick in self.arrived[k]:
                exchange.ended = (tick, k)
                yield exchange
        for exchange in self._open.values():
            exchange.ended = (end_tick, exchange.read_k)
            yield exchange
