"""The steps of an algorithm, seen from what drives them: a state, queries, answers, updates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from asyncdp_sim.streams import Scope

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Asks = Literal["average", "central"]
"""Where gradients are taken: at the owner's (θ_L + θ_i)/2, or at θ_L."""


@dataclass(frozen=True, eq=False)
class Setting:
    """The numbers of a scenario that algorithms are filled in with.

    Attributes
    ----------
    weights : array (N,)
        n_i/n.
    n_features, horizon : int
        p and T.
    sigma : float
        σ.
    theta_max : float or None
        The box Θ.
    shares : array (N,), optional
        π_i, each owner's share of the updates, where it is known.
    protocol : Protocol, optional
        How owners and learner talk, for algorithms that need to know.
    """

    weights: Array
    n_features: int
    horizon: int
    sigma: float
    theta_max: float | None
    shares: Array | None = None
    protocol: Any = None

    @property
    def n_owners(self) -> int:
        """N."""
        return len(self.weights)


@dataclass(frozen=True, eq=False, slots=True)
class Turn:
    """One answer of each replicate that has one.

    Attributes
    ----------
    owners : array of int (r,)
        Whose answers, from 0.
    staleness : array of int (r,), optional
        Updates between the read and the use; none were made where absent.
    peers : array of int (r,), optional
        Whose model was read, where there are several; see ``peer`` of a trace.
    rows : array of int (r,), optional
        The replicates, from 0, in rising order; all of them where absent.
    """

    owners: Indices
    staleness: Indices | None = None
    peers: Indices | None = None
    rows: Indices | None = None

    @property
    def replicates(self) -> Indices:
        """The replicates, from 0."""
        return np.arange(len(self.owners)) if self.rows is None else self.rows


class Steps(Protocol):
    """An algorithm with its numbers filled in; the state belongs to the caller."""

    @property
    def n_features(self) -> int:
        """Number of coordinates p."""

    @property
    def answer_size(self) -> int:
        """How many numbers an answer has; p for a gradient."""

    @property
    def answers_per_update(self) -> int | None:
        """How many answers make one update; None where the protocol decides each time."""

    @property
    def apply_at(self) -> Literal["current", "as-read"]:
        """Where a stale answer's step is taken from."""

    def init(self, replicates: Sequence[Scope]) -> Any:
        """Return the state at k = 0; its ``central`` (R, p) is the model that is judged."""

    def query(self, state: Any, turn: Turn) -> Array:
        """Return the points that are sent to the owners, shape (r, p)."""

    def central(self, state: Any, turn: Turn) -> Array:
        """Return the central models, shape (r, p): what a broadcast sends."""

    def apply(self, state: Any, turn: Turn, points: Array, answers: Array) -> None:
        """Take one answer for each replicate of the turn; may overwrite points and answers."""

    def update(self, state: Any, rows: Indices | None = None) -> None:
        """Complete an update of the answers taken since the last one, in these replicates."""
