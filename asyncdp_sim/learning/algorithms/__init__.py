"""Learning algorithms as scenarios name them, and their steps on arrays of rows."""

from typing import Annotated

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.specification import FAMILY
from asyncdp_sim.learning.algorithms.central import FedAsync, FedBuff
from asyncdp_sim.learning.algorithms.gathered import Collab1, Collab2, ParameterServer
from asyncdp_sim.learning.algorithms.gossip import (
    AsyncGossip,
    Averaging,
    AveragingSteps,
    GossipGraph,
)
from asyncdp_sim.learning.algorithms.kind import AlgorithmSpec, Schedule
from asyncdp_sim.learning.algorithms.noisy_statistics import NoisyStatistics
from asyncdp_sim.learning.algorithms.polar import Polar
from asyncdp_sim.learning.algorithms.steps import (
    Algorithm,
    AnswerBatch,
    Asks,
    CellRows,
    Gradients,
    LocalSteps,
    Setting,
    Wrapped,
)

AnyAlgorithm = Annotated[
    AsyncGossip
    | Collab1
    | Collab2
    | ParameterServer
    | FedAsync
    | FedBuff
    | NoisyStatistics
    | GossipGraph
    | Averaging
    | Polar,
    FAMILY,
]
"""Every algorithm; a new one joins by its line here."""
