"""Notes of what owners are at, taken where their durations are drawn and where they transmit."""

from collections.abc import Callable, Iterator

from asyncdp_sim.core.kernel import Kernel, Waiting
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.channels.air import Fate, Port
from asyncdp_sim.network.latency import MESSAGES
from asyncdp_sim.network.owner import Owner
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
        if owner.compute is not None:
            owner.compute = self.waiting(owner.number, State.computing, owner.compute)
        if owner.query is not None:
            self._spells.travelling.add(owner.number)
        for name in MESSAGES:
            ticks = getattr(owner, name)
            over_channel = name == "answer" and self._network.channel.contended is not None
            if ticks is not None and not over_channel:  # there its latency is way alone
                setattr(owner, name, self._travelling(owner.number, name, ticks))

    def port(self, owner: int, port: Port) -> Port:
        """Return an owner's access to a shared channel, with notes on it."""
        return _NotedPort(self, owner, port)

    def waiting(self, owner: int, state: State, durations: Iterator[int]) -> Iterator[int]:
        """Yield durations in which an owner is in a state, from when they are drawn, noted."""
        for ticks in durations:
            self.spell(owner, state, self.tick, ticks)
            yield ticks

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


class _NotedPort:
    """Access to a shared channel: its owner listens until it sends."""

    def __init__(self, notes: OccupationNotes, owner: int, port: Port) -> None:
        self._notes = notes
        self._owner = owner
        self._port = port

    def transmit(
        self, ticks: int, begun: Callable[[], bool], deferred: Callable[[], None]
    ) -> Waiting[Fate]:
        """Do as the port does, and note when it began to send and when it ended."""
        notes, owner = self._notes, self._owner
        spell = notes.begin(owner, State.listening)

        def begins() -> bool:
            nonlocal spell
            sends = begun()
            if sends:
                notes.end(spell)
                spell = notes.begin(owner, State.sending)
            return sends

        fate = yield from self._port.transmit(ticks, begins, deferred)
        notes.end(spell)
        return fate
