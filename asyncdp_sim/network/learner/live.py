"""Hooks by which a network tells whoever trains a model inside it, and the learner that does."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from typing_extensions import override

from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.delivery.aggregation import Aggregation
from asyncdp_sim.network.learner.exchanges import BroadcastQuery
from asyncdp_sim.network.learner.learner import Learner
from asyncdp_sim.trace import EventKind, Exchange, ExchangeOutcome, Recorder


class Learning(Protocol):
    """Trains a model live, inside the simulation."""

    def read(self, owner: int, message: int, peer: int = 0) -> None:
        """Form the query for ``owner`` (from 1) from the model as it is now.

        ``peer`` says whose model, where there are several; see :data:`~.vocabulary.EXCHANGES`.
        """

    def apply(self, owner: int, message: int, peer: int = 0) -> None:
        """Use the owner's answer to the query of this message for the next update."""

    def update(self) -> None:
        """Note that the answers used since the last update make the next one."""

    def release(self, owner: int, message: int) -> None:
        """Note that the owner's answer to this query begins to be sent, and is charged."""

    def withholds(self, owner: int, message: int) -> bool:
        """Return whether the owner keeps its answer to this query, which is ready, to itself.

        Asked where the network says that owners may; :meth:`forget` follows if it does.
        """

    def reached(self) -> bool:
        """Return whether the model is now as it was wanted; asked after updates that may end it."""

    def server_step(self, server: int) -> None:
        """Note that one of several servers (from 1) makes its next step."""

    def broadcast(self) -> object:
        """Return what is needed later to form queries from the model as it is now."""

    def take(self, owner: int, message: int, sent: object) -> None:
        """Form the query of this message from what :meth:`broadcast` returned."""

    def again(self, message: int, former: int) -> None:
        """Ask in this message what the former one asked."""

    def forget(self, message: int) -> None:
        """Note that the query of this message will not be answered."""


class LiveLearner(Learner):
    """A learner whose model is trained while the network runs.

    Parameters
    ----------
    learning : Learning
        Whom to tell of reads and updates.
    kernel, recorder, updates, answers_allowed, answers_per_update, answers_once, aggregation
        As of :class:`~.learner.Learner`.
    stops : bool
        Whether the one who is told may end the run at an update.
    """

    def __init__(
        self,
        learning: Learning,
        kernel: Kernel,
        recorder: Recorder,
        updates: int,
        answers_allowed: Sequence[int],
        answers_per_update: int | None = 1,
        *,
        stops: bool = False,
        answers_once: bool = False,
        aggregation: Aggregation | None = None,
    ) -> None:
        counted = (kernel, recorder, updates, answers_allowed, answers_per_update)
        super().__init__(*counted, answers_once=answers_once, aggregation=aggregation)
        self._learning = learning
        self._stops = stops

    @override
    def broadcast(self) -> BroadcastQuery:
        sent = self._learning.broadcast()
        self.newest = replace(super().broadcast(), sent=sent)
        return self.newest

    @override
    def take(self, owner: int, message: int, query: BroadcastQuery) -> Exchange:
        self._learning.take(owner, message, query.sent)
        return super().take(owner, message, query)

    @override
    def repeat(self, former: Exchange) -> Exchange:
        exchange = super().repeat(former)
        self._learning.again(exchange.message, former.message)
        return exchange

    @override
    def read(self, owner: int, message: int, request_tick: int, peer: int = 0) -> Exchange:
        self._learning.read(owner, message, peer)
        return super().read(owner, message, request_tick, peer)

    @override
    def release(self, exchange: Exchange) -> None:
        self._learning.release(exchange.owner, exchange.message)
        super().release(exchange)

    @override
    def form(self, owner: int, message: int, peer: int) -> None:
        self._learning.read(owner, message, peer)

    @override
    def use(self, exchange: Exchange) -> None:
        self._learning.apply(exchange.owner, exchange.message, exchange.peer)

    @override
    def server_step(self, server: int) -> None:
        self._learning.server_step(server)

    @override
    def withholds(self, exchange: Exchange) -> bool:
        if not self._learning.withholds(exchange.owner, exchange.message):
            return False
        self.event(EventKind.answer_withheld, exchange.owner, exchange.message)
        return True

    @override
    def apply_now(self, exchange: Exchange) -> None:
        self._learning.apply(exchange.owner, exchange.message, exchange.peer)
        super().apply_now(exchange)

    @override
    def update(self, owner: int = 0, message: int = 0) -> None:
        self._learning.update()
        super().update(owner, message)
        if self._stops and self._learning.reached():
            self.reached = True
            self.kernel.stop()

    @override
    def drop(self, exchange: Exchange, outcome: ExchangeOutcome) -> None:
        super().drop(exchange, outcome)
        self._learning.forget(exchange.message)
