"""Servers: several parameter servers step on their own, and agree on a model now and then.

The network of POLAR-SGD (POLAR, section II): synchronous and free of faults, as assumed there.
:class:`Servers` describes the protocol. N_h are the servers that client h talks to, and Δ is the
window, the steps between two agreements. The stages of a server::

    gathering ── all answers ──> stepping ──┬── within a window ───────────────────> gathering
                                            ├── masking ── agreeing (all with all) ─> gathering
                                            └── averaging (with neighbours) ────────> gathering

Messages that take no event arrive within the call that sends them, and may move the sender itself
on: what is sent is fixed before the first of them, and the stage is read anew after the last.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import (
    ANSWER_END,
    GRADIENT_READY,
    QUERY_ARRIVES,
    Activity,
    Kernel,
    Moment,
    Priority,
)
from asyncdp_sim.core.specification import Count, OneOrSeveral, per_owner, trait, wrong_length
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.validation import TAGS
from asyncdp_sim.core.words import extent
from asyncdp_sim.network import graphs
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Durations, Owner
from asyncdp_sim.network.protocols.kind import ProtocolKind, lossy, one_every
from asyncdp_sim.theory.formulas.convergence import disagreement_left
from asyncdp_sim.trace import EventKind, Exchange
from asyncdp_sim.trace.vocabulary import ANSWER_DELIVERED, APPLIED, QUERY_SENT

Read = Literal["minimum-wait", "client-averaged", "basic"]
"""A client takes gradients at the first model that arrives; at the mean of its servers' models; or
at each of these models, with an answer for each server."""


@dataclass(eq=False)
class ServersTogether:
    """The servers of a replicate, and what they have in common.

    Exchanges are kept until the update that they are for; none of them is ever stale.

    Parameters
    ----------
    learner : Learner
        Counts the updates.
    window : int
        Δ, in steps.
    agreements : sequence
        Partners of each server in every agreement, used in turn; None is all with all.

    Attributes
    ----------
    servers : list of Server
        In the order of their numbers.
    """

    learner: Learner
    window: int
    _agreements: Sequence[graphs.Neighbours | None]
    servers: "list[Server]" = field(default_factory=list)
    _finished: Counter[int] = field(default_factory=Counter)
    _missing: dict[int, int] = field(default_factory=dict)

    def read(self, owner: int, asked: int, peer: int, read_tick: int, step: int) -> Exchange:
        """Open an exchange for step ``step`` (from 1): model asked for and sent at these ticks.

        ``peer`` is the server that sent it, 0 for the mean of several. Learning reads the model
        now: it is still the server's, which waits for this owner's answer.
        """
        message = self.learner.begin(owner)
        exchange = Exchange(message, owner, asked, read_tick, read_k=step - 1, peer=peer)
        self.learner.server_exchanges[message] = exchange
        self.learner.event(QUERY_SENT, owner, message)
        self.learner.learning.read(owner, message, peer)
        return exchange

    def release(self, exchange: Exchange, parts: int) -> None:
        """Note that the owner begins to send its answer to so many servers, which use it."""
        self._missing[exchange.message] = parts
        self.learner.release(exchange)
        self.learner.learning.apply(exchange.owner, exchange.message, exchange.peer)

    def arrive(self, exchange: Exchange) -> None:
        """Note that an answer has reached one more server; its row is written with its update."""
        self._missing[exchange.message] -= 1
        if self._missing[exchange.message] > 0:
            return
        self.learner.event(ANSWER_DELIVERED, exchange.owner, exchange.message, 1)
        exchange.outcome = APPLIED
        del self.learner.server_exchanges[exchange.message], self._missing[exchange.message]
        arrived = self.learner.server_answers.setdefault(exchange.read_k, [])
        arrived.append((exchange, self.learner.kernel.tick))

    def step(self, server: int) -> None:
        """Note that a server (from 1) makes its next step."""
        self.learner.event(EventKind.server_stepped, 0, 0, server)
        self.learner.learning.server_step(server)

    def partners(self, server: int, step: int) -> tuple[int, ...] | None:
        """Return the partners of a server after a step that ends a window."""
        agreed = self._agreements[(step // self.window - 1) % len(self._agreements)]
        return None if agreed is None else agreed[server - 1]

    def finish_step(self, step: int) -> None:
        """Note that one more server has finished a step; the last one makes the update."""
        self._finished[step] += 1
        if self._finished[step] < len(self.servers):
            return
        del self._finished[step]
        k = self.learner.updates
        for exchange, end_tick in self.learner.server_answers.pop(k, []):
            self.learner.recorder.exchange(exchange, end_tick, k)
        self.learner.update()


class Stage(Enum):
    """The states of a server."""

    gathering = "it waits for clients' answers"
    stepping = "all answers are there, and it steps after all else that arrives at this tick"
    masking = "it waits for other servers' masks"
    agreeing = "it waits for other servers' masked models"
    averaging = "it waits for its neighbours' models"


class Server:
    """One server.

    Parameters
    ----------
    number : int
        From 1.
    together : ServersTogether
    latency, exchange : iterator of int, or None
        Ticks of each message from or to a client, in addition to the client's own; and of each
        message to another server.

    Attributes
    ----------
    clients : list of Client
        The owners that talk to it, at least one.
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
        # Messages that have arrived, by the stage and step that need them: some are for later ones.
        self._received: Counter[tuple[Stage, int]] = Counter()

    def send(self) -> None:
        """Send the model to all clients, if there is a further step to be made of it."""
        step, kernel = self._steps, self._kernel
        if step < self._together.learner.horizon:
            sent = (self.number, step, kernel.tick)
            for client in self.clients:
                arrive = partial(client.receive, *sent)
                _after(kernel, client.owner.query, self.latency, QUERY_ARRIVES, arrive)
            self._step_if_complete()  # answers may have arrived before this server was ready

    def receive(self, step: int, exchange: Exchange, _: object = None) -> None:
        """Take a client's answer for a step."""
        self._together.arrive(exchange)
        self._received[Stage.gathering, step] += 1
        if step == self._steps + 1:
            self._step_if_complete()

    def _step_if_complete(self) -> None:
        """Make the next step, after all that arrives at this tick, if all answers have arrived."""
        answers = self._received[Stage.gathering, self._steps + 1]
        if self._stage is Stage.gathering and answers == len(self.clients):
            self._stage = Stage.stepping
            Moment(self._kernel, self._kernel.tick, Priority.TURN).callbacks.append(self._step)

    def _step(self, _: object) -> None:
        self._steps += 1
        self._received.pop((Stage.gathering, self._steps))
        self._together.step(self.number)
        if self._steps % self._together.window > 0:
            self._continue()
            return
        near = self._together.partners(self.number, self._steps)
        self._stage = Stage.masking if near is None else Stage.averaging
        self._send_to_servers(near)
        self._agree()

    def receive_from_server(self, stage: Stage, step: int, _: object = None) -> None:
        """Take what another server sends in a stage of the agreement after a step."""
        self._received[stage, step] += 1
        self._agree()

    def _agree(self) -> None:
        """Turn to the next stage once all servers, or all neighbours, have sent what this needs.

        Masks come first, then masked models; neighbours send their models alone.
        """
        near = self._together.partners(self.number, self._steps)
        needed = len(self._together.servers) - 1 if near is None else len(near)
        if self._stage is Stage.masking and self._received[self._stage, self._steps] == needed:
            self._received.pop((self._stage, self._steps))
            self._stage = Stage.agreeing
            self._send_to_servers(near)
        if self._stage not in (Stage.agreeing, Stage.averaging):
            return
        if self._received[self._stage, self._steps] == needed:
            self._received.pop((self._stage, self._steps), None)  # no entry without neighbours
            self._continue()

    def _continue(self) -> None:
        """Continue with the next step."""
        self._stage = Stage.gathering
        self._together.finish_step(self._steps)
        self.send()

    def _send_to_servers(self, near: Sequence[int] | None) -> None:
        """Send what this stage needs to the servers ``near``, or to all others if that is None."""
        stage, step = self._stage, self._steps  # what arrives at once may move this server on
        for server in self._together.servers:
            if server is not self and (near is None or server.number in near):
                arrive = partial(server.receive_from_server, stage, step)
                _after(self._kernel, self._exchange, None, ANSWER_END, arrive)


