"""The network's parts: what they promise, how they differ in the digest, and which do not fit."""

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import Spec, parse
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.availability import Availability, Intervals
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.clocks import Clock, DeterministicClock, ScriptedClock
from asyncdp_sim.network.graphs import EdgeFile, GossipGraph
from asyncdp_sim.network.latency import Latency, Payload
from asyncdp_sim.network.laws import Exponential, Law
from asyncdp_sim.network.protocols import Gossip, Protocol
from asyncdp_sim.network.protocols.dispatch import ShortestQueue
from asyncdp_sim.network.topology import GraphFile, Topology
from tests.conformance.members import examples
from tests.ordering.scene import Scripted
from tests.tables import table
from tests.together import together

# The network's own parts: the spec, who is told of what, and what a clock promises.


def scope(seed: int = 1, replicate: int = 1) -> Scope:
    return Streams(seed).within("replicate", replicate)


def no_stream() -> np.random.Generator:
    raise AssertionError("this clock or law draws nothing")


def test_deterministic_ticks_are_multiples_never_accumulated() -> None:
    clock = DeterministicClock(rate=3.0, phase=(0.25, 0.0))
    ticks = list(islice(clock.ticks(0, no_stream, 1), 10**5))
    period = round(10**9 / 3)
    assert ticks[-1] == 250_000_000 + 10**5 * period
    assert next(clock.ticks(1, no_stream, 1)) == period


def test_nobody_ever_ticks() -> None:
    network = Network(answers_allowed=(5,), updates=9, clock=ScriptedClock(times=[[]]))
    trace = simulate(network, scope(), events=True)
    assert (trace.end_tick, len(trace.events), len(trace.updates)) == (0, 0, 0)


# Networks whose parts do not fit together, or make no sense: refused by name, in one line each.

CASES = table(__file__, "refused.toml")


def parsed(fields: dict[str, Any]) -> Network:
    return parse(Network, {key: None if x == "null" else x for key, x in fields.items()})


@together
@pytest.mark.parametrize("case", CASES["refused"], ids=str)
def test_it_is_refused_in_a_line(case: dict[str, Any]) -> None:
    with pytest.raises(SpecError) as refused:
        parsed(CASES["of"][case["of"]] | case["with"])
    [fault] = refused.value.faults
    assert str(fault).startswith(case["said"])


@pytest.mark.parametrize("name", ["crowd", "gossip", "rounds", "servers", "three"])
def test_nothing_is_refused_of_the_networks_themselves(name: str) -> None:
    parsed(CASES["of"][name])


# Files of networks that say what cannot be: each with the lines that are said of it.
#
# In ``wrong_files.txt`` a case begins with the section that reads the file, its name, the number of
# owners and other fields of the section; below ``<<<`` stands what is said.

READERS = {"topology": GraphFile, "availability": Intervals, "graph": EdgeFile}
_, *FILES_AND_LINES = Path(__file__).with_name("wrong_files.txt").read_text("utf-8").split(">>> ")


@pytest.mark.parametrize("case", FILES_AND_LINES, ids=lambda case: case.splitlines()[-1][:60])
def test_what_is_wrong_with_a_file_is_a_line_each(case: str, tmp_path: Path) -> None:
    head, text = case.split("\n", 1)
    section, name, owners, fields = head.split(" ", 3)
    content, said = text.split("<<<\n")
    (tmp_path / name).write_text(content, encoding="utf-8")
    spec = READERS[section](path=str(tmp_path / name)).model_copy(update=json.loads(fields))
    faults = [str(fault).replace(f"{tmp_path}/", "") for fault in spec.faults(int(owners))]
    assert faults == said.strip().splitlines()


# Networks whose runs end where a model is good enough: who must be asked, and their names.


def test_somebody_must_be_asked() -> None:
    asks = Network(answers_allowed=(2, 2), updates=2, stops=True)
    with pytest.raises(ValueError, match="depends on the model: such a network needs a learning"):
        simulate(asks, Streams(1).within("replicate", 1))
    simulate(asks, Streams(1).within("replicate", 1), learning=Scripted())


def test_a_network_that_asks_nobody_keeps_its_name() -> None:
    plain = Network(answers_allowed=(20, 20), updates=20, compute=Exponential(mean=0.2))
    stops = plain.model_copy(update={"stops": True})
    assert plain.digest(1, 2) != stops.digest(1, 2)
    assert Network(answers_allowed=(2, 2), updates=2).digest(1, 10) == "7930cc71cafcf897"


# The network digest changes with every field, and with what files say, not with where they lie.
#
# Cells of a sweep share traces under it: a field that it forgets would give one network's traces to
# another.

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
