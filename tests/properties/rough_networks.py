"""Random networks where messages wait, collide and are lost: channels × losses × protocols."""

from functools import cache, partial
from typing import Any

from hypothesis import strategies as st

from asyncdp_sim.network import Latency, Network
from asyncdp_sim.network.availability import Always
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.channels.kind import ChannelKind
from asyncdp_sim.network.latency import Payload
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.network.topology import Topology
from asyncdp_sim.spec import Kind, members
from tests.properties.networks import LAWS, PERIODS, availabilities, clocks, domain, possible
from tests.properties.variants import variants

Fields = dict[str, Any]

NEVER, ALWAYS = st.just(False), st.just(True)
SHARES = st.sampled_from([0.1, 0.0, 0.5])
BURSTS = st.sampled_from(
    [
        {"to_bad": 0.1, "to_good": 0.5},
        {"to_bad": 0.5, "to_good": 0.5, "loss_good": 0.1, "loss_bad": 0.8},
    ]
)


@cache
def laws(n: int) -> st.SearchStrategy[Any]:
    """One law for all, or one for each owner."""
    return LAWS | st.lists(LAWS, min_size=n, max_size=n).map(tuple)


@cache
def losses(n: int) -> st.SearchStrategy[Any]:
    each = st.lists(SHARES | st.just(1.0), min_size=n, max_size=n).filter(lambda v: min(v) < 1)
    return SHARES | BURSTS | each


@cache
def uplinks(n: int) -> st.SearchStrategy[Fields]:
    """What every channel has."""
    always = {
        "loss": losses(n),
        "retransmissions": st.sampled_from([1, 0, 3]),
        "resend": st.sampled_from(["fresh", "same"]),
    }
    others = ("loss_query", "loss_request", "loss_acknowledgement")
    return st.fixed_dictionaries(always, optional={name: losses(n) for name in others})


UPLINK = frozenset(ChannelKind.model_fields)


@st.composite
def channels(draw: st.DrawFn, n: int) -> Channel:
    """A channel of the union, or a variant of one."""
    channel = draw(st.sampled_from(kinds(n)).flatmap(st.sampled_from))
    return type(channel)(**{**dict(channel), **draw(uplinks(n))})


@cache
def kinds(n: int) -> list[list[Kind]]:
    """The channels of each kind."""
    return [variants(member, UPLINK, partial(fits, n)) for member in members(Channel)]


def fits(n: int, channel: ChannelKind) -> bool:
    """Whether a channel has no faults, and is free again before the next query to all."""
    shared = channel.contended
    return len(channel.faults(n)) == 0 and (shared is None or shared.answer_airtime(48) <= 0.25)


@st.composite
def protocols(draw: st.DrawFn, n: int, least: float, in_rounds: bool) -> Protocol:
    """A protocol that stands losses, and waits for answers long enough for some to arrive."""

    def wanted(member: type[Any]) -> bool:
        return not member.loses_nothing and member.update_of == ("round" if in_rounds else "answer")

    return domain(draw, n, (least + 0.05, least + 0.5, 0.7), PERIODS).of(Protocol, wanted)


@st.composite
def topologies(draw: st.DrawFn, n: int) -> Topology | None:
    if draw(st.booleans()):
        return None
    return domain(draw, n, (0.25, 0.0, 0.01, 1.0, 2.0), PERIODS).of(Topology)


@st.composite
def rough_networks(draw: st.DrawFn, synchronous: st.SearchStrategy[bool] = NEVER) -> Network:
    """Draw a network, in rounds if synchronous; every run ends at its horizon at the latest."""
    n = draw(st.integers(1, 4))
    in_rounds = draw(synchronous)
    channel = draw(channels(n))
    stages: Fields = {
        name: draw(laws(n)) for name in ("request", "query", "answer", "acknowledgement")
    }
    compute = draw(laws(n))
    if in_rounds and isinstance(channel.loss_query, tuple):  # an owner that is never reached
        channel = channel.model_copy(update={"loss_query": 0.5})
    if in_rounds and channel.contended is not None and channel.contended.carrier_sense:
        stages["query"] = Constant(value=0.25)  # or they listen again and again at one tick
    least = _least(n, channel, stages, compute)
    if draw(st.booleans()):
        stages["rate_bytes"] = draw(st.sampled_from([480.0, (4800.0,) * n]))
    return possible(
        answers_allowed=draw(st.lists(st.sampled_from([9, 3, 1, 20]), min_size=n, max_size=n)),
        updates=draw(st.sampled_from([30, 8, 1])),
        answers_per_update=None if in_rounds else 1,
        until=draw(st.sampled_from([6.0, 2.0])),
        ties=draw(st.sampled_from(["declared", "shuffled"])),
        clock=draw(clocks(n)),
        availability=draw(st.just(Always()) | availabilities(n)),
        channel=channel,
        latency=Latency(**stages),
        payload=Payload(),
        topology=draw(topologies(n)),
        compute=compute,
        protocol=draw(protocols(n, least, in_rounds)),
    )


def _least(n: int, channel: Channel, stages: Fields, compute: Any) -> float:
    """The time that an answer takes at least, so that a timeout is not hopeless."""
    shared = channel.contended
    airtime = 0.0 if shared is None else shared.answer_airtime(48)

    def least(laws: Any, owner: int) -> float:
        return (laws[owner] if isinstance(laws, tuple) else laws).least

    parts = (stages["query"], compute, stages["answer"])
    return airtime + min(sum(least(part, owner) for part in parts) for owner in range(n))
