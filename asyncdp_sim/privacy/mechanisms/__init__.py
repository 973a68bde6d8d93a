"""Mechanisms: what hides answers, one file for each kind."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, WrapSerializer

from asyncdp_sim.privacy.mechanisms.discrete_laplace import (
    FINEST,
    DiscreteLaplaceMechanism,
    DiscreteLaplaceNoise,
    grid_steps,
)
from asyncdp_sim.privacy.mechanisms.gaussian import GaussianMechanism, GaussianNoise
from asyncdp_sim.privacy.mechanisms.kind import Allowance, Influence, MechanismKind
from asyncdp_sim.privacy.mechanisms.laplace import LaplaceMechanism, LaplaceNoise
from asyncdp_sim.privacy.mechanisms.noise import AnswerNoise, Shape, laplace_scale
from asyncdp_sim.privacy.mechanisms.none import NoMechanism, NoNoise
from asyncdp_sim.privacy.mechanisms.staircase import StaircaseMechanism, StaircaseNoise


def _spelled_out(given: Any) -> Any:
    """Return a table where a kind stands alone."""
    return given if isinstance(given, Mapping | MechanismKind) else {"kind": given}


def _bare(mechanism: MechanismKind, handler: SerializerFunctionWrapHandler) -> Any:
    """Return the kind alone where nothing else is said."""
    fields = type(mechanism).model_fields.items()
    said = any(getattr(mechanism, name) != field.default for name, field in fields)
    return handler(mechanism) if said else mechanism.kind


Mechanism = Annotated[
    LaplaceMechanism
    | GaussianMechanism
    | DiscreteLaplaceMechanism
    | StaircaseMechanism
    | NoMechanism,
    Field(discriminator="kind"),
    BeforeValidator(_spelled_out),
    WrapSerializer(_bare),
]
"""Every mechanism, named by its kind alone or by a table; a new one joins by its line here."""

__all__ = [
    "FINEST",
    "Allowance",
    "AnswerNoise",
    "DiscreteLaplaceNoise",
    "GaussianNoise",
    "Influence",
    "LaplaceMechanism",
    "LaplaceNoise",
    "Mechanism",
    "MechanismKind",
    "NoMechanism",
    "NoNoise",
    "Shape",
    "StaircaseNoise",
    "grid_steps",
    "laplace_scale",
]
