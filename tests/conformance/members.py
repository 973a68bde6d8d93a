"""The members of each family, read from its union, and an example or more of each.

A new member joins by being in the union; until it has an example here, its suite fails.
"""

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from pydantic_core import PydanticUndefined

from asyncdp_sim.learning.algorithms import Algorithm
from asyncdp_sim.network.availability import Availability
from asyncdp_sim.network.clocks import Clock
from asyncdp_sim.network.laws import Law
from asyncdp_sim.privacy.budget import Budget
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.spec import Spec


def members(union: Any) -> list[type[Spec]]:
    """The classes of a union, be it annotated, plain, or a single class."""
    if isinstance(union, type):
        return [union]
    inner = get_args(union)[0] if get_origin(union) is Annotated else union
    return [inner] if isinstance(inner, type) else list(get_args(inner))


def kind(member: type[Spec]) -> str:
    return str(get_args(member.model_fields["kind"].annotation)[0])


def exponential(mean: float) -> dict[str, Any]:
    return {"kind": "exponential", "mean": mean}


EXAMPLES: dict[Any, dict[str, list[dict[str, Any]]]] = {
    Law: {
        "none": [{}],
        "constant": [{"value": 0.0}, {"value": 0.3}],
        "exponential": [{"mean": 0.05}, {"mean": 20.0}],
        "lognormal": [{"mean": 0.02, "cv": 1.0}, {"mean": 3.0, "cv": 0.2}],
        "gamma": [{"mean": 0.5, "cv": 0.5}, {"mean": 2.0, "cv": 1.5}],
        "uniform": [{"low": 0.0, "high": 1.0}, {"low": 0.5, "high": 0.6}],
        "empirical": [{"values": [0.0, 0.1, 0.1, 2.0]}, {"values": [0.25]}],
    },
    Clock: {
        "poisson": [{"rate": 1.0}, {"rate": [0.2, 1.0, 30.0]}],
        "gamma": [{"rate": 2.0, "cv": 0.5}, {"rate": [0.2, 1.0, 30.0], "cv": 2.0}],
        "deterministic": [
            {"rate": 3.0},
            {"rate": [0.2, 1.0, 30.0], "phase": 0.5},
            {"rate": 1.0, "phase": [0.0, 0.1, 0.2]},
        ],
        "scripted": [{"times": [[0.0, 1.0, 1.5], [], [2.0]]}],
        "saturated": [{}],
    },
    Availability: {
        "always": [{}],
        "bernoulli": [{"probability": 0.3}, {"probability": [0.0, 0.5, 1.0]}],
        "on-off": [
            {"on": exponential(1.0), "off": exponential(0.5)},
            {
                "on": {"kind": "uniform", "low": 0.0, "high": 1.0},
                "off": {"kind": "gamma", "mean": 0.3, "cv": 2.0},
            },
            {
                "on": {"kind": "empirical", "values": [0.0, 0.1, 1.0]},
                "off": {"kind": "constant", "value": 0.7},
            },
        ],
        "diurnal": [
            {"period": 1.5, "low": 0.1, "high": 0.9},
            {"period": 2.0, "low": 0.0, "high": 0.6, "phase": "uniform"},
            {"period": 1.0, "low": 0.2, "high": 1.0, "phase": [0.0, -0.25, 0.5]},
        ],
        "churn": [
            {"join": exponential(2.0), "lifetime": exponential(4.0)},
            {"lifetime": {"kind": "uniform", "low": 1.0, "high": 9.0}},
            {"join": {"kind": "constant", "value": 0.0}},
        ],
        "outages": [
            {"groups": [[1, 2], [3, 2]], "gap": exponential(1.0), "length": exponential(0.5)},
            {
                "groups": [[2]],
                "gap": {"kind": "uniform", "low": 0.5, "high": 1.0},
                "length": {"kind": "lognormal", "mean": 0.5, "cv": 1.0},
            },
            {
                "groups": [[1], [1, 3], [3]],
                "gap": {"kind": "gamma", "mean": 0.4, "cv": 0.7},
                "length": {"kind": "empirical", "values": [0.0, 0.1, 0.4]},
            },
        ],
    },
    Algorithm: {
        "async-gossip": [
            {"rho": 20.0},
            {"rho": 20.0, "central_step": "text", "initial": "uniform"},
            {"rho": 5.0, "initial": "ones"},
        ],
    },
    Budget: {
        "horizon": [{}],
        "per-owner-cap": [{"answers": 4}, {"answers": [1, 2, 3]}],
    },
    Sensitivity: {
        "declared": [{"bound": 5.0}, {"bound": 5.0, "norm": "l2-as-published"}],
        "clip": [{"bound": 5.0}, {"bound": 5.0, "norm": "l2-as-published"}],
        "domain": [
            {"row_norm": 1.0, "target_max": 2.0},
            {"row_norm": 1.0, "target_max": 2.0, "norm": "l2-as-published"},
        ],
    },
}
FAMILIES = {
    "law": Law,
    "clock": Clock,
    "availability": Availability,
    "algorithm": Algorithm,
    "budget": Budget,
    "sensitivity": Sensitivity,
}


