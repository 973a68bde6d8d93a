"""Several independent channels of one kind side by side."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.faults import faults_of, show
from asyncdp_sim.kernel import Kernel, Waiting
from asyncdp_sim.network.channels.air import Air, Fate, Medium, Port
from asyncdp_sim.network.channels.aloha import Aloha
from asyncdp_sim.network.channels.contended import Contended, Uplink
from asyncdp_sim.network.channels.csma import Csma
from asyncdp_sim.network.channels.slotted_aloha import SlottedAloha
from asyncdp_sim.network.channels.tdma import Tdma
from asyncdp_sim.network.draws import uniforms
from asyncdp_sim.streams import Scope

Each = Annotated[Aloha | SlottedAloha | Csma | Tdma, FAMILY]


class Parallel(Uplink):
    """K channels that do not disturb each other.

    Attributes
    ----------
    channels : int
        K ≥ 1.
    each : channel
        What each of them is; losses and retransmissions are set once, outside of it.
    choice : str
        Every transmission goes to a channel chosen at random, independently ("random"), or owner
        i always uses channel (i − 1) mod K + 1 ("by-owner").
    """

    kind: Literal["parallel"] = "parallel"
    channels: Annotated[int, Field(ge=1, le=10**4)]
    each: Each
    choice: Literal["random", "by-owner"] = "random"

    @model_validator(mode="after")
    def _set_once(self) -> Self:
        allowed = "allowed is nothing here: set it once, beside channels"
        found = [
            Fault(f"each.{name}", show(getattr(self.each, name)), allowed)
            for name in Uplink.model_fields
            if getattr(self.each, name) != Uplink.model_fields[name].default
        ]
        if len(found) > 0:
            raise faults_of(found)
        return self

    @property
    def contended(self) -> Contended:
        """What each channel is."""
        return self.each

    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> "ParallelMedium":
        """Return the channels of one replicate."""
        numbers = range(1, self.channels + 1)
        media = [self.each.open(kernel, streams.within("channel", k), n_owners) for k in numbers]
        return ParallelMedium(media, streams, self.choice == "random")

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        inner = [
            Fault(fault.key.replace("channel.", "channel.each.", 1), fault.given, fault.allowed)
            for fault in self.each.faults(n_owners)
        ]
        return super().faults(n_owners) + inner


class ParallelMedium:
    """Independent channels at work in one replicate."""

    def __init__(self, media: Sequence[Medium], streams: Scope, random: bool) -> None:
        self._media = media
        self._streams = streams
        self._random = random

    def port(self, owner: int) -> Port:
        """Return the access of an owner."""
        if not self._random:
            return self._media[(owner - 1) % len(self._media)].port(owner)
        source = partial(self._streams.generator, "owner", owner, "channel")
        return ParallelPort([medium.port(owner) for medium in self._media], uniforms(source))

    def on_air_ticks(self, end_tick: int) -> int:
        """Return the total duration of all transmissions, on all channels."""
        return sum(medium.on_air_ticks(end_tick) for medium in self._media)

    @property
    def airs(self) -> tuple[Air, ...]:
        """All channels."""
        return tuple(air for medium in self._media for air in medium.airs)


class ParallelPort:
    """An owner that chooses a channel for every transmission."""

    def __init__(self, ports: Sequence[Port], draws: Iterator[float]) -> None:
        self._ports = ports
        self._draws = draws

    def transmit(
        self, ticks: int, begun: Callable[[], bool], deferred: Callable[[], None]
    ) -> Waiting[Fate]:
        """Choose, then do as that channel does."""
        port = self._ports[int(next(self._draws) * len(self._ports))]
        return (yield from port.transmit(ticks, begun, deferred))
