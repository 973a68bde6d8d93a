"""Random networks where messages wait, collide and are lost: channels × losses × protocols."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from random import Random
from typing import Annotated, Any, Literal, get_args, get_origin

from hypothesis import strategies as st

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import Variant, kind_of, members
from asyncdp_sim.network import Latency, Network
from asyncdp_sim.network.availability import Always
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.channels.kind import ChannelKind, PacketLosses
from asyncdp_sim.network.laws import Constant, Law
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.network.spec import Payload
from asyncdp_sim.network.topology import Topology
from asyncdp_sim.scenario.fields import examples_of
from tests.conformance.members import examples
from tests.drawn import Domain
from tests.properties.networks import availability, clock, domain, law, seeded

Fields = dict[str, Any]

SHARES = (0.1, 0.0, 0.5, 1.0)


def stage(rng: Random, n: int) -> Any:
    """One law for all, or one for each owner."""
    return law(rng) if rng.random() < 0.5 else tuple(law(rng) for _ in range(n))


def losses(rng: Random, n: int) -> Any:
    """Any packet loss that cuts not all owners off, as a scenario writes it."""
    drawn = Domain(rng.choice, n, SHARES)
    while True:
        found = drawn.member(rng.choice(members(PacketLosses)))
        if found.faults("loss", n) == []:
            return found.written


def uplink(rng: Random, n: int) -> Fields:
    """What every channel has."""
    others = ("loss_query", "loss_request", "loss_acknowledgement")
    return {
        "loss": losses(rng, n),
        "retransmissions": rng.choice([1, 0, 3]),
        "resend": rng.choice(["fresh", "same"]),
        **{name: losses(rng, n) for name in others if rng.random() < 0.5},
    }


UPLINK = frozenset(ChannelKind.model_fields)


def channel(rng: Random, n: int) -> Channel:
    """A channel of the union, or a variant of one."""
    drawn = rng.choice(rng.choice(kinds(n)))
    return type(drawn)(**{**dict(drawn), **uplink(rng, n)})


@cache
def kinds(n: int) -> list[list[Variant]]:
    """The channels of each kind."""
    return [variants(member, UPLINK, partial(fits, n)) for member in members(Channel)]


def fits(n: int, channel: ChannelKind) -> bool:
    """Whether a channel has no faults, and is free again before the next query to all."""
    shared = channel.contended
    return len(channel.faults(n)) == 0 and (shared is None or shared.answer_airtime(48) <= 0.25)


def protocol(rng: Random, n: int, least: float, in_rounds: bool) -> Protocol:
    """A protocol that stands losses, and waits for answers long enough for some to arrive."""

    def wanted(member: type[Any]) -> bool:
        return member.update_of == ("round" if in_rounds else "answer")

    return domain(rng, n, (least + 0.05, least + 0.5, 0.7)).of(Protocol, wanted)


def topology(rng: Random, n: int) -> Topology | None:
    """No topology, as often as one."""
    return None if rng.random() < 0.5 else domain(rng, n, (0.25, 0.0, 0.01, 1.0, 2.0)).of(Topology)


def rough_network(rng: Random, synchronous: float = 0.0) -> Network:
    """Draw a network, in rounds with a probability; every run ends at its horizon at the latest."""
    n = rng.randint(1, 4)
    in_rounds = rng.random() < synchronous
    medium = channel(rng, n)
    stages: Fields = {
        name: stage(rng, n) for name in ("request", "query", "answer", "acknowledgement")
    }
    compute = stage(rng, n)
    if in_rounds and isinstance(medium.loss_query, tuple):  # an owner that is never reached
        medium = medium.model_copy(update={"loss_query": 0.5})
    if in_rounds and medium.contended is not None and medium.contended.carrier_sense:
        stages["query"] = Constant(value=0.25)  # or they listen again and again at one tick
    least = _least(n, medium, stages, compute)
    if rng.random() < 0.5:
        stages["rate_bytes"] = rng.choice([480.0, (4800.0,) * n])
    return Network(
        answers_allowed=[rng.choice([9, 3, 1, 20]) for _ in range(n)],
        updates=rng.choice([30, 8, 1]),
        answers_per_update=None if in_rounds else 1,
        until=rng.choice([6.0, 2.0]),
        ties=rng.choice(["declared", "shuffled"]),
        clock=clock(rng, n),
        availability=Always() if rng.random() < 0.5 else availability(rng, n),
        channel=medium,
        latency=Latency(**stages),
        payload=Payload(),
        topology=topology(rng, n),
        compute=compute,
        protocol=protocol(rng, n, least, in_rounds),
    )


def rough_networks(synchronous: float = 0.0) -> st.SearchStrategy[Network]:
    """Networks by seed, of which so many, as a share, go in rounds."""
    return seeded(rough_network, synchronous)


def _least(n: int, channel: Channel, stages: Fields, compute: Any) -> float:
    """The time that an answer takes at least, so that a timeout is not too short."""
    shared = channel.contended
    airtime = 0.0 if shared is None else shared.answer_airtime(48)

    def least(laws: Any, owner: int) -> float:
        return (laws[owner] if isinstance(laws, tuple) else laws).least

    parts = (stages["query"], compute, stages["answer"])
    return airtime + min(sum(least(part, owner) for part in parts) for owner in range(n))


# Members of a family beyond their own examples: with fields changed within their domains.

NUMBERS: dict[Any, list[Any]] = {
    bool: [False, True],
    int: [0, 1, 3],
    float: [0.0, 0.05, 0.125, 0.25, 0.5, 1.0, 3.0],
    type(None): [None],
}
"""Some are outside a field's domain: what a member refuses is no variant of it."""
TRIED = 40

