"""Servers: several parameter servers step on their own, and agree on a model now and then.

The network of POLAR-SGD (POLAR, section II): synchronous and free of faults, as assumed there.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.words import extent
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.graphs import (
    GraphKind,
    Neighbours,
    ServerGraph,
    faults_of_servers,
    matrices_of,
    neighbours,
)
from asyncdp_sim.network.latency import acknowledged
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols.kind import ProtocolKind, lossy
from asyncdp_sim.spec.base import Count, OneOrSeveral, per_owner, trait
from asyncdp_sim.spec.validation import TAGS
from asyncdp_sim.theory.formulas.polar import disagreement_left

MOST = 1000
_BLOCK = 512

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

    one_on_one = False
    sends_requests = False
    acts_on_ticks = False
    always_served = False
    reads_early = False
    at_mean = False
    update_of = "servers"
    ideal_only = True
    own_network = True
    plain = True
    answers_each = trait(lambda self: self.n_reached if self.read == "basic" else 1)

    kind: Literal["servers"] = "servers"
    count: Annotated[int, Field(ge=2, le=MOST)]
    reach: Reach = "all"
    read: Literal["minimum-wait", "client-averaged", "basic"]
    window: Count
    latency: OneOrSeveral[Law] = NoTime()
    exchange: Law = NoTime()
    graph: ServerGraph | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.reach != "all" and self.reach > self.count:
            rule = f'allowed is "all", or a whole number from 2 to count = {self.count}'
            yield Fault("reach", str(self.reach), rule)
        if isinstance(self.latency, tuple) and len(self.latency) != self.count:
            shown = f"{len(self.latency)} value{'' if len(self.latency) == 1 else 's'}"
            rule = f"allowed is one law, or a list with one per server, {self.count} in all"
            yield Fault("latency", shown, rule)
        if self.graph is not None:
            yield from faults_of_servers(self.graph, self.count)

    @property
    def agreements(self) -> tuple[Neighbours | None, ...]:
        """Return the servers that exchange models in agreement w = 1, 2, …, in turn.

        None stands for all with all: these agree by secure consensus.
        """
        if self.graph is None:
            return (None,)
        return tuple(neighbours(graph, self.count) for graph in self.graph.cycle())

    @property
    def n_reached(self) -> int:
        """|N_h|."""
        return self.count if self.reach == "all" else self.reach

    def reached(self, client: int) -> tuple[int, ...]:
        """Return N_h, the numbers (from 1) of the servers that client h (from 1) talks to."""
        return tuple((client - 1 + s) % self.count + 1 for s in range(self.n_reached))

    @override
    def faults_of_network(self, n_owners: int, parts: Any) -> Iterator[Fault]:
        """Yield what a synchronous network without faults does not have, or has too few of."""
        sync = "protocol servers is synchronous and without faults, as published"
        if not parts.availability.always_online:
            rule = f"{sync}: allowed is always"
            yield Fault("availability.kind", repr(parts.availability.kind), rule)
        if parts.channel.contended is not None:
            rule = f"{sync}: allowed is ideal"
            yield Fault("channel.kind", repr(parts.channel.kind), rule)
        for name, most in lossy(parts.channel, n_owners):
            yield Fault(f"channel.{name}", f"{most:g}", f"{sync}: allowed is 0")
        if parts.topology is not None:
            rule = "not allowed with protocol servers, in which distances are latencies"
            yield Fault("topology.kind", repr(parts.topology.kind), rule)
        if acknowledged(parts.latency.acknowledgement):
            rule = "nothing is acknowledged under protocol servers: allowed is none"
            yield Fault("latency.acknowledgement", "a law", rule)
        if parts.clock != PoissonClock():
            rule = "nobody follows a clock under protocol servers: leave [clock] out"
            yield Fault("clock.kind", repr(parts.clock.kind), rule)
        if n_owners + self.n_reached <= self.count:
            rule = f"{n_owners} clients leave some of {self.count} servers without any: "
            rule += f"allowed is a whole number ≥ {self.count - n_owners + 1}"
            yield Fault("protocol.reach", str(self.reach), rule)
        answers = getattr(parts, "answers_allowed", None)
        if answers is not None and min(answers) < parts.updates * self.answers_each:
            rule = f"allowed are numbers ≥ {parts.updates * self.answers_each}, all that is sent"
            yield Fault("answers_allowed", str(min(answers)), rule)

    @override
    def stall_period(self, network: Any, count: int) -> None:
        return  # clients always have work to do, or under way

    @override
    def describe(self, network: Any, said: str, service: float) -> Iterator[str]:
        """Yield the servers of clients, and the models that servers learn in spite of masks."""
        means = [law.mean for law in per_owner(self.latency, self.count)]
        more = f", and {extent(means)} for each message to or from a server"
        yield f"network: {said}{more if max(means) > 0 else ''}"
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

    def _words_of(self, graph: GraphKind) -> Iterator[str]:
        """Say how servers agree that do not all talk to each other, and who learns what of it."""
        turns = graph.cycle()
        apart = sum(len(turn.faults(self.count)) > 0 for turn in turns)
        per = "an agreement leaves"
        if len(turns) > 1:
            cut = f", {apart} of them not connected by themselves" if apart > 0 else ""
            yield f"server graphs: {len(turns)} in turn{cut}; together they are connected"
            per = f"{len(turns)} agreements leave"
        left = disagreement_left(matrices_of(self.agreements, self.count))
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
        from asyncdp_sim.network.protocols.server_processes import (
            Client,
            Server,
            ServersTogether,
        )

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
