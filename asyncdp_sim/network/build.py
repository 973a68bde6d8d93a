"""The owners of a network, each with its streams, its durations and its way to the learner."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import repeat

from asyncdp_sim.network.channels.air import Medium
from asyncdp_sim.network.delivery.link import Link
from asyncdp_sim.network.delivery.policy import DeliveryPolicy, Losses
from asyncdp_sim.network.latency import acknowledged
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Durations, Owner
from asyncdp_sim.network.spec import Network
from asyncdp_sim.streams import Scope
from asyncdp_sim.units import to_ticks


class Builder:
    """Makes the owners of one replicate.

    Parameters
    ----------
    network : Network
    learner : Learner
    medium : Medium, optional
        The shared channel, if there is one.
    streams : Scope
        The replicate's streams.
    shared : bool
        Whether all owners draw their durations from the same streams, so that an owner can be made
        again; their links are kept.
    """

    def __init__(
        self,
        network: Network,
        learner: Learner,
        medium: Medium | None,
        streams: Scope,
        *,
        shared: bool = False,
    ) -> None:
        self.plain = _is_plain(network)
        """Whether every exchange goes from its query to its update."""
        self._network = network
        self._learner = learner
        self._medium = medium
        self._streams = streams
        self._policy = _policy(network)
        self._transfers = {name: network.transfer_times(name) for name in ("query", "answer")}
        self._known: dict[int, Owner] | None = {} if shared else None
        self._shared = self._durations(1, streams.within("crowd")) if shared else None

    def owner(self, number: int) -> Owner:
        """Return an owner (from 1)."""
        if self._known is not None and number in self._known:
            return self._known[number]
        durations = self._shared
        if durations is None:
            durations = self._durations(number, self._streams.within("owner", number))
        owner = Owner(number, **durations)
        if self._network.topology is not None:
            for name in ("request", "query", "answer", "acknowledgement"):
                if name != "acknowledgement" or owner.acknowledgement is not None:
                    setattr(owner, name, _beyond(owner, durations[name]))
        if not self.plain:
            owner.link = self._link(owner)
            if self._known is not None:
                self._known[number] = owner
        return owner

    def _durations(self, number: int, own: Scope) -> dict[str, Durations]:
        network, latency = self._network, self._network.latency
        stages: dict[str, Law | tuple[Law, ...]] = {
            "request": latency.request,
            "query": latency.query,
            "compute": network.compute,
            "answer": latency.answer,
            "acknowledgement": latency.acknowledgement,
        }
        size = block(network.n_owners)
        durations: dict[str, Durations] = {}
        for name, laws in stages.items():
            extra = 0
            if name in self._transfers:
                extra = to_ticks(self._transfers[name][number - 1])
            law: Law = laws[number - 1] if isinstance(laws, tuple) else laws
            drawn: Durations = law.durations(partial(own.generator, name), size)
            if extra > 0:
                drawn = map(extra.__add__, repeat(0) if drawn is None else drawn)
            durations[name] = drawn
        return durations

    def _link(self, owner: Owner) -> Link:
        mine, channel = self._streams.within("owner", owner.number), self._network.channel

        def lost(message: str, field: str) -> Iterator[bool] | None:
            source = partial(mine.generator, "loss", message)
            return channel.packet_loss(field).draws(source, owner.number - 1)

        return Link(
            owner,
            self._learner,
            self._policy,
            Losses(
                request=lost("request", "_request"),
                query=lost("query", "_query"),
                answer=lost("answer", ""),
                acknowledgement=lost("acknowledgement", "_acknowledgement"),
            ),
            None if self._medium is None else self._medium.port(owner.number),
            channel.waits(mine, "resend"),
        )


def block(n_owners: int) -> int:
    """Return how many numbers an owner draws at a time: fewer, the more owners there are."""
    return min(512, max(16, 65536 // n_owners))


def _beyond(owner: Owner, durations: Durations) -> Iterator[int]:
    """Yield durations with the owner's distance, as it is then, on top."""
    for ticks in repeat(0) if durations is None else durations:
        yield owner.distance + ticks


def _is_plain(network: Network) -> bool:
    """Return whether every exchange goes from its query to its update."""
    channel = network.channel
    sure = channel.lossless and network.protocol.plain and not network.withholds
    return sure and channel.contended is None and not acknowledged(network.latency.acknowledgement)


def _policy(network: Network) -> DeliveryPolicy:
    channel = network.channel
    shared = channel.contended
    policy = replace(
        network.protocol.delivery_policy(),
        attempts=1 + channel.retransmissions,
        fresh=channel.resend == "fresh",
        withholds=network.withholds,
    )
    if shared is None:
        return policy
    request = shared.request_airtime
    return replace(
        policy,
        answer_ticks=to_ticks(shared.answer_airtime(network.answer_bytes)),
        request_ticks=None if request is None else to_ticks(request),
    )
