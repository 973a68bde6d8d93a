"""Each field of each example changes something: the network, the models, or what is charged.

An example is put into the first scenarios that take it. Each field is given other values, until one
changes what a run does. Neither a digest nor a description counts, which repeat what is written.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.specification import Spec, kind_of, members
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario, parse
from tests.cli.scenes import SMALL
from tests.conformance.members import FAMILIES, examples
from tests.one_in import one_in
from tests.properties.variants import values


def _mean(value: float) -> dict[str, Any]:
    return {"kind": "exponential", "mean": value}


PLACES = {
    "law": ("compute",),
    "clock": ("clock",),
    "availability": ("availability",),
    "channel": ("channel",),
    "protocol": ("protocol",),
    "graph": ("protocol", "graph"),
    "topology": ("topology",),
    "algorithm": ("algorithm",),
    "model": ("model",),
    "accountant": ("privacy", "accountant"),
    "budget": ("privacy", "budget"),
    "mechanism": ("privacy", "mechanism"),
    "sensitivity": ("privacy", "sensitivity"),
    "observer": ("privacy", "observer"),
    "data": ("data",),
}
"""Where a member of a family stands in a scenario. What only tables of users have (splits,
encodings, stand-ins) has tests of its own."""
ROUNDS = {"protocol": {"kind": "rounds"}, "algorithm": {"kind": "collab-2", "step": 0.1}}
PUSHED = {
    "protocol": {"kind": "push"},
    "algorithm": {"kind": "fedasync", "step": 0.5, "mixing": 0.5},
    "latency": {"answer": {"kind": "exponential", "mean": 1.0}},
}
POISSON = {"clock": {"kind": "poisson", "rate": [0.5, 1.0, 2.0]}, "compute": {"kind": "none"}}
AVERAGED = {"algorithm": {"kind": "parameter-server", "step": 0.5}}
BY_RATE = {"latency": {"rate_bytes": 1e4}}
DOMAIN = {"kind": "domain", "row_norm": 1.0, "target_max": 2.0}
GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-3}
LABELS = {"data": {"kind": "gaussian", "features": 2, "labels": True}}
SERVERS = {"protocol": {"kind": "servers", "count": 3, "read": "basic", "window": 2}}
OBFUSCATED = {
    "algorithm": {
        "kind": "polar", "step": 0.5, "exponent": 0.75, "weight_total": 2.0, "weight_bound": 6.0,
        "additive_bound": 0.1,
    },
    "privacy": {"mechanism": "none"},
}  # fmt: skip
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    ROUNDS,
    PUSHED,
    {"availability": {"kind": "on-off", "on": _mean(0.5), "off": _mean(0.5)}},
    {**PUSHED, "availability": {"kind": "on-off", "on": _mean(0.5), "off": _mean(0.5)}},
    {"channel": {"kind": "aloha", "airtime": 0.2}},
    {"payload": {"number_bytes": 8}},
    {**PUSHED, "clock": {"kind": "saturated"}},
    {**PUSHED, **POISSON},
    {**ROUNDS, **POISSON},
    {**POISSON},
    {**ROUNDS, **AVERAGED, "privacy": {**GAUSSIAN, "observer": {"kind": "model"}}},
    {**ROUNDS, **AVERAGED, "privacy": {**GAUSSIAN, "unit": "owner", "observer": {"kind": "model"}}},
    {**ROUNDS, **AVERAGED, **BY_RATE, "privacy": GAUSSIAN},
    {**ROUNDS, **AVERAGED, "privacy": {**GAUSSIAN, "sensitivity": DOMAIN}},
    {**LABELS, **PUSHED, "algorithm": {**PUSHED["algorithm"], "initial": "uniform"}},
    {"channel": {"kind": "aloha", "rate_bytes": 480.0}, "payload": {"number_bytes": 8}},
    {**ROUNDS, "privacy": GAUSSIAN},
    {"privacy": GAUSSIAN},
    {**PUSHED, "privacy": {"mechanism": "none"}},
    {**ROUNDS, "privacy": {"mechanism": "none"}},
    LABELS,
    {**ROUNDS, **LABELS},
    {"protocol": {"kind": "broadcast", "interval": 0.5}},
    {**PUSHED, "protocol": {"kind": "dispatch", "tasks": 2}},
    {
        "protocol": {"kind": "gossip", "graph": {"kind": "ring"}},
        "algorithm": {"kind": "gossip-graph", "rho": 20.0},
        "clock": None,
    },
    {
        "protocol": {"kind": "gossip", "graph": {"kind": "ring"}},
        "algorithm": {"kind": "averaging", "step": 0.5},
        "privacy": {**GAUSSIAN, "budget": {"kind": "per-owner-cap", "answers": 1}},
        "clock": None,
    },
    {**SERVERS, **OBFUSCATED, "clock": None},
    {
        **ROUNDS,
        "algorithm": {"kind": "noisy-statistics"},
        "privacy": {"sensitivity": DOMAIN, "budget": {"kind": "per-owner-cap", "answers": 1}},
    },
)
"""What is tried around an example."""
BESIDE: dict[str, dict[str, Any]] = {
    "loss_acknowledgement": {"retransmissions": 2},
    "resend": {"retransmissions": 2, "loss": 0.4},
    "rate_bytes": {"airtime": None, "rate_bytes": 480.0, "slot": 0.5},
    "backoff": {"retransmissions": 3, "loss": 0.3},
    "backoff_cap": {"retransmissions": 3, "backoff": {"kind": "exponential", "mean": 0.1}},
    "retransmissions": {"loss": 0.4},
    "probabilities": {"to": "drawn", "probabilities": [0.5, 0.3, 0.2], "policy": None},
    "patience": {"weighting": "hinge", "patience": 1.0},
    "exponent": {"weighting": "hinge", "patience": 0.0},
}
"""What a field needs beside it that no example sets."""


@cache
def base(number: int) -> str:
    """Return the small scenario of a number, as JSON."""
    raw: dict[str, Any] = tomllib.loads(SMALL)
    raw["algorithm"]["rho"] = 20.0
    for name, fields in SETTINGS[number].items():
        raw[name] = {**raw[name], **fields} if name == "privacy" else fields
    raw = {name: fields for name, fields in raw.items() if fields is not None}
    if raw["privacy"].get("mechanism") == "none":
        del raw["privacy"]["sensitivity"], raw["privacy"]["epsilon"]
    return json.dumps(raw)


def within(number: int, path: tuple[str, ...], fields: Any) -> dict[str, Any]:
    """Return a base with these fields at a place."""
    raw: dict[str, Any] = json.loads(base(number))
    at = raw
    for name in path[:-1]:
        at = at.setdefault(name, {})
    at[path[-1]] = fields
    return raw


@cache
def of_text(text: str) -> tuple[bytes, ...] | None:
    try:
        result = run(parse(Scenario, json.loads(text)))
    except (SpecError, DataError):
        return None
    return (
        *(trace.exchanges.tobytes() for trace in result.traces),
        *(trace.updates.tobytes() for trace in result.traces),
        np.ascontiguousarray(result.learned.models).tobytes(),
        np.ascontiguousarray(result.ledger.spent).tobytes(),
        repr(result.guarantee).encode(),
    )


def effect(raw: Mapping[str, Any]) -> tuple[bytes, ...] | None:
    """Return what a run does, or None where the scenario is refused."""
    return of_text(json.dumps(raw, sort_keys=True))


LISTED: dict[str, list[Any]] = {
    "probabilities": [[0.2, 0.3, 0.5]],
    "rate_bytes": [960.0, 2000.0],
    "colluding": [[1], [2], [1, 3]],
    "between": [[[1, 2], [2, 3], [1, 3]], [[1, 3], [3, 2]], [[2, 1], [1, 3]]],
}
"""Other values of fields that hold owners, or numbers that fit together."""


def others(member: Spec, name: str) -> Iterator[Any]:
    """Yield other values of a field of an example, as they are written."""
    usual = getattr(member, name)
    found: list[Any] = []
    if type(usual) in (int, float):
        found += [usual * 2, usual // 2 if type(usual) is int else usual / 2, usual + 1]
        found += [0.45 * usual] if type(usual) is float else []
    if isinstance(usual, tuple) and len(usual) > 0:
        found.append(usual[::-1])
        if all(type(each) is float for each in usual):
            found.append(tuple(2 * each for each in usual))
    if name == "graph" and not isinstance(usual, int):
        yield from ({"kind": "complete"}, {"kind": "star"})
        return
    if name == "numbers":
        yield tuple(range(2, 2 + len(member.groups)))
        return
    if name in LISTED:
        yield from LISTED[name]
        return
    if name == "failures":
        yield {"gap": _mean(1.0), "length": _mean(1.0)}
        return
    found += values(type(member).model_fields[name].annotation, frozenset(), lambda _: True)
    for value in found:
        if value != usual:
            yield value.model_dump(mode="json") if isinstance(value, Spec) else value


def differs(family: str, member: Spec, name: str) -> bool:
    """Return whether another value of a field changes a run."""
    fields = {
        each: value
        for each, value in BESIDE.get(name, {}).items()
        if each in type(member).model_fields
    }
    path, written = PLACES[family], {**said_of(member), **fields}
    fits = [n for n in range(len(SETTINGS)) if effect(within(n, path, written)) is not None]
    for number in fits:
        usual = effect(within(number, path, written))
        for value in others(member, name):
            seen = effect(within(number, path, {**written, name: value}))
            if seen is not None and seen != usual:
                return True
    return False


def said_of(member: Spec) -> dict[str, Any]:
    """Return an example as it is written in a scenario."""
    return {"kind": kind_of(type(member)), **member.model_dump(mode="json", exclude_unset=True)}


A_FILE = "it names a file or a column of one, and the examples have one file each"
A_TABLE = "it needs a table; these scenarios draw their data"
SCORED = "it says on whose rows models are judged, once owners are left out"
IDLE: dict[str, dict[str, str]] = {
    "law-empirical": {"path": A_FILE, "column": A_FILE},
    "availability-intervals": {
        "path": A_FILE,
        "origin": "it is for files with dates: no other fits",
    },
    "graph-file": {"path": A_FILE},
    "topology-file": {"path": A_FILE},
    "topology-geometric": {
        "radius": "of three owners, nearest ways stay the same or nothing is linked"
    },
    **{f"data-{kind}": {"path": A_FILE, "score_on": SCORED} for kind in ("lending", "fraud")},
    "data-hospital": {
        "path": A_FILE,
        "score_on": SCORED,
        "public_overlap": "owners in order do not reach the public rows",
    },
    **{f"model-{kind}": {"intercept": A_TABLE} for kind in ("ridge", "logistic", "svm", "mlp")},
    "model-softmax": {"intercept": A_TABLE, "classes": "drawn labels are two"},
    "sensitivity-adaptive-clip": {"norm": "it has one value, l2"},
    "channel-tdma": {"guard": "it is a check: a slot must have room for it behind an answer"},
    "observer-model": {"sees": "it changes what is stated of a last model, and no noise"},
    "observer-node": {"colluding": "it changes what is stated of a node, and no noise"},
}
"""Fields by member that change nothing here, each with its reason."""


def fitting(family: str, member: type[Spec]) -> list[Spec]:
    """Return the examples of a member that some scenario takes."""
    path, found = PLACES[family], []
    for each in examples(FAMILIES[family]):
        if type(each) is member:
            tried = (effect(within(n, path, said_of(each))) for n in range(len(SETTINGS)))
            found += [each] if any(seen is not None for seen in tried) else []
    return found


EACH = [
    pytest.param(family, member, id=f"{family}-{kind_of(member)}")
    for family in PLACES
    for member in members(FAMILIES[family])
    if kind_of(member) != "table"
]


@one_in(6, ("family", "member"), EACH)
def test_every_field_changes_something(family, member):
    known = fitting(family, member)
    assert len(known) > 0
    names = [name for name in member.model_fields if name != "kind"]
    idle = {name for name in names if not any(differs(family, each, name) for each in known)}
    of_text.cache_clear()
    assert idle == set(IDLE.get(f"{family}-{kind_of(member)}", ()))
