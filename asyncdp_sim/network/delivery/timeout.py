"""Timeout of the learner's wait for an answer."""

from asyncdp_sim.kernel import Activity, Moment, Priority
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.trace import EventKind, Exchange


class Patience:
    """A timer that runs from the lock, and again from every further transmission.

    When it ends, a sender whose answer was lost learns of it and may send again; otherwise the
    learner gives the exchange up and is free.

    Parameters
    ----------
    learner : Learner
    exchange : Exchange
        What is waited for.
    ticks : int
        For how long, ≥ 1.

    Attributes
    ----------
    moment : Moment
        When it ends.
    """

    def __init__(self, learner: Learner, exchange: Exchange, ticks: int) -> None:
        self.exchange = exchange
        self._learner = learner
        self._ticks = ticks
        self._extends = False
        self._running = True
        self.moment = self._start()

    def learnt(self) -> Activity:
        """Wait until it ends, which tells the sender of a loss; the exchange goes on."""
        self._extends = True
        yield self.moment
        self._extends = False

    def restart(self) -> None:
        """Start it anew, for a further transmission."""
        self.moment = self._start()

    def end(self) -> None:
        """Stop the timer: the exchange has ended."""
        self._running = False

    def _start(self) -> Moment:
        moment = self._learner.kernel.after(self._ticks, Priority.TIMEOUT)
        moment.callbacks.append(self._rings)
        return moment

    def _rings(self, event: object) -> None:
        if not self._running or event is not self.moment:
            return
        owner, message = self.exchange.owner, self.exchange.message
        self._learner.event(EventKind.timeout, owner, message)
        if not self._extends:
            self._learner.expire(self.exchange)
            self._learner.lock.release()
