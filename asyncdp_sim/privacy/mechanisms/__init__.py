"""Mechanisms: the noise that hides records in answers, one file per kind."""

from typing import Annotated

from asyncdp_sim.core.specification import FAMILY_BY_NAME
from asyncdp_sim.learning.answers import AnswerNoise, Shape
from asyncdp_sim.privacy.mechanisms.gaussian import (
    Correlation,
    GaussianMechanism,
    GaussianNoise,
    LearnerNoise,
)
from asyncdp_sim.privacy.mechanisms.kind import (
    DiscreteLaplaceMechanism,
    DiscreteLaplaceNoise,
    LaplaceMechanism,
    LaplaceNoise,
    MechanismKind,
    NoMechanism,
    NoNoise,
    OwnerBudgets,
    RecordSensitivity,
    grid_steps,
    laplace_scale,
)

Mechanism = Annotated[
    LaplaceMechanism | GaussianMechanism | DiscreteLaplaceMechanism | NoMechanism,
    FAMILY_BY_NAME,
]
"""Every mechanism, named by its kind alone or by a table; a new one is added here."""
