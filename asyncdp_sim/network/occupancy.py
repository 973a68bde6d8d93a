"""Notes of what owners are at, taken where their durations are drawn and where they transmit."""

from collections.abc import Callable, Iterator

from typing_extensions import override

from asyncdp_sim.core.kernel import Activity, Kernel, Waiting
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.channels.air import Fate, Port
from asyncdp_sim.network.channels.kind import Backoff
from asyncdp_sim.network.latency import MESSAGES
from asyncdp_sim.network.owner import Owner, Processor
from asyncdp_sim.network.spec import Network
from asyncdp_sim.spec.base import own
from asyncdp_sim.trace.occupation import Spells, State

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
            owner.processor = _NotedProcessor(self, owner)
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
            spell = self.begin(owner, State.listening)

            def begins() -> bool:
                nonlocal spell
                sends = begun()
                if sends:
                    self.end(spell)
                    spell = self.begin(owner, State.sending)
                return sends

            fate = yield from port(ticks, begins, deferred)
            self.end(spell)
            return fate

        return transmit

    def backoff(self, owner: int, waits: Backoff | None) -> Backoff | None:
        """Return an owner's waits for the channel, with notes: it listens meanwhile."""
        if waits is None:
            return None

        def wait(attempts: int) -> int:
            ticks = waits(attempts)
            self.spell(owner, State.listening, self.tick, ticks)
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
        heard = self.airtime(owner, asking, there_ticks)
        self.spell(owner, State.receiving, self.tick + there_ticks - heard, heard)
        self.spell(
            owner, State.sending, self.tick + there_ticks, self.airtime(owner, opening, back)
        )
        self._spells.openings[owner] += 1

    def airtime(self, owner: int, size: int, travel: int) -> int:
        """Return how much of a message's travel its sending, or its reception, takes, in ticks.

        Its bytes over the rate of the owner's line; all of it where no rate is known.
        """
        rate = self._rate(owner)
        return travel if rate is None else min(travel, to_ticks(size / rate))

    def _rate(self, owner: int) -> float | None:
        rate = self._network.latency.rate_bytes
        return None if rate is None else own(rate, owner - 1)

    def spell(self, owner: int, state: State, start: int, ticks: int) -> None:
        """Note a spell that lasts so long."""
        self._spells.note(owner, state, start, start + ticks)

    def begin(self, owner: int, state: State) -> int:
        """Note that a spell begins now; return its number."""
        return self._spells.begin(owner, state, self.tick)

    def end(self, spell: int) -> None:
        """Note that a spell ends now."""
        self._spells.end(spell, self.tick)

    @property
    def tick(self) -> int:
        """The current tick."""
        return self.kernel.tick

    def _over_channel(self, name: str) -> bool:
        """Return whether a message is sent over a shared channel, whose latency is way alone."""
        shared = self._network.channel.contended
        by_request = shared is not None and shared.request_airtime is not None
        return shared is not None and (name == "answer" or (name == "request" and by_request))

    def _working(self, owner: int, durations: Iterator[int]) -> Iterator[int]:
        for ticks in durations:
            self.spell(owner, State.computing, self.tick, ticks)
            yield ticks

    def _travelling(self, owner: int, name: str, durations: Iterator[int]) -> Iterator[int]:
        size, mine = self._network.message_bytes(name), name in SENT
        for ticks in durations:
            lasts = self.airtime(owner, size, ticks)
            if mine:
                self.spell(owner, State.sending, self.tick, lasts)
            else:
                self.spell(owner, State.receiving, self.tick + ticks - lasts, lasts)
            if name == "acknowledgement":
                self._spells.acknowledged.append((owner, self.tick + ticks))
            yield ticks


class _NotedProcessor(Processor):
    """A processor whose owner computes while it has any job."""

    def __init__(self, notes: OccupationNotes, owner: Owner) -> None:
        super().__init__(notes.kernel)
        self._notes = notes
        self._owner = owner.number

    @override
    def work(self, ticks: int) -> Activity:
        spell = self._notes.begin(self._owner, State.computing)
        yield from super().work(ticks)
        self._notes.end(spell)
