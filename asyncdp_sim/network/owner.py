"""An owner's place in the network, and its link: messages that wait, collide, or are lost."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from typing_extensions import override

from asyncdp_sim.core.kernel import (
    ANSWER_END,
    GRADIENT_READY,
    QUERY_ARRIVES,
    REQUEST_ARRIVES,
    TRANSMISSION_BEGINS,
    Activity,
    Moment,
    Priority,
    Processor,
    Waiting,
)
from asyncdp_sim.network.channels.kind import Backoff, Fate, Port
from asyncdp_sim.network.learner import BroadcastQuery, Learner
from asyncdp_sim.trace import Detail, EventKind, Exchange, ExchangeOutcome
from asyncdp_sim.trace.vocabulary import ABANDONED, APPLIED, DISCARDED, OFFLINE, QUERY_RECEIVED

MESSAGES = ("request", "query", "answer", "acknowledgement")
Durations = Iterator[int] | None
Attends = Callable[[int], bool]


@dataclass(eq=False, slots=True)
class Owner:
    """One owner's place in the network.

    Attributes
    ----------
    number : int
        From 1, as in the tables.
    busy : bool
        Whether it is sending, waiting or being served; its clock's ticks are dropped meanwhile.
    offline_reasons : int
        For how many reasons it is offline; 0 is online.
    online_at_tick : callable, optional
        Whether it is online at a tick of its clock, drawn for each tick; None where it always is
        that is not offline for another reason.
    online_for_query : callable, optional
        The same for each query of a learner that asks owners itself.
    answers_reserved : int
        Answers under way that are not released yet, of which its budget allows each.
    unanswered : BroadcastQuery, optional
        The newest query received that it has not begun to answer.
    heard : int
        Message number of the newest query to all owners that it received; 0 is none yet.
    distance : int
        Ticks that each of its messages takes through the network, besides its law.
    link : Link
        Carries its messages; set when the owner is built.
    processor : Processor, optional
        Where it computes for several exchanges at once, sharing its speed among them; None where
        one does not slow another.
    request, query, compute, answer, acknowledgement, retry, delay : iterator of int, or None
        Durations in ticks of its messages, of one gradient, and of its waits; None takes no event.
    """

    number: int
    request: Durations = None
    query: Durations = None
    compute: Durations = None
    answer: Durations = None
    acknowledgement: Durations = None
    busy: bool = False
    offline_reasons: int = 0
    answers_reserved: int = 0
    distance: int = 0
    heard: int = 0
    online_at_tick: Attends | None = None
    online_for_query: Attends | None = None
    unanswered: BroadcastQuery | None = None
    link: "Link" = field(init=False, repr=False)
    processor: Processor | None = None
    retry: Durations = None
    delay: Durations = None

    def draw_for_queries(self) -> None:
        """Draw for each query of the learner what is drawn for each tick elsewhere."""
        self.online_for_query, self.online_at_tick = self.online_at_tick, None

    def attends(self, tick: int) -> bool:
        """Return whether it is online; where that is drawn for each tick or query, draw it."""
        drawn = self.online_for_query or self.online_at_tick
        return self.offline_reasons == 0 and (drawn is None or drawn(tick))

    def set_online(self, online: bool, learner: Learner) -> None:
        """Take one reason to be offline away, or one more; ticks of its clock are dropped then."""
        learner.presence_changes += 1
        if not online:
            self.offline_reasons += 1
            if self.offline_reasons == 1:
                learner.recorder.offline(self.number)
            return
        self.offline_reasons -= 1
        if self.offline_reasons == 0:
            learner.recorder.online(self.number)
            learner.absences.over(self.number)


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """The way in which all owners of a network deal with losses, absences and delays.

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
        Whether answers to queries that are not the newest are discarded.
    answer_ticks, request_ticks : int or None
        Airtime of an answer and of a request; None does not use the channel.
    sure : bool
        Whether every message arrives and is used: nothing is lost, late, or acknowledged.
    """

    attempts: int
    fresh: bool
    timeout_ticks: int | None
    vanishes: bool
    locks: bool
    newest_only: bool
    answer_ticks: int | None
    request_ticks: int | None
    sure: bool


Losses = Mapping[str, Iterator[bool] | None]
"""For each message in turn, whether it is lost, by its name; None where none ever is."""


class Patience:
    """The learner's timer: it starts with the lock, and again with every further transmission.

    When it ends, a sender whose answer was lost is informed and may send again; otherwise the
    learner gives the exchange up and frees its lock.

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
        """Wait until the timer ends and the sender detects a loss; the exchange continues."""
        self._extends = True
        yield self.moment
        self._extends = False

    def restart(self) -> None:
        """Start the timer again, for a further transmission."""
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


