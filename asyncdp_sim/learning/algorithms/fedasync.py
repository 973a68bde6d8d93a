"""Asynchronous federated optimisation: models mixed by how stale they are (FedAsync)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from asyncdp_sim.errors import Fault
from asyncdp_sim.learning.algorithms.central import (
    CentralState,
    CentralSteps,
    Weighting,
    one_model,
)
from asyncdp_sim.spec import NonNegative, Positive, Spec
from asyncdp_sim.streams import Scope

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class FedAsyncSteps(CentralSteps):
    """FedAsync with its numbers filled in, one noisy gradient for each answer.

    With θ_τ the model as read, s updates ago, and Q the owner's answer at θ_τ:

    x = θ_τ − η (σθ_τ + N (n_i/n) Q),  θ ← Π_Θ[(1 − α_s) θ + α_s x],  α_s = α w(s).

    Attributes
    ----------
    shrink : float
        1 − ησ.
    mixing : float
        α.
    """

    shrink: float
    mixing: float

    @property
    def answers_per_update(self) -> Literal[1]:
        """Every answer is an update."""
        return 1

    def init(self, replicates: Sequence[Scope]) -> CentralState:
        """Return the models at k = 0, one row per replicate."""
        return CentralState(self.start(replicates), np.zeros(len(replicates), dtype=np.int64))

    def apply(
        self,
        state: CentralState,
        owners: Indices,
        points: Array,
        answers: Array,
        staleness: Indices | None = None,
    ) -> None:
        """Advance each replicate by one update from the answers at ``points``, read s ago."""
        answers *= self.step[owners, None]
        local = self.shrink * points
        local -= answers
        weight = np.full((len(owners), 1), self.mixing)
        if staleness is not None:
            weight *= self.weight(staleness)[:, None]
        state.move(state.central + weight * (local - state.central), self.theta_max)


class FedAsync(Spec):
    """Staleness-weighted asynchronous learning (Xie, Koyejo and Gupta 2019), under DP.

    Owner i's answer stands for one local step. Its expectation over uniform i is the gradient of
    the whole objective, so owners that answer unequally often bias it, as they do async-gossip.

    Attributes
    ----------
    step : float
        η > 0, the local step.
    mixing : float
        α in (0, 1].
    weighting : str
        "polynomial", "constant" or "hinge"; see
        :class:`~asyncdp_sim.learning.algorithms.central.CentralSteps`.
    exponent : float
        a ≥ 0 of polynomial and hinge.
    patience : float
        b ≥ 0 of hinge.
    initial : str
        "zeros", "ones" or "uniform" on [0, 1).
    """

    kind: Literal["fedasync"] = "fedasync"
    step: Positive
    mixing: Annotated[float, Field(gt=0, le=1)]
    weighting: Weighting = "polynomial"
    exponent: NonNegative = 0.5
    patience: NonNegative = 0.0
    initial: Literal["zeros", "ones", "uniform"] = "zeros"

    def faults(self, protocol: Any) -> list[Fault]:
        """Return what does not suit this algorithm in a protocol."""
        return one_model(self.kind, protocol)

    @property
    def answers_per_update(self) -> Literal[1]:
        """Every answer is an update."""
        return 1

    @property
    def selection(self) -> Literal["uniform"]:
        """It takes all owners to be equally likely."""
        return "uniform"

    def steps(
        self,
        weights: Array,
        n_features: int,
        horizon: int,  # noqa: ARG002
        sigma: float,
        theta_max: float | None,
        shares: Array | None = None,  # noqa: ARG002
    ) -> FedAsyncSteps:
        """Fill in the numbers; see :meth:`AsyncGossip.steps` for the parameters."""
        return FedAsyncSteps(
            n_owners=len(weights),
            n_features=n_features,
            step=self.step * len(weights) * weights,
            shrink=1 - self.step * sigma,
            mixing=self.mixing,
            weighting=self.weighting,
            exponent=self.exponent,
            patience=self.patience,
            theta_max=theta_max,
            initial=self.initial,
        )
