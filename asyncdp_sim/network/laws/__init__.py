"""Laws of durations: latency, computing time, and whatever else takes time."""

from collections.abc import Mapping
from typing import Annotated

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network.laws.empirical import Empirical
from asyncdp_sim.network.laws.kind import (
    Constant,
    Exponential,
    Gamma,
    LawKind,
    Lognormal,
    NoTime,
    Source,
    Uniform,
)
from asyncdp_sim.spec.registry import FAMILY
from asyncdp_sim.spec.validation import show

Law = Annotated[
    NoTime | Constant | Exponential | Lognormal | Gamma | Uniform | Empirical,
    FAMILY,
]
"""Every law; a new one joins by its line here."""


def too_short(laws: Mapping[str, Law]) -> list[Fault]:
    """Return a fault for each law, by its key, whose mean is below one tick."""
    rule = "allowed is a law with a mean of at least a tick, 1e-9"
    return [
        Fault(key, show(law.model_dump()), rule)
        for key, law in laws.items()
        if law.instant or law.mean < 1 / TICKS_PER_UNIT
    ]


__all__ = [
    "Constant",
    "Empirical",
    "Exponential",
    "Gamma",
    "Law",
    "LawKind",
    "Lognormal",
    "NoTime",
    "Source",
    "Uniform",
    "too_short",
]