@dataclass(eq=False)
class Link:
    """Carries one owner's messages.

    Parameters
    ----------
    owner, learner
        The two ends.
    policy : DeliveryPolicy
    losses : mapping
        By the names of messages, which of them are lost.
    port : Port, optional
        The owner's access to a shared channel.
    backoff : Backoff, optional
        Waits before further transmissions; without it they follow at once.
    """

    _owner: Owner
    _learner: Learner
    policy: DeliveryPolicy
    losses: Losses
    _port: Port | None
    _backoff: Backoff | None

    def __post_init__(self) -> None:
        owner, policy, losses = self._owner, self.policy, self.losses
        self._vanishes = policy.vanishes
        self._may_lose_requests = losses["request"] is not None or policy.request_ticks is not None
        self.asks_at_once = owner.request is None and not self._may_lose_requests
        """Whether a request reaches the learner at the tick at which it is sent."""
        answered, lost = owner.acknowledgement, losses["acknowledgement"]
        self._acknowledges = answered is not None or lost is not None

    def send_request(self, message: int) -> Waiting[bool]:
        """Send a request; return whether it has reached the learner."""
        owner = self._owner
        if self._may_lose_requests and not (yield from self._transmit_request(message)):
            return False
        if owner.request is not None:
            yield self._learner.kernel.tick + next(owner.request), REQUEST_ARRIVES
        return True

    def _transmit_request(self, message: int) -> Waiting[bool]:
        """Send a request over the channel, if there is one; return whether it is not lost."""
        number, learner, fate = self._owner.number, self._learner, Fate.clear
        if self._port is not None and self.policy.request_ticks is not None:
            deferred = partial(self._deferred, message, 0)
            fate = yield from self._port(self.policy.request_ticks, lambda: True, deferred)
        why = {Fate.kept: Detail.channel_busy, Fate.collided: Detail.collision}.get(fate)
        if why is None and _is_lost(self.losses["request"]):
            why = Detail.noise
        if why is not None:
            learner.request_lost(number, message, why)
        return why is None

    def _patience(self, exchange: Exchange) -> Patience | None:
        """Return the learner's timer for an exchange that begins now, if it has one."""
        ticks = self.policy.timeout_ticks
        return None if ticks is None else Patience(self._learner, exchange, ticks)

    def query_lost(self, exchange: Exchange, patience: Patience | None = None) -> Activity:
        """End an exchange whose query did not find its owner."""
        if patience is not None and exchange.ended is None:
            yield patience.moment
        self._give_up(exchange, patience)

    def serve(self, exchange: Exchange) -> Activity:
        """Carry an exchange from its query, which is sent now, to its end."""
        owner, patience = self._owner, self._patience(exchange)
        if owner.query is not None:
            yield self._learner.kernel.tick + next(owner.query), QUERY_ARRIVES
        if self.query_received(exchange.message, owner.query is not None):
            yield from self.answer(exchange, patience)
        else:
            yield from self.query_lost(exchange, patience)

    def deliver(self, message: int) -> Waiting[bool]:
        """Carry a query to its owner; return whether it is not lost and its owner listens."""
        owner, learner = self._owner, self._learner
        if owner.query is not None:
            yield learner.kernel.tick + next(owner.query), QUERY_ARRIVES
        if owner.online_for_query is not None and not owner.online_for_query(learner.kernel.tick):
            learner.event(EventKind.query_lost, owner.number, message, detail=OFFLINE)
            return False
        return self.query_received(message, owner.query is not None)

    def query_received(self, message: int, travelled: bool) -> bool:
        """Return whether a query that arrives now finds its owner, and note it."""
        number, event = self._owner.number, self._learner.event
        if _is_lost(self.losses["query"]):
            event(EventKind.query_lost, number, message, detail=Detail.noise)
        elif self._vanishes and self._owner.offline_reasons > 0:
            event(EventKind.query_lost, number, message, detail=OFFLINE)
        else:
            if travelled:
                event(QUERY_RECEIVED, number, message)
            return True
        return False

    def answer(self, exchange: Exchange, patience: Patience | None = None) -> Activity:
        """Compute and send until the answer has arrived or nothing is left to try."""
        owner, learner, policy = self._owner, self._learner, self.policy
        kernel, outcome, compute = learner.kernel, ABANDONED, True
        for tries in range(1, policy.attempts + 1):
            if compute and owner.compute is not None:
                if owner.processor is None:
                    yield kernel.tick + next(owner.compute), GRADIENT_READY
                else:
                    yield from owner.processor.work(next(owner.compute))
            came = yield from self._send(exchange)
            if came is APPLIED or came is DISCARDED:
                self._settle(exchange, patience)
                if came is APPLIED and self._acknowledges:
                    yield from self._acknowledged(exchange, tries)
                return
            outcome = outcome if came is None else came
            if came is None or tries == policy.attempts:
                break
            if patience is not None:
                if exchange.ended is not None:
                    break
                yield from patience.learnt()
            if self._backoff is not None:
                yield kernel.tick + self._backoff(tries), TRANSMISSION_BEGINS
            if patience is not None:
                patience.restart()
            compute = policy.fresh
            if compute:
                left = learner.answers_left[owner.number]
                if exchange.ended is not None or left <= owner.answers_reserved:
                    break
                exchange = self._anew(exchange, outcome, patience)
                outcome = ABANDONED
        if patience is not None and exchange.ended is None:
            yield patience.moment
        self._give_up(exchange, patience, outcome)

    def _send(self, exchange: Exchange) -> Waiting[ExchangeOutcome | None]:
        """Send the answer once; return what came of it, None if it was not sent."""
        owner, learner = self._owner, self._learner
        if self._port is None:
            if not self._begun(exchange):
                return None
            if owner.answer is not None:  # without a channel, this is the sending
                yield learner.kernel.tick + next(owner.answer), ANSWER_END
            return self._arrive(exchange) if self._survives(exchange) else ExchangeOutcome.lost
        deferred = partial(self._deferred, exchange.message, exchange.transmissions + 1)
        begun = partial(self._begun, exchange)
        fate = yield from self._port(self.policy.answer_ticks or 1, begun, deferred)
        if fate is Fate.kept:
            return None
        if fate is Fate.collided:
            learner.transmission(EventKind.answer_collided, exchange)
            return ExchangeOutcome.collided
        if not self._survives(exchange):
            return ExchangeOutcome.lost
        if owner.answer is not None:
            yield learner.kernel.tick + next(owner.answer), ANSWER_END
        return self._arrive(exchange)

    def _survives(self, exchange: Exchange) -> bool:
        """Return whether a transmission that ends now is not lost on the way."""
        lost = _is_lost(self.losses["answer"])
        if lost:
            self._learner.transmission(EventKind.answer_lost, exchange, Detail.noise)
        return not lost

    def _begun(self, exchange: Exchange) -> bool:
        """Note that a transmission begins; return False if it would be of no use, or cannot."""
        if exchange.ended is not None or (self._vanishes and self._owner.offline_reasons > 0):
            return False
        if exchange.transmissions == 0:
            self._owner.answers_reserved -= 1
            self._learner.release(exchange)
        else:
            exchange.transmissions += 1
            self._learner.transmission(EventKind.answer_resent, exchange)
        return True

    def _arrive(self, exchange: Exchange) -> ExchangeOutcome:
        """Hand an answer to the learner, which uses it or turns it away."""
        learner = self._learner
        if exchange.outcome is APPLIED or exchange.outcome is DISCARDED:  # as part of a sum
            learner.transmission(EventKind.answer_discarded, exchange, Detail.duplicate)
        elif exchange.ended is not None:
            learner.discard(exchange, Detail.late)
        elif self._superseded(exchange):
            learner.discard(exchange, Detail.superseded)
        else:
            learner.apply(exchange)
        return exchange.outcome

    def _superseded(self, exchange: Exchange) -> bool:
        newest = self._learner.newest if self.policy.newest_only else None
        return newest is not None and exchange.read_tick < newest.read_tick

    def _acknowledged(self, exchange: Exchange, tries: int) -> Activity:
        """Wait for the acknowledgement; send the answer again while that is lost."""
        owner, learner = self._owner, self._learner
        arrived = True
        while True:
            if arrived:
                if owner.acknowledgement is not None:
                    yield learner.kernel.tick + next(owner.acknowledgement), QUERY_ARRIVES
                if not _is_lost(self.losses["acknowledgement"]):
                    return
                learner.event(EventKind.acknowledgement_lost, owner.number, exchange.message)
            if tries == self.policy.attempts:
                return
            if self._backoff is not None:
                yield learner.kernel.tick + self._backoff(tries), TRANSMISSION_BEGINS
            tries += 1
            came = yield from self._send(exchange)
            if came is None:
                return
            arrived = came is APPLIED

    def _anew(
        self, former: Exchange, outcome: ExchangeOutcome, patience: Patience | None
    ) -> Exchange:
        """End an exchange whose answer was not delivered, and open one for a fresh answer."""
        self._owner.answers_reserved += 1
        exchange = self._learner.repeat(former)
        self._learner.drop(former, outcome)
        if patience is not None:
            patience.exchange = exchange
        return exchange

    def _give_up(
        self,
        exchange: Exchange,
        patience: Patience | None,
        outcome: ExchangeOutcome = ABANDONED,
    ) -> None:
        if exchange.transmissions == 0:
            self._owner.answers_reserved -= 1
        self._learner.drop(exchange, outcome)
        self._settle(exchange, patience)

    def _settle(self, exchange: Exchange, patience: Patience | None) -> None:
        """Free the learner, unless it has freed itself."""
        if patience is not None:
            patience.end()
        if self.policy.locks and exchange.ended is None:
            self._learner.lock.release()

    def _deferred(self, message: int, attempt: int) -> None:
        attempted = (self._owner.number, message, attempt, Detail.channel_busy)
        self._learner.event(EventKind.retry, *attempted)


class SureLink(Link):
    """A link on which nothing can go wrong: every query is received, every answer is used.

    An exchange takes the course of :meth:`Link.serve`, in three quarters of the time.
    """

    def __init__(self, owner: Owner, learner: Learner, policy: DeliveryPolicy) -> None:
        super().__init__(owner, learner, policy, dict.fromkeys(MESSAGES), None, None)

    @override
    def serve(self, exchange: Exchange) -> Activity:
        owner, learner, kernel = self._owner, self._learner, self._learner.kernel
        if owner.query is not None:
            yield kernel.tick + next(owner.query), QUERY_ARRIVES
            learner.event(QUERY_RECEIVED, owner.number, exchange.message)
        if owner.compute is not None:
            yield kernel.tick + next(owner.compute), GRADIENT_READY
        owner.answers_reserved -= 1
        learner.release(exchange)
        if owner.answer is not None:
            yield kernel.tick + next(owner.answer), ANSWER_END
        learner.apply(exchange)
        if self.policy.locks:
            learner.lock.release()


def _is_lost(losses: Iterator[bool] | None) -> bool:
    """Return whether the next message is lost."""
    return losses is not None and next(losses)
