"""Uplink channels; a shared one joins by its name in :data:`SharedChannel`.

:class:`Parallel` stands here because its field holds any member of that register.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.specification import FAMILY, kind_of, members, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.validation import show
from asyncdp_sim.network.channels.aloha import Aloha, Bottleneck, SlottedAloha, Tdma
from asyncdp_sim.network.channels.csma import Csma, Dcf
from asyncdp_sim.network.channels.kind import Backoff, ChannelKind, Contended, Ideal, Medium, Port
from asyncdp_sim.network.laws import uniforms

SharedChannel = Aloha | SlottedAloha | Csma | Dcf | Tdma | Bottleneck
"""Every shared channel; a new one joins by its name here, and may then be one of several too."""


class Parallel(ChannelKind):
    """K channels that do not disturb each other.

    An answer is sent over one of them: drawn for each transmission, or (i − 1) mod K for owner i.
    """

    label = "parallel channels"
    exclusive = trait(lambda self: self.channels == 1 and self.each.exclusive)

    kind: Literal["parallel"] = "parallel"
    channels: Annotated[int, Field(ge=1, le=10**4)]
    each: Annotated[SharedChannel, FAMILY]
    choice: Literal["random", "by-owner"] = "random"

    @override
    def own_faults(self) -> Iterator[Fault]:
        if not isinstance(self.each, Contended):  # a class from outside may be any channel
            rule = "allowed is a channel that answers share"
            yield Fault("each.kind", repr(self.each.kind), rule)
            return
        for name, field in ChannelKind.model_fields.items():
            if (value := getattr(self.each, name)) != field.default:
                rule = "not allowed here: set it once, next to channels"
                yield Fault(f"each.{name}", show(value), rule)

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
        inner = self.each.faults(n_owners)  # of which keys begin with "channel."
        below = [
            replace(fault, key=fault.key.replace("channel.", "channel.each.", 1)) for fault in inner
        ]
        return super().faults(n_owners) + below

    @override
    def faults_of_airtime(self, airtime: float) -> list[Fault]:
        return [fault.under("each") for fault in self.each.faults_of_airtime(airtime)]


class ParallelMedium(Medium):
    """Independent channels at work in one replicate."""

    def __init__(self, media: Sequence[Medium], streams: Scope, random: bool) -> None:
        super().__init__(*(air for medium in media for air in medium.airs))
        self._media = media
        self._streams = streams
        self._random = random

    @override
    def port(self, owner: int) -> Port:
        if not self._random:
            return self._media[(owner - 1) % len(self._media)].port(owner)
        source = partial(self._streams.generator, "owner", owner, "channel")
        ports, draws = [medium.port(owner) for medium in self._media], uniforms(source)
        # each transmission draws one of the channels
        return lambda ticks, begins, put_off: ports[int(next(draws) * len(ports))](
            ticks, begins, put_off
        )


Channel = Annotated[Ideal | SharedChannel | Parallel, FAMILY]
"""Every channel."""


def label_of(kind: str) -> str:
    """Return the name in figures of a kind of channel; of an unknown kind, the kind itself."""
    kinds = (member for member in members(Channel) if issubclass(member, ChannelKind))
    return {kind_of(member): member.label for member in kinds}.get(kind, kind)
