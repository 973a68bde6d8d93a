"""Servers that step on their own, their clients, and how servers come to agree."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from typing import Literal

from asyncdp_sim.core.kernel import (
    ANSWER_END,
    GRADIENT_READY,
    QUERY_ARRIVES,
    Activity,
    Kernel,
    Moment,
    Priority,
)
from asyncdp_sim.network.graphs import Neighbours
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Durations, Owner
from asyncdp_sim.trace import EventKind, Exchange
from asyncdp_sim.trace.vocabulary import ANSWER_DELIVERED, APPLIED, QUERY_SENT

Read = Literal["minimum-wait", "client-averaged", "basic"]


class ServersTogether:
    """The servers of a replicate, and what they have in common.

    Exchanges are kept until the update that they are for; none of them is ever stale.

    Parameters
    ----------
    learner : Learner
        Who counts the updates.
    window : int
        Δ.
    agreements : sequence
        Partners of each server in every agreement, used in turn; None is
        everybody.

    Attributes
    ----------
    servers : list of Server
        In the order of their numbers.
    arrived : dict
        By k − 1, the exchanges whose answers wait for update k, and when each had arrived.
    """

    def __init__(
        self, learner: Learner, window: int, agreements: Sequence[Neighbours | None] = (None,)
    ) -> None:
        self.learner = learner
        self.window = window
        self.servers: list[Server] = []
        self.arrived: dict[int, list[tuple[Exchange, int]]] = {}
        self._agreements = agreements
        self._through: Counter[int] = Counter()
        self._open: dict[int, Exchange] = {}
        self._missing: dict[int, int] = {}
        learner.kept_elsewhere = self.left

    def read(self, owner: int, asked: int, peer: int, read_tick: int, step: int) -> Exchange:
        """Open an exchange for a step ``step`` (from 1), of a model that left at ``read_tick``.

        The model is taken up now, and is still the server's: it waits for this owner's answer.
        """
        message = self.learner.begin(owner)
        exchange = Exchange(message, owner, asked, read_tick, step - 1, peer)
        self._open[message] = exchange
        self.learner.event(QUERY_SENT, owner, message)
        self.learner.form(owner, message, peer)
        return exchange

    def release(self, exchange: Exchange, parts: int) -> None:
        """Note that the owner begins to send its answer to so many servers, which use it."""
        self._missing[exchange.message] = parts
        self.learner.release(exchange)
        self.learner.use(exchange)

    def arrive(self, exchange: Exchange) -> None:
        """Note that an answer has reached one more server; its row is written with its update."""
        self._missing[exchange.message] -= 1
        if self._missing[exchange.message] > 0:
            return
        self.learner.event(ANSWER_DELIVERED, exchange.owner, exchange.message, 1)
        exchange.outcome = APPLIED
        del self._open[exchange.message], self._missing[exchange.message]
        arrived = self.arrived.setdefault(exchange.read_k, [])
        arrived.append((exchange, self.learner.kernel.tick))

    def step(self, server: int) -> None:
        """Note that a server (from 1) makes its next step."""
        self.learner.event(EventKind.server_stepped, 0, 0, server)
        self.learner.server_step(server)

    def left(self, end_tick: int) -> Iterator[Exchange]:
        """Yield what the end of the run has cut short: what arrived for later updates first."""
        for k in sorted(self.arrived):
            for exchange, tick in self.arrived[k]:
                exchange.ended = (tick, k)
                yield exchange
        for exchange in self._open.values():
            exchange.ended = (end_tick, exchange.read_k)
            yield exchange

    def near(self, server: int, step: int) -> tuple[int, ...] | None:
        """Return the partners of a server after a step that ends a window."""
        agreed = self._agreements[(step // self.window - 1) % len(self._agreements)]
        return None if agreed is None else agreed[server - 1]

    def through(self, step: int) -> None:
        """Note that one more server is through with a step; the last one makes the update."""
        self._through[step] += 1
        if self._through[step] < len(self.servers):
            return
        del self._through[step]
        k = self.learner.updates
        for exchange, end_tick in self.arrived.pop(k, []):
            self.learner.recorder.exchange(exchange, end_tick, k)
        self.learner.update()


class Stage(Enum):
    """The states of a server."""

    gathering = "it waits for clients' answers"
    stepping = "all answers are there, and it steps after all else that arrives now"
    masking = "it waits for other servers' masks"
    agreeing = "it waits for other servers' masked models"
    hearing = "it waits for its neighbours' models"


class Server:
    """One server.

    Parameters
    ----------
    number : int
        J, from 1.
    together : ServersTogether
    latency, exchange : iterator of int, or None
        What its messages from and to clients take besides, and those to other servers, in ticks.

    Attributes
    ----------
    clients : list of Client
        Those that talk to it, at least one.
    """

    def __init__(
        self, number: int, together: ServersTogether, latency: Durations, exchange: Durations
    ) -> None:
        self.number = number
        self.latency = latency
        self.clients: list[Client] = []
        self._exchange = exchange
        self._together = together
        self._kernel: Kernel = together.learner.kernel
        self._steps = 0
        self._stage = Stage.gathering
        # How much has arrived by stage and step: of some, for later steps than the next.
        self._received: Counter[tuple[Stage, int]] = Counter()

    def send(self) -> None:
        """Send the model to all clients, if there is a further step to be made of it."""
        step, kernel = self._steps, self._kernel
        if step < self._together.learner.horizon:
            sent = (self.number, step, kernel.tick)
            for client in self.clients:
                hear = partial(client.hear, *sent)
                _after(kernel, client.owner.query, self.latency, QUERY_ARRIVES, hear)
            self._turn()

    def receive(self, step: int, exchange: Exchange, _: object = None) -> None:
        """Take a client's answer for a step."""
        self._together.arrive(exchange)
        self._received[Stage.gathering, step] += 1
        if step == self._steps + 1:
            self._turn()

    def _turn(self) -> None:
        """Step, after all that arrives at this tick, if all answers are there."""
        answers = self._received[Stage.gathering, self._steps + 1]
        if self._stage is Stage.gathering and answers == len(self.clients):
            self._stage = Stage.stepping
            Moment(self._kernel, self._kernel.tick, Priority.TURN).callbacks.append(self._step)

    def _step(self, _: object) -> None:
        self._steps += 1
        del self._received[Stage.gathering, self._steps]
        self._together.step(self.number)
        if self._steps % self._together.window > 0:
            self._go_on()
            return
        near = self._together.near(self.number, self._steps)
        self._stage = Stage.masking if near is None else Stage.hearing
        self._tell(near)
        self._agree()

    def hear(self, stage: Stage, step: int, _: object = None) -> None:
        """Take what another server sends in a stage of the agreement after a step."""
        self._received[stage, step] += 1
        self._agree()

    def _agree(self) -> None:
        """Turn to the next stage once all servers, or all neighbours, have sent what this needs.

        Masks come first, then masked models; neighbours send their models alone.
        """
        near = self._together.near(self.number, self._steps)
        needed = len(self._together.servers) - 1 if near is None else len(near)
        if self._stage is Stage.masking and self._received[self._stage, self._steps] == needed:
            del self._received[self._stage, self._steps]
            self._stage = Stage.agreeing
            self._tell(near)
        if self._stage not in (Stage.agreeing, Stage.hearing):
            return
        if self._received[self._stage, self._steps] == needed:
            del self._received[self._stage, self._steps]
            self._go_on()

    def _go_on(self) -> None:
        """Turn to the next step."""
        self._stage = Stage.gathering
        self._together.through(self._steps)
        self.send()

    def _tell(self, near: Sequence[int] | None) -> None:
        """Send what this stage needs to every other server, or to some."""
        stage, step = self._stage, self._steps  # what arrives at once may move this server on
        for server in self._together.servers:
            if server is not self and (near is None or server.number in near):
                hear = partial(server.hear, stage, step)
                _after(self._kernel, self._exchange, None, ANSWER_END, hear)


