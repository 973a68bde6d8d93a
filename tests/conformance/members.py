"""The members of each family, read from its union, and an example or more of each.

A new member joins by being in the union; until it has an example here, its suite fails.
"""

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from pydantic_core import PydanticUndefined

from asyncdp_sim.learning.algorithms import Algorithm
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
BAD_COMBINATIONS: dict[str, list[dict[str, Any]]] = {
    "uniform": [{"low": 1.0, "high": 1.0}, {"low": 2.0, "high": 1.0}, {"low": 0.0, "high": 0.0}],
    "empirical": [{"values": []}, {"values": [0.1, -0.1]}, {"values": 0.1}],
    "constant": [{"value": float("inf")}],
    "exponential": [{"mean": 0.0}, {"mean": float("inf")}],
    "lognormal": [{"mean": 1.0, "cv": 0.0}, {"mean": 0.0, "cv": 1.0}],
    "gamma": [{"mean": 1.0, "rate": 1.0, "cv": 0.0}],
    "poisson": [{"rate": 0.0}, {"rate": []}, {"rate": [1.0, -1.0]}, {"rate": float("inf")}],
    "deterministic": [{"rate": 0.0}, {"phase": -0.1}, {"phase": [0.0, -0.1]}],
    "scripted": [{"times": []}, {"times": [[-1.0]]}, {"times": [1.0]}, {"times": [[float("inf")]]}],
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
                yield member, {**good, name: bad}
        for fields in BAD_COMBINATIONS.get(kind(member), []):
            yield member, fields
