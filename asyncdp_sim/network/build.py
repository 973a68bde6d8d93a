"""The owners of a network: their streams, durations, processors and links, and notes on them."""

from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass
from functools import partial
from itertools import repeat
from typing import Any

from typing_extensions import override

from asyncdp_sim.core.kernel import Activity, Kernel, Processor, Waiting
from asyncdp_sim.core.specification import own
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.channels.kind import Backoff, Fate, Medium, Port
from asyncdp_sim.network.laws import LawKind
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import MESSAGES, DeliveryPolicy, Durations, Link, Owner, SureLink
from asyncdp_sim.network.spec import Laws, Network
from asyncdp_sim.network.sums import Trips
from asyncdp_sim.trace.recorder import Spells
from asyncdp_sim.trace.vocabulary import State

SENT = ("request", "answer")
"""Messages that owners send; they receive the others."""


class OccupationNotes:
    """Takes notes on the owners of a replicate, and changes nothing of what they do.

    A duration begins at the tick at which it is drawn.

    Parameters
    ----------
    kernel : Kernel
        Tells the tick.
    spells : Spells
        Keeps the notes.
    network : Network
    """

    def __init__(self, kernel: Kernel, spells: Spells, network: Network) -> None:
        self.kernel = kernel
        self._spells = spells
        self._network = network

    def watch(self, owner: Owner) -> None:
        """Take notes on an owner's work and messages."""
        if owner.processor is not None:
            owner.processor = _NotedProcessor(self.kernel, self._spells, owner.number)
        elif owner.compute is not None:
            owner.compute = self._working(owner.number, owner.compute)
        if owner.query is not None:
            self._spells.travelling.add(owner.number)
        for name in MESSAGES:
            ticks = getattr(owner, name)
            if ticks is not None and not self._over_channel(name):
                setattr(owner, name, self._travelling(owner.number, name, ticks))

    def port(self, owner: int, port: Port) -> Port:
        """Return an owner's access to a shared channel, with notes: it listens until it sends."""

        def transmit(
            ticks: int, begun: Callable[[], bool], deferred: Callable[[], None]
        ) -> Waiting[Fate]:
            spell = self._spells.begin(owner, State.listening)

            def begins() -> bool:
                nonlocal spell
                sends = begun()
                if sends:
                    self._spells.end(spell)
                    spell = self._spells.begin(owner, State.sending)
                return sends

            fate = yield from port(ticks, begins, deferred)
            self._spells.end(spell)
            return fate

        return transmit

    def backoff(self, owner: int, waits: Backoff | None) -> Backoff | None:
        """Return an owner's waits for the channel, with notes: it listens meanwhile."""
        if waits is None:
            return None

        def wait(attempts: int) -> int:
            ticks = waits(attempts)
            self._spells.note(owner, State.listening, self.kernel.tick, ticks)
            return ticks

        return wait

    def opening(self, owner: int, trip: int, back: int) -> None:
        """Note a trip by which an owner helps to open a sum: it is asked, and then sends.

        Parameters
        ----------
        trip, back : int
            Ticks of the whole trip, and of the way back without its bytes.
        """
        asking, opening = self._network.opening_bytes
        back += 0 if self._rate(owner) is None else self.airtime(owner, opening, trip)
        there_ticks = trip - back
        receiving, arrival = (
            self.airtime(owner, asking, there_ticks),
            self.kernel.tick + there_ticks,
        )
        self._spells.note(owner, State.receiving, arrival - receiving, receiving)
        self._spells.note(owner, State.sending, arrival, self.airtime(owner, opening, back))
        self._spells.openings[owner] += 1

    def airtime(self, owner: int, size: int, travel: int) -> int:
        """Return how much of a message's travel its sending, or its reception, takes, in ticks.

        Its bytes over the rate of the owner's line; all of it where no rate is known.
        """
        rate = self._rate(owner)
        return travel if rate is None else min(travel, to_ticks(size / rate))

    def _rate(self, owner: int) -> float | None:
        """Return the bytes per time unit of an owner's line, if they are known."""
        rate = self._network.latency.rate_bytes
        return None if rate is None else own(rate, owner - 1)

    def _over_channel(self, name: str) -> bool:
        """Return whether a message is sent over a shared channel, whose latency is way alone."""
        shared = self._network.channel.contended
        by_request = shared is not None and shared.request_airtime is not None
        return shared is not None and (name == "answer" or (name == "request" and by_request))

    def _working(self, owner: int, durations: Iterator[int]) -> Iterator[int]:
        """Yield durations of work in ticks, and note each."""
        for ticks in durations:
            self._spells.note(owner, State.computing, self.kernel.tick, ticks)
            yield ticks

    def _travelling(self, owner: int, name: str, durations: Iterator[int]) -> Iterator[int]:
        """Yield durations of a message's travel in ticks, and note when it is sent or received."""
        size = self._network.message_bytes(name)
        for ticks in durations:
            lasts = self.airtime(owner, size, ticks)
            if name in SENT:
                self._spells.note(owner, State.sending, self.kernel.tick, lasts)
            else:
                self._spells.note(owner, State.receiving, self.kernel.tick + ticks - lasts, lasts)
            if name == "acknowledgement":
                self._spells.acknowledged.append((owner, self.kernel.tick + ticks))
            yield ticks


