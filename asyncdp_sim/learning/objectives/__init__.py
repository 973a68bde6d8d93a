"""Models as scenarios name them: the fitness that is minimised, its gradients and optimum."""

from typing import Annotated

from asyncdp_sim.core.specification import FAMILY
from asyncdp_sim.learning.objectives.losses import Loss, Squared
from asyncdp_sim.learning.objectives.mlp import MLP
from asyncdp_sim.learning.objectives.models import (
    SVM,
    Constants,
    Logistic,
    Objective,
    Quadratic,
    Ridge,
    constants,
)
from asyncdp_sim.learning.objectives.records import LinearRecords, Norm, Records
from asyncdp_sim.learning.objectives.softmax import Softmax

Model = Annotated[Ridge | Logistic | SVM | Softmax | MLP, FAMILY]
"""Every model; a new one joins by its line here."""
