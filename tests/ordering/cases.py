"""Scripted scenarios without randomness, each with what its rule says, worked out by hand.

They stand in ``cases/*.toml``: the rule, the network, and what is known of its run beforehand
(:class:`Case`). Of the network: ``ticks`` per owner, or how many ``owners`` there are where no
clock has a say; durations, one for all or one each, "none" where they take no event; ``T`` updates
(10), answers ``allowed`` (10 each) that are updates ``apart`` (any), ``buffer`` (1); the rest as in
the file of a scenario, where a constant law is its number, ``{losing = [1, 3]}`` loses these of
each owner's messages, rounds ask ``drawn`` owners where they would draw some, and several
availabilities hold at once.
"""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from asyncdp_sim.network import Network
from asyncdp_sim.network.availability import Availability
from tests.ordering.scene import Case, Counting, Drawing, Losing, Some, Together
from tests.traces import SYNCHRONOUS

FOLDER = Path(__file__).parent / "cases"
LAWS = ("gap", "length", "join", "lifetime", "retry", "delay", "backoff", "exchange")
"""Fields of parts that are laws."""
OWN = {"counting": Counting, "some": Some}
"""Parts that are scripted here."""
PARTS = ("protocol", "channel", "topology", "aggregation", "clock", "until", "stops")
LATENCIES = ("request", "query", "answer", "acknowledgement")
ONLINE = TypeAdapter(Availability)


def law(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(law, value))
    return {"kind": "none"} if value == "none" else {"kind": "constant", "value": value}


def part(value: Any) -> Any:
    """Return what a part of a network is made from."""
    if not isinstance(value, dict):
        return value
    fields = {name: law(x) if name in LAWS else part(x) for name, x in value.items()}
    kind = fields.get("kind")
    if "losing" in fields:
        return Losing(numbers=fields["losing"])
    if "drawn" in fields:
        return Drawing(**fields)
    if kind in OWN:
        return OWN[fields.pop("kind")](**fields)
    if kind == "servers":
        fields["latency"] = law(fields["latency"])
    if kind == "intervals":
        fields["path"] = str(FOLDER / fields["path"])
    return fields


def network(fields: dict[str, Any]) -> Network:
    """Take what is the network's out of a case's fields."""
    parts = {name: part(fields.pop(name)) for name in PARTS if name in fields}
    owners = fields.pop("owners", len(fields.get("ticks", ())))
    protocol = parts.get("protocol", {"kind": "request"})
    kind = protocol["kind"] if isinstance(protocol, dict) else protocol.kind
    if kind not in ("gossip", "servers"):
        times = fields.pop("ticks", [[]] * owners)
        parts.setdefault("clock", {"kind": "scripted", "times": times})
    buffer = fields.pop("buffer", 1)
    present = fields.pop("availability", {"kind": "always"})
    scripted = Network(
        answers_allowed=fields.pop("allowed", (10,) * owners),
        updates=fields.pop("T", 10),
        answers_per_update=None if kind in SYNCHRONOUS else buffer,
        apart=fields.pop("apart", None),
        latency={name: law(fields.pop(name)) for name in LATENCIES if name in fields},
        compute=law(fields.pop("compute", "none")),
        **parts,
    )
    several = present if isinstance(present, tuple) else (present,)
    online = tuple(ONLINE.validate_python(part(one)) for one in several)
    # A copy is not validated: whatever has ``begin`` can be an availability.
    together = online[0] if len(online) == 1 else Together(online)
    return scripted.model_copy(update={"availability": together})


def frozen(value: Any) -> Any:
    """Return lists as tuples, and a share of time such as "1.3 / 1.8" as a number."""
    if isinstance(value, list):
        return tuple(map(frozen, value))
    if isinstance(value, dict):
        return {name: frozen(x) for name, x in value.items()}
    if isinstance(value, str) and " / " in value:
        a, b = value.split(" / ")
        return float(a) / float(b)
    return value


def read(path: Path) -> list[Case]:
    named = frozen(tomllib.loads(path.read_text(encoding="utf-8")))
    return [Case(name, network=network(fields), **fields) for name, fields in named.items()]


CASES = [case for path in sorted(FOLDER.glob("*.toml")) for case in read(path)]
"""All scenarios of the golden files."""