Fits = Callable[[Variant], bool]


def variants(member: type[Variant], left: frozenset[str], fits: Fits) -> list[Variant]:
    """Return a member's examples without some fields, and what changing others makes of them.

    Fields change one by one, each time of an example or of what was found before.
    """
    rng = Random(kind_of(member))
    bare = [made(member, {k: v for k, v in spec if k not in left}) for spec in examples_of(member)]
    found = [spec for spec in bare if spec is not None and fits(spec)]
    domains = {
        name: values(field.annotation, left, fits)
        for name, field in member.model_fields.items()
        if name not in (*left, "kind")
    }
    domains = {name: tried for name, tried in domains.items() if len(tried) > 0}  # texts have none
    for _ in range(TRIED if len(domains) > 0 else 0):
        name = rng.choice(list(domains))
        value = rng.choice(domains[name])
        spec = made(member, {**dict(rng.choice(found)), name: value})
        if spec is not None and fits(spec) and spec not in found:
            found.append(spec)
    return found


def made(member: type[Variant], fields: dict[str, Any]) -> Variant | None:
    """Return the member with these fields; None if it refuses them."""
    try:
        return member(**fields)
    except SpecError:
        return None


def values(annotation: Any, left: frozenset[str], fits: Fits) -> list[Any]:
    """Return values of a field's type."""
    found: list[Any] = []
    for leaf in dict.fromkeys(leaves(annotation)):
        if get_origin(leaf) is Literal:
            found += get_args(leaf)
        elif leaf in members(Law):
            found += [law for law in examples(Law) if type(law) is leaf and law.mean > 0]
        elif leaf in NUMBERS:
            found += NUMBERS[leaf]
        elif isinstance(leaf, type) and issubclass(leaf, Variant):
            found += variants(leaf, left, fits)
    return found


def leaves(annotation: Any) -> Iterator[Any]:
    """Yield the types of which an annotation is a union, without what is said of them."""
    if get_origin(annotation) is Annotated:
        yield from leaves(get_args(annotation)[0])
    elif get_origin(annotation) is Literal or len(get_args(annotation)) == 0:
        yield annotation
    else:
        for part in get_args(annotation):
            yield from leaves(part)
