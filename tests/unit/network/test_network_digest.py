"""The network digest changes with every field, and with what files say, not with where they lie.

Cells of a sweep share traces under it: a field that it forgets would give one network's traces to
another.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.core.specification import Spec
from asyncdp_sim.network import Network
from asyncdp_sim.network.availability import Availability
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.clocks import Clock
from asyncdp_sim.network.graphs import GossipGraph
from asyncdp_sim.network.latency import Latency, Payload
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.protocols import Gossip, Protocol
from asyncdp_sim.network.protocols.dispatch import ShortestQueue
from asyncdp_sim.network.topology import Topology
from tests.conformance.members import examples

PLAIN = Network(answers_allowed=(5, 5, 5), updates=7)
FAMILIES = {
    "clock": Clock,
    "availability": Availability,
    "channel": Channel,
    "compute": Law,
    "protocol": Protocol,
    "topology": Topology,
}
PARTS = {name: examples(union) for name, union in FAMILIES.items()}
GOSSIP = [Gossip(graph=graph) for graph in examples(GossipGraph)]
OF_FILES = "path"
ABSENT = {
    "retry": examples(Law)[0],
    "graph": examples(GossipGraph)[0],
    "policy": ShortestQueue(),
}
"""What may stand where a member of a family is absent."""


def networks() -> Iterator[Network]:
    """A network around each example of each family; they need not make sense, only be named."""
    yield PLAIN
    yield PLAIN.model_copy(update={"latency": Latency(answer=examples(Law)[0]), "until": 3.0})
    for name, parts in [*PARTS.items(), ("protocol", GOSSIP)]:
        for part in parts:
            yield PLAIN.model_copy(update={name: part})


def other(value: Any) -> Any:
    """Another value in place of this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if value is None:
        return 1
    return f"{value}x" if isinstance(value, str) else (*value, 1)


def changed(spec: Spec, where: str = "") -> Iterator[tuple[str, Spec]]:
    """Yield a spec once for each field in it, however deep, with another value there."""
    for name in type(spec).model_fields:
        value = getattr(spec, name)
        if isinstance(value, Spec):
            for deeper, part in changed(value, f"{where}{name}."):
                yield deeper, spec.model_copy(update={name: part})
        elif name not in (OF_FILES, "kind", "topology"):
            another = ABSENT.get(name) if value is None else None
            another = other(value) if another is None else another
            yield f"{where}{name}", spec.model_copy(update={name: another})


@pytest.mark.filterwarnings("ignore:Pydantic serializer")
def test_every_field_of_every_part_counts() -> None:
    seen = set()
    for network in networks():
        before = network.digest(1, 2)
        for field, another in changed(network):
            assert another.digest(1, 2) != before, field
            seen.add(field)
    plain = {*Network.model_fields} - FAMILIES.keys() - {"latency", "payload"}
    assert plain | {f"payload.{name}" for name in Payload.model_fields} <= seen
    assert len(seen) > 60


def filed(network: Network, path: str) -> Network:
    """Return the network with its file at another path."""
    for name in FAMILIES:
        part = getattr(network, name)
        if getattr(part, OF_FILES, None) is not None:
            return network.model_copy(update={name: part.model_copy(update={OF_FILES: path})})
    graph = network.protocol.graph.model_copy(update={OF_FILES: path})  # type: ignore[union-attr]
    protocol = network.protocol.model_copy(update={"graph": graph})
    return network.model_copy(update={"protocol": protocol})


def with_files() -> list[tuple[str, Network]]:
    found = []
    for name, parts in [*PARTS.items(), ("protocol", GOSSIP)]:
        for part in parts:
            holder = getattr(part, "graph", part)
            if getattr(holder, OF_FILES, None) is not None:
                found.append((holder.path, PLAIN.model_copy(update={name: part})))
    return found


FILED = with_files()


@pytest.mark.parametrize(("path", "network"), FILED, ids=[Path(path).name for path, _ in FILED])
def test_a_file_counts_by_what_it_says(path: str, network: Network, tmp_path: Path) -> None:
    moved = tmp_path / f"moved{Path(path).suffix}"
    moved.write_bytes(Path(path).read_bytes())
    assert filed(network, str(moved)).digest(1, 2) == network.digest(1, 2)
    edited = tmp_path / f"edited{Path(path).suffix}"
    edited.write_bytes(Path(path).read_bytes() + b"\n")
    assert filed(network, str(edited)).digest(1, 2) != network.digest(1, 2)


def test_each_kind_of_file_is_among_them() -> None:
    kinds: list[Callable[[Network], object]] = [
        lambda n: n.availability,
        lambda n: n.compute,
        lambda n: n.topology,
        lambda n: getattr(n.protocol, "graph", None),
    ]
    for part in kinds:
        assert any(getattr(part(network), OF_FILES, None) is not None for _, network in FILED)
