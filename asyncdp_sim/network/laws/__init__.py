"""Laws of durations: latency, computing time, and whatever else takes time."""

from typing import Annotated

from pydantic import AfterValidator

from asyncdp_sim.core.errors import Fault, SpecError
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
from asyncdp_sim.spec.base import LONGEST
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


def in_a_row(law: LawKind, count: int) -> LawKind:
    """Return the law of ``count`` durations, one after another.

    Raises
    ------
    SpecError
        If it has no name, or a mean longer than durations may be. The key is the law's own.
    """
    if count * law.mean > LONGEST:
        rule = f"allowed with {count} local steps is at most 1e9 for all of them together"
        raise SpecError([Fault("", show(law.model_dump()), rule)])
    total = law.in_a_row(count)
    if total is None:
        rule = "allowed with local steps is none, constant, exponential or gamma"
        raise SpecError([Fault("kind", repr(law.kind), rule)])
    return total


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
    "in_a_row",
    "too_short",
]