class _NotedProcessor(Processor):
    """A processor whose owner computes while it has any job."""

    def __init__(self, kernel: Kernel, spells: Spells, owner: int) -> None:
        super().__init__(kernel)
        self._spells = spells
        self._owner = owner

    @override
    def work(self, ticks: int) -> Activity:
        spell = self._spells.begin(self._owner, State.computing)
        yield from super().work(ticks)
        self._spells.end(spell)


@dataclass(eq=False)
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
        Records the states of owners (sending, computing, …), where the network asks for it.
    """

    _network: Network
    _learner: Learner
    _medium: Medium | None
    _streams: Scope
    shared: InitVar[bool] = False
    _notes: OccupationNotes | None = None

    def __post_init__(self, shared: bool) -> None:
        self.policy = policy_of(self._network)
        self._known: dict[int, Owner] | None = {} if shared else None
        self._stages = _stages(self._network)
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
                    setattr(owner, name, _with_distance(owner, durations.get(name)))
        if self._network.protocol.shares_work:
            owner.processor = Processor(self._learner.kernel)
        if self._notes is not None:
            self._notes.watch(owner)
        if self.policy.sure:  # such a link has no state that an owner made again would lack
            owner.link = SureLink(owner, self._learner, self.policy)
            return owner
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

    def trips(self, owner: Owner, step: str) -> Trips:
        """Yield an owner's trips of a step by which sums are prepared or opened, without end.

        Each is its ticks there, its ticks back, and whether one of its messages is lost.
        """
        network, place = self._network, owner.number - 1
        streams = self._streams.within("owner", owner.number, step)
        size, rate = block(network.n_owners), network.latency.rate_bytes
        ticks_of_bytes = ticks_of_query = 0
        if rate is not None:
            query_bytes, reply_bytes = network.trip_bytes[step]
            ticks_of_bytes = to_ticks((query_bytes + reply_bytes) / own(rate, place))
            ticks_of_query = to_ticks(query_bytes / own(rate, place))
        laws = {"query": network.latency.query, "answer": network.latency.answer}
        drawn = [
            own(law, place).durations(partial(streams.generator, name), size)
            for name, law in laws.items()
        ]
        losses = list(self._losses_of_trips(owner.number, streams))
        ways_there, ways_back = (repeat(0) if ticks is None else ticks for ticks in drawn)
        for way_there, way_back in zip(ways_there, ways_back, strict=False):  # neither ends
            trip = way_there + way_back + ticks_of_bytes + 2 * owner.distance
            if self._notes is not None:
                self._notes.opening(owner.number, trip, way_back + owner.distance)
            there = way_there + ticks_of_query + owner.distance
            yield there, trip - there, any([next(lost) for lost in losses])

    def _losses_of_trips(self, number: int, streams: Scope) -> Iterator[Iterator[bool]]:
        """Yield which messages of a step are lost, there and back, where any can be."""
        sums = self._network.aggregation
        for name in ("query", "answer"):
            law = self._network.channel.packet_loss(name)
            lost = law.draws(partial(streams.generator, "loss", name), number - 1)
            if lost is not None and sums is not None and sums.absent_at is not None:
                yield lost

    def _link(self, owner: Owner) -> Link:
        """Return an owner's link, with the losses of its messages and its access to the channel."""
        streams, channel = self._streams.within("owner", owner.number), self._network.channel
        losses = {}
        for name in MESSAGES:
            law, source = channel.packet_loss(name), partial(streams.generator, "loss", name)
            losses[name] = law.draws(source, owner.number - 1)
        port = None if self._medium is None else self._medium.port(owner.number)
        waits = channel.waits(streams, "resend")
        if self._notes is not None:
            port = None if port is None else self._notes.port(owner.number, port)
            waits = self._notes.backoff(owner.number, waits)
        return Link(owner, self._learner, self.policy, losses, port, waits)


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


def _with_distance(owner: Owner, durations: Durations) -> Iterator[int]:
    """Yield durations with the owner's distance, as it is then, on top."""
    for ticks in repeat(0) if durations is None else durations:
        yield owner.distance + ticks


def policy_of(network: Network) -> DeliveryPolicy:
    """Return how owners of a network deal with losses, absences and delays."""
    protocol, channel, shared = network.protocol, network.channel, network.channel.contended
    waits, request = protocol.gives_up_after, None if shared is None else shared.request_airtime
    plain = shared is None and channel.lossless and waits is None and not protocol.vanishes
    return DeliveryPolicy(
        attempts=1 + channel.retransmissions,
        fresh=channel.resend == "fresh",
        timeout_ticks=None if waits is None else to_ticks(waits),
        vanishes=protocol.vanishes,
        locks=protocol.one_on_one,
        newest_only=protocol.newest_only,
        answer_ticks=None if network.airtime is None else to_ticks(network.airtime),
        request_ticks=None if request is None else to_ticks(request),
        sure=plain and not network.latency.acknowledges,
    )
