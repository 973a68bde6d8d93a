"""Delivery policy: an owner's reaction to what goes wrong on the way to the learner."""

from collections.abc import Iterator
from dataclasses import dataclass

from asyncdp_sim.kernel import Activity, Moment, Priority
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.trace import EventKind, Exchange


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """The way in which all owners of a network deal with what goes wrong.

    Attributes
    ----------
    attempts : int
        Transmissions that an answer may have, ≥ 1.
    fresh : bool
        Whether each further one sends an answer computed anew.
    timeout_ticks : int or None
        How long the learner waits for a transmission of an answer.
    vanishes : bool
        Whether an owner that is offline when it should listen or send does not.
    locks : bool
        Whether the learner is locked until the exchange ends.
    newest_only : bool
        Whether answers to queries that are not the newest are turned away.
    withholds : bool
        Whether owners may keep answers to themselves.
    answer_ticks, request_ticks : int or None
        Airtime of an answer and of a request; None does not use the channel.
    """

    attempts: int = 1
    fresh: bool = False
    timeout_ticks: int | None = None
    vanishes: bool = False
    locks: bool = False
    newest_only: bool = False
    withholds: bool = False
    answer_ticks: int | None = None
    request_ticks: int | None = None


@dataclass(frozen=True, slots=True)
class LostMessages:
    """For each message of a kind in turn, whether it is lost; None where none ever is."""

    request: Iterator[bool] | None = None
    query: Iterator[bool] | None = None
    answer: Iterator[bool] | None = None
    acknowledgement: Iterator[bool] | None = None


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
