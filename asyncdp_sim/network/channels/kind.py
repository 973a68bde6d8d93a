"""Bases of channels and of the air that transmissions share; packet losses; the ideal channel.

Messages are lost on their way, independently or in bursts. A scenario writes a chance, one for each
owner, or a table of a chain, and no ``kind``: the form says which member it is.
:data:`PacketLosses` is the register.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from operator import gt
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import (
    ANSWER_END,
    TRANSMISSION_BEGINS,
    Kernel,
    Moment,
    OfEvents,
    Signal,
    Waiting,
)
from asyncdp_sim.core.specification import (
    EACH_OWNER,
    Duration,
    PerOwner,
    Plugin,
    Positive,
    Variant,
    own,
    per_owner,
    trait,
    wrong_length,
)
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.core.validation import TAGS
from asyncdp_sim.network.laws import Law, NoTime, Source, uniforms


class Fate(Enum):
    """The end of one attempt to transmit, as far as the channel is concerned."""

    clear = auto()
    """Nothing overlapped it, or it was stronger than all that did."""
    collided = auto()
    """Others overlapped it."""
    kept = auto()
    """It never began: the channel was busy, or the owner thought better of it."""


Port = Callable[[int, Callable[[], bool], Callable[[], None]], Waiting[Fate]]
"""One owner's access to a channel: it waits for access, transmits, and returns how that ended.

