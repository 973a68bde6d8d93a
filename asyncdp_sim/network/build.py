"""The owners of a network, each with its streams, its durations and its way to the learner."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.channels.air import Medium
from asyncdp_sim.network.channels.uplink import DeliveryPolicy, Link, LostMessages
from asyncdp_sim.network.latency import MESSAGES, Laws, acknowledged
from asyncdp_sim.network.laws import LawKind
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Durations, Owner, Processor
from asyncdp_sim.network.spec import Network
from asyncdp_sim.spec.base import own

if TYPE_CHECKING:
    from asyncdp_sim.network.occupancy import OccupationNotes


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
    notes : OccupationNotes, optional
        Who takes notes of what owners are at.
    """

    def __init__(
        self,
        network: Network,
        learner: Learner,
        medium: Medium | None,
        streams: Scope,
        *,
        shared: bool = False,
        notes: "OccupationNotes | None" = None,
    ) -> None:
        self._notes = notes
        self.plain = _is_plain(network)
        """Whether every exchange goes from its query to its update."""
        self._network = network
        self._learner = learner
        self._medium = medium
        self._streams = streams
        self._policy = policy_of(network)
        self._known: dict[int, Owner] | None = {} if shared else None
        self._stages = _stages(network)
        self._shared = self._durations(1) if shared else None

    def owner(self, number: int) -> Owner:
        """Return an owner (from 1)."""
        if self._known is not None and number in self._known:
            return self._known[number]
        durations = self._durations(number) if self._shared is None else self._shared
        owner = Owner(number, **durations)
        if self._network.topology is not None:
            for name in MESSAGES:
                if name != "acknowledgement" or owner.acknowledgement is not None:
                    setattr(owner, name, _beyond(owner, durations.get(name)))
        if self._network.protocol.shares_work:
            owner.processor = Processor(self._learner.kernel)
        if self._notes is not None:
            self._notes.watch(owner)
        if not self.plain:
            owner.link = self._link(owner)
            if self._known is not None:
                self._known[number] = owner
        return owner

    def _durations(self, number: int) -> dict[str, Any]:
        """Return an owner's (from 1) durations; if all share their streams, those of all."""
        whose = ("owner", number) if self._known is None else ("crowd",)
        size, durations = block(self._network.n_owners), dict[str, Any]()
        for name, (laws, extra) in self._stages.items():
            source = partial(self._streams.generator, *whose, name)
            drawn: Durations = own(laws, number - 1).durations(source, size)
            if extra is not None and extra[number - 1] > 0:
                drawn = map(extra[number - 1].__add__, repeat(0) if drawn is None else drawn)
            durations[name] = drawn
        return durations

    def opening(self, owner: Owner) -> Iterator[int]:
        """Yield how long trips take by which an owner helps to open sums."""
        network, place = self._network, owner.number - 1
        mine = self._streams.within("owner", owner.number, "opening")
        size, rate, fixed = block(network.n_owners), network.latency.rate_bytes, 0
        if rate is not None:
            fixed = to_ticks(sum(network.opening_bytes) / own(rate, place))
        trips = {"query": network.latency.query, "answer": network.latency.answer}
        drawn = [
            own(laws, place).durations(partial(mine.generator, name), size)
            for name, laws in trips.items()
        ]
        trips_there, back = (repeat(0) if ticks is None else ticks for ticks in drawn)
        for there_ticks, other in zip(trips_there, back, strict=False):  # neither ends
            trip = there_ticks + other + fixed + 2 * owner.distance
            if self._notes is not None:
                self._notes.opening(owner.number, trip, other + owner.distance)
            yield trip

    def _link(self, owner: Owner) -> Link:
        mine, channel = self._streams.within("owner", owner.number), self._network.channel

        def lost(message: str, field: str) -> Iterator[bool] | None:
            source = partial(mine.generator, "loss", message)
            return channel.packet_loss(field).draws(source, owner.number - 1)

        port = None if self._medium is None else self._medium.port(owner.number)
        waits = channel.waits(mine, "resend")
        if self._notes is not None:
            port = None if port is None else self._notes.port(owner.number, port)
            waits = self._notes.backoff(owner.number, waits)
        return Link(
            owner,
            self._learner,
            self._policy,
            LostMessages(
                request=lost("request", "_request"),
                query=lost("query", "_query"),
                answer=lost("answer", ""),
                acknowledgement=lost("acknowledgement", "_acknowledgement"),
            ),
            port,
            waits,
        )


def _stages(network: Network) -> dict[str, tuple[Laws, tuple[int, ...] | None]]:
    """Return what takes time, for some owner at least.

    Each has one law for all owners or one for each, and ticks on top per owner, which the bytes of
    a message take.
    """
    stages: dict[str, tuple[Laws, tuple[int, ...] | None]] = {}
    for name in (*MESSAGES, "compute"):
        laws = network.compute if name == "compute" else getattr(network.latency, name)
        extra = None
        if network.latency.rate_bytes is not None and name in ("query", "answer"):
            extra = tuple(map(to_ticks, network.transfer_times(name)))
        if extra is not None or not isinstance(laws, LawKind) or not laws.instant:
            stages[name] = laws, extra
    return stages


def block(n_owners: int) -> int:
    """Return how many numbers an owner draws at most at a time: fewer of more owners."""
    return min(512, max(16, 65536 // n_owners))


def _beyond(owner: Owner, durations: Durations) -> Iterator[int]:
    """Yield durations with the owner's distance, as it is then, on top."""
    for ticks in repeat(0) if durations is None else durations:
        yield owner.distance + ticks


def _is_plain(network: Network) -> bool:
    """Return whether every exchange goes from its query to its update."""
    channel = network.channel
    sure = channel.lossless and network.protocol.plain
    return sure and channel.contended is None and not acknowledged(network.latency.acknowledgement)


def policy_of(network: Network) -> DeliveryPolicy:
    """Return how owners of a network deal with what goes wrong."""
    channel = network.channel
    shared = channel.contended
    policy = replace(
        network.protocol.delivery_policy(),
        attempts=1 + channel.retransmissions,
        fresh=channel.resend == "fresh",
    )
    if shared is None:
        return policy
    request = shared.request_airtime
    return replace(
        policy,
        answer_ticks=to_ticks(shared.answer_airtime(network.answer_bytes)),
        request_ticks=None if request is None else to_ticks(request),
    )
