"""The families with their unions, and what is wrong for each member.

A new member joins by being in its union; its examples are in ``examples.toml`` of the package.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined

from asyncdp_sim.data import DataSpec
from asyncdp_sim.data.splits import Split
from asyncdp_sim.data.surrogates import StandIn
from asyncdp_sim.data.tables.encodings import Encoding
from asyncdp_sim.data.tables.preprocessing import Preprocessing
from asyncdp_sim.learning.acceptance import Acceptance
from asyncdp_sim.learning.adversary import Adversary
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.learning.live import Trigger
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.network.availability import Availability
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.channels.packet_loss import PacketLosses
from asyncdp_sim.network.clocks import Clock
from asyncdp_sim.network.graphs import GossipGraph
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.network.protocols.dispatch import Policy
from asyncdp_sim.network.topology import Topology
from asyncdp_sim.privacy.accountants.by_losses import Accounting
from asyncdp_sim.privacy.budgets import Budget
from asyncdp_sim.privacy.mechanisms import Mechanism
from asyncdp_sim.privacy.observers import Observer
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.scenario.domains import examples_of
from asyncdp_sim.spec.base import Plugin, Spec, kind_of, members

DATA = Path(__file__).parent / "data"


def exponential(mean: float) -> dict[str, Any]:
    return {"kind": "exponential", "mean": mean}


def constant(value: float) -> dict[str, Any]:
    return {"kind": "constant", "value": value}


_ALOHA = {"kind": "aloha", "airtime": 0.1}
_SLOTTED = {"kind": "slotted-aloha", "airtime": 0.1, "slot": 0.1}
_CSMA = {"kind": "csma", "airtime": 0.1, "propagation_delay": 0.02}
_TDMA = {"kind": "tdma", "airtime": 0.1, "slot": 0.1}
_POLAR = {
    "step": 0.5,
    "exponent": 0.75,
    "weight_total": 2.0,
    "weight_bound": 6.0,
    "additive_bound": 0.1,
}

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
    "adversary": Adversary,
    "acceptance": Acceptance,
    "trigger": Trigger,
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
NOT_SO_BAD: dict[tuple[str, str], list[Any]] = {
    **{(kind, "intercept"): [True] for kind in ("ridge", "logistic", "huber", "softmax")},
    ("diurnal", "phase"): [-1.0],
    ("outages", "numbers"): [None],
    ("csma", "collision_detection"): [True],
    ("request", "retry"): [None],
    ("request", "timeout"): [None],
    ("rounds", "deadline"): [None],
    ("parameter-server", "batch"): [None],
    ("polar", "batch"): [None],
    ("servers", "graph"): [None],
    ("polar", "every_step"): [True],
    ("polar", "per_coordinate"): [True],
    ("clip", "bound"): [None],
    ("clip", "quantile"): [None],
    ("trim", "bound"): [None],
    ("trim", "quantile"): [None],
    ("declared", "norm"): [None],
    ("clip", "norm"): [None],
    ("domain", "norm"): [None],
    ("domain", "rows"): [None],
    ("until-spent", "per_answer"): [None],
    ("dispatch", "probabilities"): [None],
    ("dispatch", "policy"): [None],
    ("scheduled", "growth"): [None],
    ("scheduled", "power"): [-1.0, 0.0, None],
    ("scheduled", "shares"): [None],
    **{(kind, "path"): [None] for kind in ("lending", "hospital", "fraud")},
    **{(kind, "public_overlap"): [True] for kind in ("lending", "hospital", "fraud", "table")},
    ("lending", "drift"): [True],
    ("table", "owner_column"): [None],
    ("table", "from_stand_in"): [True],
    **{("table", f): [None] for f in ("public_path", "separator", "decimal", "charset")},
    ("one-hot", "values"): [None],
    ("ordinal", "order"): [None],
    ("date", "format"): [None],
    ("table", "unit"): [None],
    **{("table", name): [None] for name in ("public_seed", "missing")},
    ("gaussian", "labels"): [True],
    ("node", "colluding"): [None],
    **{(kind, "step"): [None] for kind in ("async-gossip", "gossip-graph")},
    **{("dirichlet", name): [None] for name in ("groups", "rows")},
    **{("empirical", name): [None] for name in ("path", "column", "unit")},
    **{("intervals", name): [None] for name in ("names", "unit", "origin", "period")},
}
"""What is no bad number for the field of this member."""
OPTIONAL = (
    "rate_bytes", "request_airtime", "capture_ratio", "frame", "failures", "theta_max",
    "local_steps", "local_step", "intercept",
)  # fmt: skip
"""Fields that may be absent in every member that has them."""
TEXTS = ("path", "public_path", "target", "column", "owner_column", "unit")

_LAW = exponential(1.0)
_NO_TIME: list[dict[str, Any]] = [
    {"kind": "none"},
    {"kind": "constant", "value": 0.0},
    {"kind": "empirical", "values": [0.0, 0.0]},
]
_NO_LAW: list[Any] = [
    1.0,
    "exponential",
    {"kind": "exponential"},
    {"kind": "exponential", "mean": -1.0},
    {"kind": "no-such-law"},
    {"mean": 1.0},
]
_BAD_PERIODS = [*_NO_TIME, *_NO_LAW]
_GROUPS: list[Any] = [
    [],
    [1],
    [[0]],
    [[-1]],
    [[1.0]],
    [[True]],
    [["1"]],
    "all",
    [[1], []],
]
_DAY = {"period": 1.0, "low": 0.1, "high": 0.9}
_BAD_LOSSES: list[Any] = [
    1.5,
    [],
    [0.1, -0.1],
    {"to_bad": 0.1},
    {"to_bad": 0.0, "to_good": 0.1},
    {"to_bad": 0.1, "to_good": 1.1},
    {"to_bad": 0.1, "to_good": 0.1, "loss_bad": 1.5},
    {"to_bad": 0.1, "to_good": 0.1, "loss": 0.5},
]
_LOSSES = ("loss", "loss_query", "loss_request", "loss_acknowledgement")
_UPLINK: list[dict[str, Any]] = [
    *({name: bad} for name in _LOSSES for bad in _BAD_LOSSES),
    {"retransmissions": 1.0},
    {"retransmissions": 10**7},
    {"resend": "new"},
]
_AIRTIMES: list[dict[str, Any]] = [
    {"airtime": 0.0},
    {"airtime": 1e10},
    {"airtime": [0.1, 0.1, 0.1]},
    {"rate_bytes": 100.0},
    {"airtime": None},
    {"airtime": None, "rate_bytes": 0.0},
    {"request_airtime": 0.0},
]
_BACKOFFS: list[dict[str, Any]] = [
    *({"backoff": bad} for bad in _NO_LAW),
    {"backoff_cap": 31},
    {"backoff_cap": 1.0},
]


def _spoilt(good: dict[str, Any], *each: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**{k: v for k, v in good.items() if k != "kind"}, **b} for bad in each for b in bad]


_BAD_MODELS: list[dict[str, Any]] = [
    {"regularisation": 0.0},
    {"regularisation": float("inf")},
    {"regularisation": 1.0, "theta_max": 0.0},
    {"regularisation": 1.0, "theta_max": float("inf")},
    {"regularisation": 1.0, "regulariser": "lasso"},
]
_BAD_SERVER_GRAPHS: list[Any] = [
    "ring",
    [{"kind": "ring"}],
    {"kind": "star"},
    {"kind": "edges", "between": [[1, 2]]},
    {"kind": "edges", "between": [[1, 2], [2, 4]]},
    {"kind": "in-turn", "graphs": []},
    {"kind": "in-turn", "graphs": [{"kind": "edges", "between": [[1, 2]]}]},
    {"kind": "in-turn", "graphs": [{"kind": "in-turn", "graphs": [{"kind": "ring"}]}]},
]
_BROADCAST = {"interval": 0.5, "answer_at": "after-delay"}
BAD_COMBINATIONS: dict[str, list[dict[str, Any]]] = {
    "dispatch": [
        {"policy": {"kind": "shortest-queue"}, "to": "same"},
        {"policy": {"kind": "shortest-queue"}, "probabilities": [0.5, 0.3, 0.2]},
    ],
    "number": [{"order": ["a"]}],
    "money": [{"decimal": ","}],
    "one-hot": [{"values": []}, {"values": [1]}, {"order": ["a"]}],
    "ordinal": [{"order": []}, {"order": ["a", "b", "a"]}, {"order": [1]}],
    "date": [
        {"since": "1970"},
        {"since": "2020-02-30"},
        {"format": "%d.%m"},
        {"format": "day"},
        {"parts": ["hour"]},
        {"parts": ["year", "year"]},
    ],
    "classes": [{}, {"values": ["a"]}, {"values": ["a", "b", "a"]}, {"values": [0, 1]}],
    "drop": [{"why": "an id"}],
    "table": [
        {"path": "t.csv", "target": "y", "features": 2, "public_records": public, **bad}
        for public, bad in (
            (9, {"columns": {"x": "no-such-encoding"}}),
            (9, {"columns": {"x": "drop"}, "drop": ["x"]}),
            (9, {"columns": {"y": "one-hot"}}),
            (9, {"columns": {"who": "number"}, "owner_column": "who"}),
            (9, {"public_path": "p.csv", "public_overlap": True}),
            (9, {"separator": "::"}),
            (9, {"decimal": ";"}),
            (9, {"charset": "ebcdic"}),
            (0, {"columns": {"x": "one-hot"}, "preprocessing": "none"}),
        )
    ],
    "ideal": [*_UPLINK, {"airtime": 0.1}],
    "aloha": _spoilt(_ALOHA, _UPLINK, _AIRTIMES, _BACKOFFS, [{"capture_ratio": 0.0}]),
    "slotted-aloha": _spoilt(
        _SLOTTED,
        [*_UPLINK, *_AIRTIMES, *_BACKOFFS],
        [{"slot": 0.0}, {"slot": 0.09}, {"request_airtime": 0.11}],
    ),
    "csma": _spoilt(
        _CSMA,
        [*_UPLINK, *_AIRTIMES, *_BACKOFFS],
        [
            {"propagation_delay": -0.1},
            {"persistence": 0.0},
            {"persistence": 1.1},
            {"persistence": "persistent"},
            {"persistence": 0.5, "propagation_delay": 0.0},
            {"collision_detection": True, "propagation_delay": 0.0},
            *({"backoff": bad} for bad in _NO_TIME if bad["kind"] != "none"),
            {"collision_detection": 1},
        ],
    ),
    "tdma": _spoilt(
        _TDMA,
        [*_UPLINK, *_AIRTIMES],
        [{"slot": 0.0}, {"slot": 0.09}, {"guard": 0.01}, {"frame": 0}, {"frame": 1.5}],
        [{"backoff": _LAW}, {"request_airtime": 0.11}],
    ),
    "parallel": _spoilt(
        {"channels": 2, "each": _ALOHA},
        _UPLINK,
        [{"channels": 0}, {"channels": 10**5}, {"choice": "nearest"}, {"airtime": 0.1}],
        [{"each": {"kind": "ideal"}}, {"each": {"kind": "parallel"}}, {"each": {}}],
        [{"each": {**_ALOHA, bad: 0.1}} for bad in _LOSSES],
        [{"each": {**_ALOHA, "retransmissions": 1}}, {"each": {**_ALOHA, "resend": "fresh"}}],
    ),
    "request": [
        {"busy": "wait"},
        {"busy": "retry"},
        {"busy": "queue", "retry": _LAW},
        {"own_tick": "queue"},
        {"own_tick": "overlap", "busy": "queue"},
        {"offline": "vanish"},
        {"offline": "leave", "timeout": 1.0},
        {"timeout": 0.0},
        {"timeout": _LAW},
        *({"busy": "retry", "retry": bad} for bad in (*_NO_TIME, *_NO_LAW)),
        {"interval": 1.0},
    ],
    "rounds": [{"deadline": 0.0}, {"deadline": _LAW}, {"interval": 1.0}, {"own_tick": "drop"}],
    "gossip": [
        {},
        {"graph": "ring"},
        {"graph": {"kind": "ring"}, "deadline": 1.0},
        {"graph": {"kind": "ring"}, "clock": {"kind": "saturated"}},
        {"graph": {"kind": "ring"}, "clock": {"kind": "poisson", "population": "superposed"}},
    ],
    "edges": [
        {"between": []},
        {"between": [[]]},
        {"between": [[1]]},
        {"between": [[1, 2, 3]]},
        {"between": [[1, 1]]},
        {"between": [[0, 1]]},
        {"between": [["1", "2"]]},
    ],
    "servers": _spoilt(
        {"count": 3, "read": "minimum-wait", "window": 4},
        [{"count": 1}, {"count": 1001}, {"window": 0}, {"read": "first"}, {"deadline": 1.0}],
        [{"reach": bad} for bad in (1, 4, 2.0, "some", [2])],
        [{"latency": bad} for bad in ([], [_LAW, _LAW], *_NO_LAW)],
        [{"exchange": bad} for bad in ([_LAW] * 3, *_NO_LAW)],
        [{"graph": bad} for bad in _BAD_SERVER_GRAPHS],
    ),
    "push": [{"own_tick": "queue"}, {"offline": "leave"}, {"busy": "queue"}, {"timeout": 1.0}],
    "broadcast": [
        {"interval": 0.0},
        {"interval": _LAW},
        {"interval": 1.0, "delay": _LAW},
        {"interval": 1.0, "own_tick": "queue"},
        {"interval": 1.0, "payload": "all"},
        {"interval": 1.0, "superseded": "keep"},
        {"interval": 1.0, "answer_at": "once"},
        {"interval": 1.0, "offline": "leave"},
        *({**_BROADCAST, "delay": bad} for bad in _NO_LAW),
    ],
    "intervals": [
        {"path": ["a.csv"]},
        {"owner": 1},
        {"path": "a.csv", "names": []},
        {"path": "a.csv", "origin": "noon"},
        {"path": "a.csv", "period": 1e-10},
        {"path": "a.csv", "period": 1.1e9},
        {"path": "a.csv", "unit": 0.0},
    ],
    "always": [{"probability": 1.0}],
    "bernoulli": [
        {"probability": bad}
        for bad in (1.0 + 1e-9, -1e-9, 2, float("inf"), [], [0.5, 1.5], [0.5, "1"], "uniform")
    ],
    "on-off": [
        *({"on": bad, "off": _LAW} for bad in _BAD_PERIODS),
        *({"on": _LAW, "off": bad} for bad in _BAD_PERIODS),
    ],
    "outages": [
        *({"groups": [[1]], "gap": bad, "length": _LAW} for bad in _BAD_PERIODS),
        *({"groups": [[1]], "gap": _LAW, "length": bad} for bad in _BAD_PERIODS),
        *({"groups": bad, "gap": _LAW, "length": _LAW} for bad in _GROUPS),
    ],
    "churn": [
        *({"join": bad} for bad in _NO_LAW),
        *({"lifetime": bad} for bad in _NO_LAW),
    ],
    "diurnal": [
        {**_DAY, "period": 0.0},
        {**_DAY, "period": float("inf")},
        {**_DAY, "low": 0.95},
        {**_DAY, "low": 1.1},
        {**_DAY, "high": 1.1},
        {**_DAY, "low": -0.1},
        *(
            {**_DAY, "phase": bad}
            for bad in ("random", float("inf"), [], ["uniform"], [0.0, True], {"kind": "uniform"})
        ),
    ],
    "star": [{"latency": -0.1}, {"latency": []}, {"latency": [0.1, float("inf")]}, {"edges": 1}],
    "waxman": [
        {"alpha": 0.0, "beta": 1.0, "latency_per_distance": 1.0},
        {"alpha": 1.0, "beta": 1.1, "latency_per_distance": 1.0},
        {"alpha": 1.0, "beta": 1.0, "latency_per_distance": -1.0},
    ],
    "geometric": [
        {"radius": 0.0, "latency_per_distance": 1.0},
        {"radius": 1.0, "latency_per_distance": 1.0, "graph": 0},
    ],
    "scale-free": [
        {"edges": 0, "latency": _LAW},
        *({"edges": 1, "latency": bad} for bad in _NO_LAW),
        *(
            {"edges": 1, "latency": _LAW, "failures": {"gap": bad, "length": _LAW}}
            for bad in _BAD_PERIODS
        ),
        {"edges": 1, "latency": _LAW, "failures": {"gap": _LAW}},
    ],
    "file": [{"path": ["a.csv"]}, {"path": "a.csv", "latency": 1.0}],
    "uniform": [{"low": 1.0, "high": 1.0}, {"low": 2.0, "high": 1.0}, {"low": 0.0, "high": 0.0}],
    "empirical": [
        {},
        {"values": []},
        {"values": [0.1, -0.1]},
        {"values": 0.1},
        {"values": [0.1], "column": "ms"},
        {"values": [0.1], "unit": 0.001},
        {"values": [0.1], "path": "pings.csv"},
        {"path": "pings.csv"},
        {"path": "nowhere.csv", "column": "ms"},
    ],
    "constant": [{"value": float("inf")}],
    "exponential": [{"mean": 0.0}, {"mean": float("inf")}],
    "lognormal": [{"mean": 1.0, "cv": 0.0}, {"mean": 0.0, "cv": 1.0}],
    "gamma": [{"mean": 1.0, "rate": 1.0, "cv": 0.0}],
    "poisson": [
        {"population": "all"},
        {"rate": 0.0},
        {"rate": []},
        {"rate": [1.0, -1.0]},
        {"rate": float("inf")},
    ],
    "deterministic": [{"rate": 0.0}, {"phase": -0.1}, {"phase": [0.0, -0.1]}],
    "scripted": [{"times": []}, {"times": [[-1.0]]}, {"times": [1.0]}, {"times": [[float("inf")]]}],
    "saturated": [{"rate": 1.0}],
    "async-gossip": [
        {},
        {"rho": 1.0, "step": 1.0},
        {"step": 0.0},
        {"rho": 0.0},
        {"rho": float("inf")},
        {"rho": 1.0, "central_step": "printed"},
        {"rho": 1.0, "initial": "twos"},
        {"rho": 1.0, "selection": "unknown"},
    ],
    "collab-1": [{"rho": 0.0}, {"rho": 1.0, "trim": -1}, {"rho": 1.0, "initial": "twos"}],
    "collab-2": [{"step": 0.0}, {"step": 1.0, "trim": 0.5}, {"rho": 1.0}],
    "parameter-server": [
        {"step": 0.0},
        {"step": 1.0, "exponent": 1.5},
        {"step": 1.0, "exponent": -0.5},
        {"step": 1.0, "batch": 0},
    ],
    "fedasync": [
        {"step": 0.0, "mixing": 0.5},
        {"step": 1.0, "mixing": 0.0},
        {"step": 1.0, "mixing": 1.5},
        {"step": 1.0, "mixing": 0.5, "weighting": "late"},
        {"step": 1.0, "mixing": 0.5, "exponent": -0.5},
        {"step": 1.0, "mixing": 0.5, "patience": -1.0},
    ],
    "gossip-graph": [
        {},
        {"rho": 1.0, "step": 1.0},
        {"step": 0.0},
        {"rho": 0.0},
        {"rho": 1.0, "initial": "twos"},
        {"rho": 1.0, "judged": "mean"},
        {"rho": 1.0, "central_step": "text"},
    ],
    "averaging": [
        {"step": 0.0},
        {"step": 1.0, "initial": "uniform"},
        {"step": 1.0, "judged": "mean"},
        {"step": 1.0, "rho": 1.0},
    ],
    "node": [{"colluding": bad} for bad in (2, [0], [1.5], ["1"])],
    "polar": _spoilt(
        _POLAR,
        [{"step": 0.0}, {"exponent": 0.5}, {"exponent": 1.1}, {"additive_bound": -0.1}],
        [{"weight_total": 0.0}, {"weight_bound": 1.9}, {"weight_bound": 1e13}],
        [{"every_step": 1}, {"per_coordinate": "yes"}, {"batch": 0}, {"initial": "twos"}],
    ),
    "noisy-statistics": [{"gram_share": 0.0}, {"gram_share": 1.0}, {"caution": 0.0}, {"rho": 1.0}],
    "all": [{"bound": 1.0}],
    "trim": [
        {"bound": 0.0},
        {"bound": float("inf")},
        {"quantile": 0.0},
        {"quantile": 1.0},
        {"bound": 1.0, "quantile": 0.5},
    ],
    "flip": [
        {"owners": [0]},
        {"owners": [1.0]},
        {"owners": [True]},
        {"owners": [1], "factor": 0.0},
        {"owners": [1], "factor": float("inf")},
    ],
    "scale": [
        {"owners": 2, "factor": 1.0},
        {"owners": [2], "factor": float("inf")},
    ],
    "ridge": [*_BAD_MODELS, {"regularisation": 1.0, "delta": 1.0}],
    "logistic": _BAD_MODELS,
    "svm": [*_BAD_MODELS, {"regularisation": 1.0, "intercept": False}],
    "huber": [
        *({"delta": 1.0, **bad} for bad in _BAD_MODELS),
        *({"regularisation": 1.0, "delta": bad} for bad in (0.0, float("inf"))),
    ],
    "softmax": [
        *({"classes": 3, **bad} for bad in _BAD_MODELS),
        *({"regularisation": 1.0, "classes": bad} for bad in (1, 2.0, 10_001)),
        {"regularisation": 1.0, "classes": 3, "delta": 1.0},
    ],
    "mlp": [
        *({"hidden": 2, **bad} for bad in _BAD_MODELS),
        *({"regularisation": 1.0, "hidden": bad} for bad in (0, 1.5, [2, 2])),
        {"regularisation": 1.0, "hidden": 2, "loss": "hinge"},
        {"regularisation": 1.0, "hidden": 2, "delta": 1.0},
    ],
    "per-owner-cap": [{"answers": 0}, {"answers": 1.5}, {"answers": []}, {"answers": [1, 0]}],
    "scheduled": [
        {},
        {"answers": 4},
        {"growth": 1.1},
        {"answers": 2, "shares": [1.0, 2.0]},
        {"growth": 1.1, "shares": [1.0, 2.0]},
        {"answers": 0, "growth": 1.1},
        {"answers": 4, "growth": 0.0},
        {"answers": 4, "power": float("inf")},
        {"shares": [1.0, 0.0]},
        {"shares": []},
    ],
    "until-spent": [
        {},
        {"answers": 4, "per_answer": 0.1},
        *({"answers": bad} for bad in (0, 1.5, [], [1, 0])),
        *({"per_answer": bad} for bad in (0.0, float("inf"), [], [0.1, -0.1])),
    ],
    "declared": [{"bound": 0.0}, {"bound": 1.0, "norm": "l3"}],
    "clip": [{"bound": 0.0}, {"bound": 1.0, "norm": "l3"}],
    "domain": [
        {"row_norm": 0.0, "target_max": 1.0},
        {"row_norm": 1.0, "target_max": 0.0},
        *({"row_norm": 1.0, "target_max": 1.0, "rows": bad} for bad in ("l3", "l2-as-published")),
    ],
}


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
            fine = NOT_SO_BAD.get((kind_of(member), name), [])
            fine = [*fine, *([None] if name in OPTIONAL else [])]
            fine = [*fine, *(["much"] if name in TEXTS else [])]
            if not any(bad is value or bad == value for value in fine):
                yield {**good, name: bad}
    yield from BAD_COMBINATIONS.get(kind_of(member), [])
