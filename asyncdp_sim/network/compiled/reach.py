"""Reach of the compiled loop: the networks that it knows, and when it pays."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from asyncdp_sim.network.channels.kind import MESSAGES, ChannelKind
from asyncdp_sim.network.compiled.states import swappable
from asyncdp_sim.network.latency import acknowledged, laws_of
from asyncdp_sim.network.laws import LawKind
from asyncdp_sim.network.protocols.kind import ProtocolKind
from asyncdp_sim.network.spec import Network
from asyncdp_sim.spec import Kind

READY = 160_000
"""Answers that take the event loop longer than numba and the compiled one take to be read."""
NEW = 2_500_000
"""Answers that take it longer than the compiled one takes to be compiled."""
_OWNER = 8
"""Answers that take the event loop as long as it takes to make an owner."""


def covers(network: Network) -> bool:
    """Return whether the compiled loop knows all that a network may do.

    That are locked exchanges on an ideal channel, in the declared order, independent of any model,
    over links that do not fail, without acknowledgements, and without notes of what owners are at.
    """
    protocol, channel = network.protocol, network.channel
    if not (_is_repeated(protocol) and _is_repeated(channel)):
        return False
    if not protocol.one_each or channel.loss_acknowledgement != 0 or not _knows_losses(channel):
        return False
    if network.answers_once or network.withholds or network.stops or network.ties != "declared":
        return False
    if network.occupation:
        return False
    if acknowledged(network.latency.acknowledgement) or network.aggregation is not None:
        return False
    return (
        _knows_presence(network)
        and _knows_ways(network)
        and all(_knows(law) for law in _laws(network))
    )


def _is_repeated(kind: ChannelKind | ProtocolKind) -> bool:
    """Whether the loop repeats a kind's steps; a class derived from it may have its own."""
    return bool(vars(type(kind)).get("compiled", False))


def _knows_losses(channel: ChannelKind) -> bool:
    return all(len(channel.packet_loss(message).coefficients) > 0 for message in MESSAGES)


def _knows_presence(network: Network) -> bool:
    presence = network.availability
    by_chance = presence.chances(network.n_owners) is not None
    known = presence.always_online or by_chance or presence.alternation is not None
    known |= presence.together is not None
    if network.superposed:  # who is online is worked out in another way then
        known = presence.always_online
    return known and _is_ours(presence) and _is_ours(network.clock)


def _knows_ways(network: Network) -> bool:
    """Whether distances stay as they are, for no link fails."""
    topology = network.topology
    if topology is None:
        return True
    return topology.failures is None and not network.superposed and _is_ours(topology)


def _laws(network: Network) -> list[LawKind | None]:
    """Return every law that the loop would draw from; None stands for one that is not known."""
    latency, renewals = network.latency, network.clock.renewals()
    found: list[LawKind | None] = [law for law, _ in renewals]
    if len(found) == 0 and not network.superposed:
        found.append(None)
    for stage in (latency.request, latency.query, network.compute, latency.answer):
        found += laws_of(stage, 1)
    if network.protocol.wait_to_ask_again is not None:
        found.append(network.protocol.wait_to_ask_again)
    alternation, together = network.availability.alternation, network.availability.together
    if alternation is not None:
        found += [alternation.on, alternation.off]
    if together is not None:
        found += [together.gap, together.length]
    return found


def _knows(law: LawKind | None) -> bool:
    if law is None or not _is_ours(law):
        return False
    return law.instant or law.constant or law.distribution is not None


def _is_ours(kind: Kind) -> bool:
    """Whether a kind is of this package: one from outside may draw in a way of its own."""
    return type(kind).__module__.startswith(f"{__name__.partition('.')[0]}.")


def worthwhile(network: Network, replicates: int) -> bool:
    """Return whether the compiled loop pays for so many replicates, and can be had."""
    answers = network.updates * (network.answers_per_update or 1)
    answers = replicates * (answers + _OWNER * network.n_owners)
    if answers < READY or find_spec("numba") is None or not covers(network):
        return False
    return swappable() and (answers >= NEW or _is_compiled())


def _is_compiled() -> bool:
    """Return whether the loop was compiled before, here or by a former process."""
    from asyncdp_sim.network.compiled.steps import loop  # reads numba, which takes a part of READY

    compiled: Any = loop.run
    if len(compiled.signatures) > 0:
        return True
    source = Path(loop.__file__)
    newest = max(file.stat().st_mtime for file in loop.sources())
    kept = Path(compiled.stats.cache_path or source.parent).glob(f"{source.stem}.*.nbi")
    return any(index.stat().st_mtime >= newest for index in kept)
