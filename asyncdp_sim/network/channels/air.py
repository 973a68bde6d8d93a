"""The air of one shared channel: transmissions that overlap, and what each station receives."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from asyncdp_sim.core.kernel import (
    ANSWER_END,
    TRANSMISSION_BEGINS,
    Kernel,
    Moment,
    OfEvents,
    Signal,
    Waiting,
)


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
