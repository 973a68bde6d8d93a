"""What is minimised: models as scenarios name them, fitness, gradients, optimum, constants."""

from typing import Annotated

from pydantic import Field

from asyncdp_sim.learning.objectives.constants import Constants, constants
from asyncdp_sim.learning.objectives.huber import Huber, HuberLoss
from asyncdp_sim.learning.objectives.linear import LinearObjective
from asyncdp_sim.learning.objectives.logistic import Logistic, LogisticLoss
from asyncdp_sim.learning.objectives.losses import Loss
from asyncdp_sim.learning.objectives.models import LinearModel
from asyncdp_sim.learning.objectives.objective import Objective
from asyncdp_sim.learning.objectives.quadratic import Quadratic
from asyncdp_sim.learning.objectives.records import LinearRecords, Norm
from asyncdp_sim.learning.objectives.ridge import Ridge
from asyncdp_sim.learning.objectives.squared import Squared
from asyncdp_sim.learning.objectives.svm import SVM, Hinge

Model = Annotated[Ridge | Logistic | SVM | Huber, Field(discriminator="kind")]
"""Every model; a new one joins the union here."""

__all__ = [
    "SVM",
    "Constants",
    "Hinge",
    "Huber",
    "HuberLoss",
    "LinearModel",
    "LinearObjective",
    "LinearRecords",
    "Logistic",
    "LogisticLoss",
    "Loss",
    "Model",
    "Norm",
    "Objective",
    "Quadratic",
    "Ridge",
    "Squared",
    "constants",
]
