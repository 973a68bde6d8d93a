"""Learning algorithms, one file each, on arrays with a leading replicate axis."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import Field

from asyncdp_sim.learning.algorithms.async_gossip import AsyncGossip, GossipState, GossipSteps
from asyncdp_sim.learning.algorithms.fedasync import FedAsync, FedAsyncSteps
from asyncdp_sim.learning.algorithms.fedbuff import FedBuff, FedBuffSteps
from asyncdp_sim.streams import Scope

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

Algorithm = Annotated[AsyncGossip | FedAsync | FedBuff, Field(discriminator="kind")]
"""Every algorithm; a new one joins by its line here."""


class Steps(Protocol):
    """An algorithm with its numbers filled in; the state belongs to the caller."""

    @property
    def n_features(self) -> int:
        """Number of coordinates p."""

    @property
    def answers_per_update(self) -> int:
        """How many answers make one update."""

    def init(self, replicates: Sequence[Scope]) -> Any:
        """Return the state at k = 0; its ``central`` (R, p) is the model that is judged."""

    @property
    def apply_at(self) -> Literal["current", "as-read"]:
        """Where a stale answer's step is taken from."""

    def query(self, state: Any, owners: Indices, rows: Indices | None = None) -> Array:
        """Return the points that are sent to the owners (from 0), one per replicate in rows."""

    def central(self, state: Any, owners: Indices, rows: Indices | None = None) -> Array:
        """Return the central models, one per replicate in rows: what a broadcast sends."""

    def apply(
        self,
        state: Any,
        owners: Indices,
        points: Array,
        answers: Array,
        staleness: Indices | None = None,
    ) -> None:
        """Use one answer for each replicate, read so many updates before; may overwrite them.

        With the last of ``answers_per_update`` it advances by one update.
        """


Asks = Literal["average", "central"]
"""Where gradients are taken: at the owner's (θ_L + θ_i)/2, or at θ_L."""

__all__ = [
    "Algorithm",
    "Asks",
    "AsyncGossip",
    "FedAsync",
    "FedAsyncSteps",
    "FedBuff",
    "FedBuffSteps",
    "GossipState",
    "GossipSteps",
    "Steps",
]