class Client:
    """An owner, as a client of its servers.

    Parameters
    ----------
    owner : Owner
    together : ServersTogether
    servers : sequence of Server
        N_h, those that it talks to.
    read : str
        Where gradients are taken; see ``Read``.
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
        # By server, in ticks: when the model of the next iteration was sent, and asked for.
        self._sent: dict[int, int] = {}
        self._asked = {server.number: 0 for server in servers}

    def receive(self, server: int, step: int, sent: int, _: object = None) -> None:
        """Take a server's model after a step, and begin the next iteration if none is lacking.

        A model that arrives after its iteration began, with the first, is not used.
        """
        if step == self._begun:
            self._sent[server] = sent
            if self._read == "minimum-wait" or len(self._sent) == len(self._servers):
                self._begun += 1
                self._kernel.start(self._work())

    def _work(self) -> Activity:
        """Compute and upload the answers of an iteration."""
        kernel, together, owner = self._kernel, self._together, self.owner
        step, sent, self._sent = self._begun, self._sent, {}
        # For each answer: the server whose model it is of (0: the mean of all), and its receivers.
        answers: list[tuple[int, Sequence[Server]]] = [(next(iter(sent)), self._servers)]
        if self._read == "basic":
            answers = [(server.number, [server]) for server in self._servers]
        elif self._read == "client-averaged":
            answers = [(0, self._servers)]
        opened = []
        for peer, servers in answers:
            asked_tick = self._asked[servers[0].number]
            read_tick = sent[peer] if peer > 0 else max(sent.values())
            opened.append((together.read(owner.number, asked_tick, peer, read_tick, step), servers))
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
    first: Durations,
    second: Durations,
    priority: Priority,
    arrive: Callable[..., None],
) -> None:
    """Let a message arrive after a duration of each iterator, or at once if there is none."""
    if first is None and second is None:
        arrive()
        return
    ticks = (0 if first is None else next(first)) + (0 if second is None else next(second))
    Moment(kernel, kernel.tick + ticks, priority).callbacks.append(arrive)


MOST_SERVERS = 1000  # agreements on a graph are matrices of S × S
_BLOCK = 512  # durations that are drawn at a time, at most
Reach = Annotated[
    Annotated[int, Field(ge=2), Tag(TAGS[0])] | Annotated[Literal["all"], Tag(TAGS[2])],
    Discriminator(lambda value: TAGS[2] if isinstance(value, str) else TAGS[0]),
]


class Servers(ProtocolKind):
    """S servers, with the owners as clients; clocks are not used.

    Client h = 1, 2, … is connected to servers h, h + 1, … (modulo S). In every iteration it waits
    for the models of these servers, computes, and uploads an answer to each. A server makes a step
    when the answers of all its clients to this iteration have arrived, and then sends its model to
    them. (Clients request it with their uploads, which reach the server before its step, so that a
    request takes no additional time.) Every ``window`` steps the servers agree on one model: after
    its step a server sends a mask to every other server; when it has all masks, it sends its masked
    model to every other server; when it has all masked models, it continues.

    With a ``graph`` that is not complete there are no masks: after its step a server sends its
    model in the clear to its neighbours, and continues when it has theirs (POLAR, sections V-A and
    V-C). Servers that are far from each other may then be several windows apart, one for each edge
    between them.

    Between agreements servers do not wait for each other. With clients that use the first model to
    arrive, fast servers continue while slow servers lack answers to earlier iterations, and may be
    up to a whole window ahead. Update k takes place when the last server has made its step k and,
    if that is due, has agreed with the others.
    """

    acts_on_ticks = False
    at_mean = False
    update_of = "servers"
    paced_by = ("compute", "steps that end")
    own_network = True
    may_idle = False  # clients always have work to do, or under way
    answers_each = trait(lambda self: self.n_reached if self.read == "basic" else 1)

    kind: Literal["servers"] = "servers"
    count: Annotated[int, Field(ge=2, le=MOST_SERVERS)]
    reach: Reach = "all"
    read: Read
    window: Count
    latency: OneOrSeveral[Law] = NoTime()
    exchange: Law = NoTime()
    graph: graphs.ServerGraph | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.reach != "all" and self.reach > self.count:
            rule = f'allowed is "all", or a whole number from 2 to count = {self.count}'
            yield Fault("reach", str(self.reach), rule)
        yield from wrong_length("latency", self.latency, self.count, "law", "server")
        if self.graph is not None:
            yield from graphs.faults_of_servers(self.graph, self.count)

    @property
    def agreements(self) -> tuple[graphs.Neighbours | None, ...]:
        """Return the partners of each server in agreement w = 1, 2, …, in turn.

        None is all with all: these agree by secure consensus.
        """
        if self.graph is None:
            return (None,)
        return tuple(graphs.neighbours(graph, self.count) for graph in self.graph.cycle())

    @property
    def n_reached(self) -> int:
        """|N_h|, the number of servers that each client talks to."""
        return self.count if self.reach == "all" else self.reach

    def reached(self, client: int) -> tuple[int, ...]:
        """Return N_h, the numbers (from 1) of the servers that client h (from 1) talks to."""
        return tuple((client - 1 + s) % self.count + 1 for s in range(self.n_reached))

    @override
    def rates(self, network: Any) -> tuple[float, ...] | None:
        own = max(law.mean for law in per_owner(self.latency, self.count))
        return one_every(max(network.exchange_times()) + 2 * own)

    @override
    def faults_of_network(self, network: Any) -> Iterator[Fault]:
        """Yield settings that a synchronous network without faults cannot have."""
        n_owners = network.n_owners
        sync = "protocol servers is synchronous and without faults, as published"
        if not network.availability.always_online:
            rule = f"{sync}: allowed is always"
            yield Fault("availability.kind", repr(network.availability.kind), rule)
        if network.channel.contended is not None:
            rule = f"{sync}: allowed is ideal"
            yield Fault("channel.kind", repr(network.channel.kind), rule)
        for name, most in lossy(network.channel, n_owners):
            yield Fault(f"channel.{name}", f"{most:g}", f"{sync}: allowed is 0")
        if network.topology is not None:
            rule = "not allowed with protocol servers, in which distances are latencies"
            yield Fault("topology.kind", repr(network.topology.kind), rule)
        if network.latency.acknowledges:
            rule = "nothing is acknowledged under protocol servers: allowed is none"
            yield Fault("latency.acknowledgement", "a law", rule)
        if network.clock != PoissonClock():
            rule = "nobody follows a clock under protocol servers: leave [clock] out"
            yield Fault("clock.kind", repr(network.clock.kind), rule)
        if n_owners + self.n_reached <= self.count:
            rule = f"{n_owners} clients leave some of {self.count} servers without any: "
            rule += f"allowed is a whole number ≥ {self.count - n_owners + 1}"
            yield Fault("protocol.reach", str(self.reach), rule)
        least, needed = min(network.answers_allowed), network.updates * self.answers_each
        if least < needed:
            rule = f"allowed are numbers ≥ {needed}, all that is sent"
            yield Fault("answers_allowed", str(least), rule)

    @override
    def describe(self, network: Any, duration: str, mean: float) -> Iterator[str]:
        """Yield the servers of clients, and the models that servers learn in spite of masks."""
        means = [law.mean for law in per_owner(self.latency, self.count)]
        more = f", and {extent(means)} for each message to or from a server"
        yield f"network: {duration}{more if max(means) > 0 else ''}"
        yield (
            f"servers: {self.count}, each client talks to {self.n_reached} ({self.read}), "
            f"consensus after every {self.window} steps"
        )
        if self.graph is not None and any(near is not None for near in self.agreements):
            yield from self._words_of(self.graph)
            return
        if self.count == 2:
            yield "consensus hides nothing between two servers: each learns the other's model"
        if self.window == 1:
            yield (
                "consensus after every step: a server that subtracts its own part learns the "
                "gradient of the whole objective (POLAR, remark 1)"
            )

    def _words_of(self, graph: graphs.GraphKind) -> Iterator[str]:
        """Yield in words how servers on an incomplete graph agree, and who receives which model."""
        turns = graph.cycle()
        apart = sum(len(turn.faults(self.count)) > 0 for turn in turns)
        per = "an agreement leaves"
        if len(turns) > 1:
            cut = f", {apart} of them not connected alone" if apart > 0 else ""
            yield f"server graphs: {len(turns)} in turn{cut}; together they are connected"
            per = f"{len(turns)} agreements leave"
        left = disagreement_left(graphs.matrices_of(self.agreements, self.count))
        yield (
            f"servers average with their neighbours by Metropolis weights: {per} at most "
            f"{left:.3g} of their disagreement, and the mean over servers is a model that none of "
            "them need hold"
        )
        yield (
            "models go to neighbours as they are, for secure consensus needs a complete graph: a "
            "curious server learns its neighbours' (POLAR, section V-C)"
        )

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        learner.recorder.in_order = False
        learner.hold()
        together = ServersTogether(learner, self.window, self.agreements)
        laws = per_owner(self.latency, self.count)
        for number in range(1, self.count + 1):
            source = streams.within("server", number).generator
            latency = laws[number - 1].durations(partial(source, "latency"), _BLOCK)
            exchange = self.exchange.durations(partial(source, "exchange"), _BLOCK)
            together.servers.append(Server(number, together, latency, exchange))
        for owner in owners:
            servers = [together.servers[number - 1] for number in self.reached(owner.number)]
            client = Client(owner, together, servers, self.read)
            for server in servers:
                server.clients.append(client)
        for server in together.servers:
            server.send()