def examples(union: Any) -> list[Spec]:
    """One spec or more of each member."""
    return [
        member(**fields)
        for member in members(union)
        for fields in EXAMPLES[union].get(kind(member), [])
    ]


def said(spec: Spec) -> str:
    """A test id."""
    fields = spec.model_dump(exclude={"kind"}, exclude_defaults=True)
    return "-".join([str(spec.kind), *(f"{k}={v}" for k, v in fields.items())]).replace(" ", "")


BAD_NUMBERS = [-1.0, float("nan"), "much", True, None]
NOT_SO_BAD = {("diurnal", "phase"): [-1.0]}
"""What is no bad number for the field of this member."""

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
    [[]],
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
BAD_COMBINATIONS: dict[str, list[dict[str, Any]]] = {
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
    "uniform": [{"low": 1.0, "high": 1.0}, {"low": 2.0, "high": 1.0}, {"low": 0.0, "high": 0.0}],
    "empirical": [{"values": []}, {"values": [0.1, -0.1]}, {"values": 0.1}],
    "constant": [{"value": float("inf")}],
    "exponential": [{"mean": 0.0}, {"mean": float("inf")}],
    "lognormal": [{"mean": 1.0, "cv": 0.0}, {"mean": 0.0, "cv": 1.0}],
    "gamma": [{"mean": 1.0, "rate": 1.0, "cv": 0.0}],
    "poisson": [{"rate": 0.0}, {"rate": []}, {"rate": [1.0, -1.0]}, {"rate": float("inf")}],
    "deterministic": [{"rate": 0.0}, {"phase": -0.1}, {"phase": [0.0, -0.1]}],
    "scripted": [{"times": []}, {"times": [[-1.0]]}, {"times": [1.0]}, {"times": [[float("inf")]]}],
    "saturated": [{"rate": 1.0}],
    "async-gossip": [
        {"rho": 0.0},
        {"rho": float("inf")},
        {"rho": 1.0, "central_step": "printed"},
        {"rho": 1.0, "initial": "twos"},
        {"rho": 1.0, "selection": "unknown"},
    ],
    "per-owner-cap": [{"answers": 0}, {"answers": 1.5}, {"answers": []}, {"answers": [1, 0]}],
    "declared": [{"bound": 0.0}, {"bound": 1.0, "norm": "l3"}],
    "clip": [{"bound": 0.0}, {"bound": 1.0, "norm": "l3"}],
    "domain": [{"row_norm": 0.0, "target_max": 1.0}, {"row_norm": 1.0, "target_max": 0.0}],
}


def bad_fields(union: Any) -> Iterator[tuple[type[Spec], dict[str, Any]]]:
    """Wrong parameters of each member: unknown, missing, not numbers, not allowed together."""
    for member in members(union):
        good = EXAMPLES[union][kind(member)][0]
        yield member, {**good, "no_such_field": 1}
        for name, field in member.model_fields.items():
            if name == "kind":
                continue
            if field.default is PydanticUndefined:
                yield member, {k: v for k, v in good.items() if k != name}
            for bad in BAD_NUMBERS:
                if bad not in NOT_SO_BAD.get((kind(member), name), []):
                    yield member, {**good, name: bad}
        for fields in BAD_COMBINATIONS.get(kind(member), []):
            yield member, fields