Called with the airtime (ticks, ≥ 1); with what is called when the transmission is about to begin,
which it does not if this returns False; and with what is called whenever the channel is found busy
and the attempt is put off or given up.
"""


@dataclass(eq=False, slots=True)
class Transmission:
    """One transmission: its half-open interval [start, end), and what overlaps it."""

    start: int
    end: int
    power: float
    clear: bool = True
    interference: float = 0.0
    over: Signal | None = None


class Air:
    """Keeps account of transmissions that overlap; every one of them is marked.

    Parameters
    ----------
    kernel : Kernel
    reach : int
        Ticks until a transmission is detected: [start + reach, end + reach) everywhere.
    cut : bool
        Whether a station that transmits stops when it detects another transmission.
    """

    def __init__(self, kernel: Kernel, reach: int = 0, *, cut: bool = False) -> None:
        self.kernel = kernel
        self._reach = reach
        self._cut = cut
        self._on: list[Transmission] = []
        self._tail: list[Transmission] = []
        self._waiting: list[Signal] = []
        self._ticks = 0

    def send(self, ticks: int, power: float = 1.0) -> OfEvents[Transmission]:
        """Transmit from now on; return the transmission when it is over."""
        now = self.kernel.tick
        mine = Transmission(now, now + ticks, power)
        for other in self._on:
            if other.end > now:  # what ends now has ended, whether or not its event has come
                other.clear = mine.clear = False
                other.interference += mine.power
                mine.interference += other.power
        self._on.append(mine)
        if self._cut:
            mine.over = Signal(self.kernel)
            self._end_at(mine, mine.end)
            self._cut_short(mine)
            yield mine.over
        else:
            yield Moment(self.kernel, mine.end, ANSWER_END)
        self._on.remove(mine)
        self._ticks += mine.end - mine.start
        if self._reach > 0:
            self._tail.append(mine)
        self._wake(mine.end + self._reach)
        return mine

    def attempt(self, ticks: int, begun: Callable[[], bool]) -> OfEvents[Fate]:
        """Transmit now, unless ``begun`` says no; every overlap destroys it."""
        if not begun():
            return Fate.kept
        sent = yield from self.send(ticks)
        return Fate.clear if sent.clear else Fate.collided

    def jam(self, ticks: int) -> OfEvents[None]:
        """Transmit now, too strongly for any other to survive it."""
        yield from self.send(ticks, math.inf)

    def busy(self) -> bool:
        """Return whether a station detects a transmission now, its own included."""
        now, reach = self.kernel.tick, self._reach
        self._tail = [t for t in self._tail if t.end + reach > now]
        for transmission in self._on:
            if transmission.start + reach <= now < transmission.end + reach:
                return True
        return any(t.start + reach <= now for t in self._tail)

    def idle(self) -> Moment | Signal:
        """Return the moment at which the transmissions detected now may be over."""
        now, reach = self.kernel.tick, self._reach
        if any(t.start + reach <= now < t.end for t in self._on):
            signal = Signal(self.kernel)
            self._waiting.append(signal)
            return signal
        heard = [t.end + reach for t in (*self._on, *self._tail) if t.start + reach <= now]
        return Moment(self.kernel, max(heard, default=now), TRANSMISSION_BEGINS)

    def on_air_ticks(self, end_tick: int) -> int:
        """Return the total duration of all transmissions up to ``end_tick``."""
        return self._ticks + sum(min(t.end, end_tick) - t.start for t in self._on)

    def _wake(self, tick: int) -> None:
        waiting, self._waiting = self._waiting, []
        for signal in waiting:
            signal.fire(tick, TRANSMISSION_BEGINS)

    def _end_at(self, transmission: Transmission, tick: int) -> None:
        def end(_: object) -> None:
            over = transmission.over
            if over is not None and transmission.end == tick:
                transmission.over = None
                over.fire(tick, ANSWER_END)

        moment = Moment(self.kernel, tick, ANSWER_END)
        moment.callbacks.append(end)

    def _cut_short(self, mine: Transmission) -> None:
        """Let stations that detect each other stop: the first signal at a station counts."""
        for other in self._on:
            if other is not mine and other.end > mine.start:
                self._stop(other, mine.start + self._reach)
                self._stop(mine, other.start + self._reach)

    def _stop(self, transmission: Transmission, tick: int) -> None:
        if tick < transmission.end:
            transmission.end = tick
            self._end_at(transmission, tick)


class Medium(ABC):
    """A channel at work in one replicate.

    Parameters
    ----------
    *airs : Air
        The channels that it consists of.
    """

    def __init__(self, *airs: Air) -> None:
        self.airs = airs

    @abstractmethod
    def port(self, owner: int) -> Port:
        """Return the access of an owner (from 1)."""

    def on_air_ticks(self, end_tick: int) -> int:
        """Return the total duration of all transmissions in a run that ended at this tick."""
        return sum(air.on_air_ticks(end_tick) for air in self.airs)


Probability = Annotated[float, Field(ge=0, le=1)]


class PacketLoss(Plugin):
    """A law by which messages of an owner are lost."""

    bursty: ClassVar[bool]
    """Losses of one owner's messages depend on one another."""

    written: ClassVar["WrittenLoss"]
    """The value by which a scenario states this law of losses."""

    @abstractmethod
    def shares(self, n_owners: int) -> tuple[float, ...]:
        """Return the long-run share of messages lost, per owner."""

    @abstractmethod
    def draws(self, source: Source, owner: int) -> Iterator[bool] | None:
        """Return for each message of an owner (from 0) whether it is lost; None if none ever is."""

    def faults(self, key: str, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return []


class IndependentLosses(PacketLoss):
    """Each message is lost on its own."""

    called = "independent"
    bursty = False

    probability: PerOwner[Probability]

    written = trait(lambda self: self.probability)

    @override
    def shares(self, n_owners: int) -> tuple[float, ...]:
        return per_owner(self.probability, n_owners)

    @override
    def draws(self, source: Source, owner: int) -> Iterator[bool] | None:
        probability = own(self.probability, owner)
        return map(partial(gt, probability), uniforms(source)) if probability > 0 else None

    @override
    def faults(self, key: str, n_owners: int) -> list[Fault]:
        return wrong_length(key, self.probability, n_owners)


class GilbertElliott(PacketLoss):
    """Bursts: a two-state chain that takes one step for each message of its owner.

    It starts from its stationary law, bad with probability to_bad/(to_bad + to_good) (Gilbert
    1960, Elliott 1963).
    """

    called = "gilbert-elliott"
    bursty = True

    to_bad: Annotated[float, Field(gt=0, le=1)]
    to_good: Annotated[float, Field(gt=0, le=1)]
    loss_good: Probability = 0.0
    loss_bad: Probability = 1.0

    written = trait(lambda self: self)

    @property
    def bad_share(self) -> float:
        """Share of messages sent in the bad state."""
        return self.to_bad / (self.to_bad + self.to_good)

    @property
    def mean(self) -> float:
        """Share of messages lost."""
        return self.loss_good + self.bad_share * (self.loss_bad - self.loss_good)

    @override
    def shares(self, n_owners: int) -> tuple[float, ...]:
        return (self.mean,) * n_owners

    @override
    def draws(self, source: Source, owner: int) -> Iterator[bool] | None:
        return self._steps(source) if self.mean > 0 else None

    def _steps(self, source: Source) -> Iterator[bool]:
        uniform = uniforms(source)
        bad = next(uniform) < self.bad_share
        while True:
            yield next(uniform) < (self.loss_bad if bad else self.loss_good)
            leave = next(uniform) < (self.to_good if bad else self.to_bad)
            bad = bad is not leave


PacketLosses = IndependentLosses | GilbertElliott
"""Every packet loss; a new one joins by its line here, and by its form in :data:`WrittenLoss`."""


def _shape(value: object) -> str:
    if isinstance(value, Mapping | PacketLoss):  # a table, or what was made of one
        return TAGS[3]
    return TAGS[1] if isinstance(value, list | tuple) else TAGS[0]


WrittenLoss = Annotated[
    Annotated[PerOwner[Probability], Tag(TAGS[0])]
    | Annotated[PerOwner[Probability], Tag(TAGS[1])]
    | Annotated[GilbertElliott, Tag(TAGS[3])],
    Discriminator(_shape),
    EACH_OWNER,
]
"""A probability, one for each owner, or a Gilbert–Elliott table: as a scenario writes them."""


MESSAGES = {
    "answer": "loss",
    "query": "loss_query",
    "request": "loss_request",
    "acknowledgement": "loss_acknowledgement",
}
"""Messages by their names, with the fields that say which of them are lost."""
Backoff = Callable[[int], int]
"""From the attempts made, m ≥ 1, to the ticks until the next: a draw times 2^min(m − 1, cap)."""


class ChannelKind(Variant):
    """An uplink channel: how answers, and what else uses it, get to the learner."""

    label: ClassVar[str]
    """Its name in a figure."""
    exclusive: ClassVar[bool] = False
    """Whether an answer that begins and survives was ready at that tick, and was alone."""

    loss: WrittenLoss = 0.0
    loss_query: WrittenLoss = 0.0
    loss_request: WrittenLoss = 0.0
    loss_acknowledgement: WrittenLoss = 0.0
    retransmissions: Annotated[int, Field(ge=0, le=2**15 - 2)] = 0  # events number 16-bit attempts
    resend: Literal["same", "fresh"] = "same"

    @abstractmethod
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> Medium | None:
        """Return the channel of one replicate; None where there is nothing to share."""

    @property
    def contended(self) -> "Contended | None":
        """The channel that transmissions share, if any."""
        return None

    def waits(self, own: Scope, purpose: str) -> Backoff | None:
        """Return an owner's waits before it tries again; None where it does not wait.

        Parameters
        ----------
        own : Scope
            The owner's random streams.
        purpose : str
            What it waits for, by which these draws have their own stream: ``deferral`` of a busy
            channel, or ``resend`` of a lost answer.
        """
        return None

    def packet_loss(self, message: str = "answer") -> PacketLoss:
        """Return which messages of a kind are lost."""
        loss = getattr(self, MESSAGES[message])
        if isinstance(loss, PacketLoss):
            return loss
        return IndependentLosses.model_construct(probability=loss)

    @property
    def lossless(self) -> bool:
        """Whether every message arrives that the channel itself does not destroy."""
        return all(getattr(self, field) == 0.0 for field in MESSAGES.values())

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners, with keys that begin with ``channel.``.

        It is checked with all parts of the network; ``own_faults`` with the channel's table alone.
        """
        faults: list[Fault] = []
        for message, field in MESSAGES.items():
            faults += self.packet_loss(message).faults(f"channel.{field}", n_owners)
        return faults

    def faults_of_airtime(self, airtime: float) -> list[Fault]:
        """Return why a message of this airtime (time units) cannot be sent, if it cannot.

        It is checked with the table of a channel that states its airtime, else with the network,
        once the size of an answer is known. Keys are those of fields of the channel.
        """
        return []


class Ideal(ChannelKind):
    """No airtime and no collisions; an answer's latency is the only delay."""

    label = "ideal"

    kind: Literal["ideal"] = "ideal"

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> None:
        return None


Airtime = Annotated[Duration, Field(ge=1e-9)]


class Contended(ChannelKind):
    """A shared channel on which a transmission takes time."""

    sends_at_once: ClassVar[bool]
    """An answer that is ready begins, whatever is on the air."""
    carrier_sense: ClassVar[bool]
    """Owners listen first: an answer may wait for others to end, or never begin."""
    slotted: ClassVar[bool]
    """Transmissions begin with slots."""
    in_turn: ClassVar[bool]
    """Every owner has slots of its own, so that no two owners collide."""
    lets_begin: ClassVar[bool] = trait(lambda self: not self.carrier_sense)
    """Whether every answer that is ready begins at last."""
    breaks_off: ClassVar[bool] = False
    """Whether a transmission may end before its airtime."""
    queues: ClassVar[bool] = False
    """Answers under way at a time share its speed, and none is destroyed."""

    airtime: Airtime | None = None
    rate_bytes: Positive | None = None
    request_airtime: Airtime | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        airtimes = [time for time in (self.airtime, self.request_airtime) if time is not None]
        if (self.airtime is None) == (self.rate_bytes is None):
            shown = "neither" if self.airtime is None else "both"
            yield Fault("airtime", shown, "allowed is one of airtime and rate_bytes")
        elif len(airtimes) > 0:
            yield from self.faults_of_airtime(max(airtimes))

    @property
    @override
    def contended(self) -> "Contended":
        return self

    def answer_airtime(self, answer_bytes: int) -> float:
        """Return the airtime of an answer (time units)."""
        if self.airtime is not None:
            return self.airtime
        return max(answer_bytes / (self.rate_bytes or math.inf), 1 / TICKS_PER_UNIT)


class Deferring(Contended):
    """A shared channel whose owners wait before they try again."""

    backoff: Law = NoTime()
    backoff_cap: Annotated[int, Field(ge=0, le=30)] = 0

    @override
    def waits(self, own: Scope, purpose: str) -> Backoff | None:
        draws = self.backoff.durations(partial(own.generator, "backoff", purpose), 16)
        cap = self.backoff_cap
        return None if draws is None else lambda attempts: next(draws) << min(attempts - 1, cap)
