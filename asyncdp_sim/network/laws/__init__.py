"""Laws of durations: latency, computing time, and whatever else takes time."""

from typing import Annotated

from pydantic import AfterValidator

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
from asyncdp_sim.spec.validation import faults_of, show

Law = Annotated[
    NoTime | Constant | Exponential | Lognormal | Gamma | Uniform | Empirical,
    FAMILY,
]
"""Every law; a new one joins by its line here."""


def too_short(law: LawKind, key: str = "") -> Fault:
    """Return what is wrong with a law whose durations have a mean of less than a tick."""
    rule = "allowed is a law with a mean of at least a tick, 1e-9"
    return Fault(key, show(law.model_dump()), rule)


def _lasting(law: LawKind) -> LawKind:
    """Refuse a law whose durations have a mean of less than a tick."""
    if law.instant or law.mean < 1 / TICKS_PER_UNIT:
        raise faults_of([too_short(law)])
    return law


LastingLaw = Annotated[Law, AfterValidator(_lasting)]
"""A law of durations that take time."""


__all__ = [
    "Constant",
    "Empirical",
    "Exponential",
    "Gamma",
    "LastingLaw",
    "Law",
    "LawKind",
    "Lognormal",
    "NoTime",
    "Source",
    "Uniform",
    "too_short",
]
