"""The families with their unions, and what is wrong for each member.

A new member joins by being in its union; its examples are in ``examples.toml`` of the package.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined

from asyncdp_sim.core.specification import Plugin, Spec, kind_of, members
from asyncdp_sim.data import DataSpec
from asyncdp_sim.data.splits import Split
from asyncdp_sim.data.surrogates import StandIn
from asyncdp_sim.data.tables.encodings import Encoding
from asyncdp_sim.data.tables.preprocessing import Preprocessing
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.network.availability import Availability
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.channels.kind import PacketLosses
from asyncdp_sim.network.clocks import Clock
from asyncdp_sim.network.graphs import GossipGraph
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.network.protocols.dispatch import Policy
from asyncdp_sim.network.topology import Topology
from asyncdp_sim.privacy.budgets import Budget
from asyncdp_sim.privacy.composition import Accounting
from asyncdp_sim.privacy.mechanisms import Mechanism
from asyncdp_sim.privacy.observers import Observer
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.scenario.fields import examples_of
from tests.tables import table

DATA = Path(__file__).parent / "data"


FAMILIES = {
    "data": DataSpec,
    "split": Split,
    "stand-in": StandIn,
    "preprocessing": Preprocessing,
    "encoding": Encoding,
    "law": Law,
    "clock": Clock,
    "availability": Availability,
    "channel": Channel,
    "protocol": Protocol,
    "policy": Policy,
    "graph": GossipGraph,
    "topology": Topology,
    "algorithm": AnyAlgorithm,
    "model": Model,
    "accountant": Accounting,
    "budget": Budget,
    "mechanism": Mechanism,
    "sensitivity": Sensitivity,
    "observer": Observer,
}

FORMS = {"packet loss": PacketLosses}
"""Families whose members a scenario tells apart by their forms, and not by a ``kind``.

A backoff is no family: it is any law, times a power of two.
"""


def examples(union: Any) -> list[Spec]:
    """One spec or more of each member."""
    return [spec for member in members(union) for spec in examples_of(member)]


def said(spec: Spec) -> str:
    """A test id."""
    fields = spec.model_dump(exclude={"kind"}, exclude_defaults=True)
    return "-".join([str(spec.kind), *(f"{k}={v}" for k, v in fields.items())]).replace(" ", "")


BAD_NUMBERS = [-1.0, float("nan"), "much", True, None]
TEXTS = (
    "path", "public_path", "own_path", "target", "column", "owner_column", "unit",
    "person", "order",
)  # fmt: skip

WRONG = table(__file__, "members.toml")


def spread(item: Any) -> Iterator[Any]:
    """Yield an item of the table with each text "*name" replaced by each of that shared list."""
    if isinstance(item, str) and item.startswith("*"):
        for shared in WRONG["shared"][item[1:]]:
            yield from spread(shared)
    elif isinstance(item, dict):
        for values in product(*(list(spread(value)) for value in item.values())):
            yield dict(zip(item, values, strict=True))
    else:
        yield None if item == "null" else item


def not_bad(member: type[Plugin], name: str) -> list[Any]:
    """Return which of the bad numbers are none for a field of a member."""
    fine, field = {"true": True, "negative": -1.0}, f"{kind_of(member)}.{name}"
    found: list[Any] = [fine[what] for what in fine if field in WRONG["not_so_bad"][what]]
    if member.model_fields[name].default is None:
        found.append(None)
    return [*found, "much"] if name in TEXTS else found


def bad_fields(member: type[Plugin]) -> Iterator[dict[str, Any]]:
    """Wrong parameters of a member: unknown, missing, not numbers, not allowed together."""
    good = examples_of(member)[0].model_dump()
    yield {**good, "no_such_field": 1}
    for name, field in member.model_fields.items():
        if name == "kind":
            continue
        if field.default is PydanticUndefined:
            yield {k: v for k, v in good.items() if k != name}
        for bad in BAD_NUMBERS:
            fine = not_bad(member, name)
            given = bad is good[name]  # and is accepted, such as None of an optional field
            if not given and not any(bad is value or bad == value for value in fine):
                yield {**good, name: bad}
    bad_ones = WRONG["bad"].get(kind_of(member), {"cases": []})
    for case in bad_ones["cases"]:
        for fields in spread(case):
            yield bad_ones.get("of", {}) | fields
