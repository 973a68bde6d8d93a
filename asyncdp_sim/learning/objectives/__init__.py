"""Models as scenarios name them: the fitness that is minimised, its gradients and optimum."""

from typing import Annotated

from asyncdp_sim.core.specification import FAMILY
from asyncdp_sim.learning.objectives.losses import Hinge, LogisticLoss, Loss, Squared
from asyncdp_sim.learning.objectives.mlp import (
    MLP,
    Perceptron,
    PerceptronObjective,
    PerceptronRecords,
)
from asyncdp_sim.learning.objectives.models import (
    SVM,
    Constants,
    LinearKind,
    LinearObjective,
    Logistic,
    Objective,
    Quadratic,
    Ridge,
    constants,
)
from asyncdp_sim.learning.objectives.records import LinearRecords, Norm, Records
from asyncdp_sim.learning.objectives.softmax import (
    Softmax,
    SoftmaxLoss,
    SoftmaxRecords,
)

Model = Annotated[Ridge | Logistic | SVM | Softmax | MLP, FAMILY]
"""Every model; a new one joins by its line here."""