class Client:
    """An owner, as a client of its servers.

    Parameters
    ----------
    owner : Owner
    together : ServersTogether
    servers : sequence of Server
        N_h.
    read : str
        Where gradients are taken; see :class:`~.protocols.servers.Servers`.
    """

    def __init__(
        self, owner: Owner, together: ServersTogether, servers: Sequence[Server], read: Read
    ) -> None:
        self.owner = owner
        self._together = together
        self._kernel = together.learner.kernel
        self._servers = servers
        self._read = read
        self._begun = 0  # iterations
        self._heard: dict[int, int] = {}  # by server, when the model that it waits for was sent
        self._asked = {server.number: 0 for server in servers}  # by server, when it last asked

    def hear(self, server: int, step: int, sent: int, _: object = None) -> None:
        """Take a server's model after a step, and begin the next iteration if nothing is lacking.

        Later ones are of no use where the first was taken.
        """
        if step == self._begun:
            self._heard[server] = sent
            if self._read == "minimum-wait" or len(self._heard) == len(self._servers):
                self._begun += 1
                self._kernel.start(self._work())

    def _work(self) -> Activity:
        """Compute and upload the answers of an iteration."""
        kernel, together, owner = self._kernel, self._together, self.owner
        step, sent, self._heard = self._begun, self._heard, {}
        jobs: list[tuple[int, Sequence[Server]]] = [(next(iter(sent)), self._servers)]
        if self._read == "basic":
            jobs = [(server.number, [server]) for server in self._servers]
        elif self._read == "client-averaged":
            jobs = [(0, self._servers)]
        opened = []
        for peer, servers in jobs:
            asked = self._asked[servers[0].number]
            read = sent[peer] if peer > 0 else max(sent.values())
            opened.append((together.read(owner.number, asked, peer, read, step), servers))
        for exchange, servers in opened:
            if owner.compute is not None:
                yield kernel.tick + next(owner.compute), GRADIENT_READY
            together.release(exchange, len(servers))
            for server in servers:
                self._asked[server.number] = kernel.tick
                arrive = partial(server.receive, step, exchange)
                _after(kernel, owner.answer, server.latency, ANSWER_END, arrive)


def _after(
    kernel: Kernel,
    own: Durations,
    besides: Durations,
    priority: Priority,
    what: Callable[..., None],
) -> None:
    """Let a message arrive after the sum of two durations; at once where both take no event."""
    if own is None and besides is None:
        what()
        return
    ticks = (0 if own is None else next(own)) + (0 if besides is None else next(besides))
    Moment(kernel, kernel.tick + ticks, priority).callbacks.append(what)
