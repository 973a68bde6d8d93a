"""Several independent channels of one kind side by side."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import fsum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.faults import faults_of, show
from asyncdp_sim.kernel import Kernel, Waiting
from asyncdp_sim.network.channels.air import Air, Fate, Medium, Port
from asyncdp_sim.network.channels.backoff import Backoff
from asyncdp_sim.network.channels.contended import Contended
from asyncdp_sim.network.channels.kind import ChannelKind
from asyncdp_sim.network.channels.load import Load
from asyncdp_sim.network.channels.shared import SharedChannel
from asyncdp_sim.network.laws.drawn import uniforms
from asyncdp_sim.spec import about
from asyncdp_sim.streams import Scope
from asyncdp_sim.theory.formulas.channels.random_access import RandomAccess
from asyncdp_sim.theory.prediction import Unknown


class Parallel(ChannelKind):
    """K channels that do not disturb each other."""

    label = "parallel channels"

    kind: Literal["parallel"] = "parallel"
    channels: Annotated[
        int, Field(ge=1, le=10**4), about("K: how many channels there are", "channels")
    ]
    each: Annotated[
        SharedChannel,
        FAMILY,
        about("What each of them is; losses and retransmissions are set once, outside of it"),
    ]
    choice: Annotated[
        Literal["random", "by-owner"],
        about(
            "A channel at random for every transmission, or always channel (i − 1) mod K + 1 for "
            "owner i"
        ),
    ] = "random"

    @model_validator(mode="after")
    def _set_once(self) -> Self:
        if self.each.contended is not self.each:  # one from outside, that is not contended for
            allowed = "allowed is a channel that answers share"
            raise faults_of([Fault("each.kind", repr(self.each.kind), allowed)])
        allowed = "allowed is nothing here: set it once, beside channels"
        found = [
            Fault(f"each.{name}", show(getattr(self.each, name)), allowed)
            for name, field in ChannelKind.model_fields.items()
            if getattr(self.each, name) != field.default
        ]
        if len(found) > 0:
            raise faults_of(found)
        return self

    @property
    @override
    def contended(self) -> Contended:
        return self.each

    @override
    def open(self, kernel: Kernel, streams: Scope, n_owners: int) -> "ParallelMedium":
        numbers = range(1, self.channels + 1)
        media = [self.each.open(kernel, streams.within("channel", k), n_owners) for k in numbers]
        return ParallelMedium(media, streams, self.choice == "random")

    @override
    def waits(self, own: Scope, purpose: str) -> Backoff | None:
        return self.each.waits(own, purpose)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        inner = [
            Fault(fault.key.replace("channel.", "channel.each.", 1), fault.given, fault.allowed)
            for fault in self.each.faults(n_owners)
        ]
        return super().faults(n_owners) + inner

    @override
    def faults_of_airtime(self, airtime: float) -> list[Fault]:
        return [fault.under("each") for fault in self.each.faults_of_airtime(airtime)]

    @property
    @override
    def exclusive(self) -> bool:
        return self.channels == 1 and self.each.exclusive

    @property
    @override
    def forgets_owners(self) -> bool:
        return self.channels == 1 and self.each.forgets_owners

    @override
    def setting(self, airtime: float) -> str:
        one = self.each.setting(airtime)
        return f"{self.channels} channels" + (f", {one}" if one else "")

    @override
    def spread_alike(self) -> Self:
        return self.model_copy(update={"choice": "random"})

    @override
    def dependence(self, *, overlap: bool) -> str:
        if overlap and self.channels > 1 and self.choice == "by-owner":
            return "owners have channels of their own"
        return super().dependence(overlap=overlap)

    @override
    def access(self, load: Load) -> RandomAccess | Unknown:
        if self.each.in_turn:  # and so on each of the channels, whichever it is
            return self.each.access(load)
        doubt = self.each.doubt(load)
        found = Unknown(doubt) if doubt else self._parts(load)
        return found if isinstance(found, Unknown) else self._together(found)

    def _parts(self, load: Load) -> dict[Load, int] | Unknown:
        """Return the loads of the channels, with how many have each, or why they are not known."""
        if self.choice == "random" and self.channels > 1:
            if not load.overlap:
                return Unknown(
                    "owners choose among channels at random, which is known for overlapping jobs"
                )
            return {replace(load, choices=self.channels): self.channels}
        firsts = range(min(self.channels, load.n_owners))
        groups = (load.rates[first :: self.channels] for first in firsts)
        return Counter(replace(load, n_owners=len(own), rates=own) for own in groups)

    def _together(self, parts: dict[Load, int]) -> RandomAccess | Unknown:
        begun, survived = [], []
        for part, count in parts.items():
            found = self.each.access(part)
            if isinstance(found, Unknown):
                return found
            begun.append(count * found.attempt_rate)
            survived.append(count * found.success_rate)
        return RandomAccess.of(fsum(survived) / fsum(begun), fsum(begun))

    @override
    def mean_staleness(self, load: Load) -> float | Unknown | None:
        return self.each.mean_staleness(load) if self.each.in_turn else None


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
