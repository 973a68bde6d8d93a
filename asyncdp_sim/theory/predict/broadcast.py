"""Answers to queries that go to all owners, and for which networks their rate is known."""

from collections.abc import Iterator, Sequence
from math import inf

from typing_extensions import override

from asyncdp_sim.network.protocols import Broadcast
from asyncdp_sim.theory.formulas.broadcast import AnswersPerQuery, broadcast
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.prediction import Prediction, Unknown, each_of, either

SAID = "owners that listen answer after U[0, W], pure ALOHA, W + airtime ≤ interval"


class BroadcastFacts(Facts):
    """Answers of owners that all have the same query."""

    dependent = "owners answer the same query"
    protocol: Broadcast

    @override
    def flows(self, jobs: Sequence[float]) -> tuple[float, ...]:
        return (1 / self.protocol.interval,) * self.n_owners

    @override
    def predictions(self) -> Iterator[Prediction]:
        """Yield throughput, and collisions and load where owners share a channel."""
        if self.network.channel.contended is None:
            yield Prediction("throughput", None, SAID, "owners share no channel")
            return
        found, interval = self._answers(), self.protocol.interval
        if isinstance(found, Unknown):
            yield either("throughput", found, SAID)
            if self.in_turn:
                yield Prediction("collision_rate", 0.0, "an owner has slots of its own")
                yield either("offered_load", found, SAID)
            else:
                yield from each_of(("collision_rate", "offered_load"), found, SAID)
            return
        begun, clean = found.mean_begun, found.mean_clean
        yield Prediction("throughput", clean / interval, SAID)
        yield Prediction("collision_rate", 1 - clean / begun, SAID)
        yield Prediction("offered_load", begun * (self.network.airtime or 0.0) / interval, SAID)

    def _answers(self) -> AnswersPerQuery | Unknown:
        """Return what a query brings in, or why it is not known."""
        network, window = self.network, self.protocol.delay.window
        airtime = network.airtime or 0.0
        channel, online = network.channel, network.availability.online_share(self.n_owners)
        if self.can_lose_messages:
            return Unknown(self.can_lose_messages)
        if not self.instant:
            return Unknown("queries, computing or answers take time besides the airtime")
        if window is None:
            return Unknown("answers do not wait for a uniform time from 0")
        shared = channel.contended
        plain = shared is channel and shared.sends_at_once and channel.exclusive
        if not plain or channel.retransmissions > 0:
            return Unknown("the channel is not pure ALOHA without capture and retransmission")
        if self.wires_fail:
            return Unknown("links fail")
        if not network.availability.keeps_poisson or online is None:
            return Unknown(f"availability is {network.availability.kind}")
        if max(online) > min(online):
            return Unknown("owners listen differently often")
        if window + airtime > self.protocol.interval or airtime > window / 2:
            return Unknown("W + airtime > interval, or airtime > W/2")
        found = broadcast(self.n_owners, online[0], airtime, window)
        begun, clean = found.mean_begun, found.mean_clean
        spent = self.spent(begun / clean if clean > 0 else inf)
        return Unknown(spent) if spent else found
