"""Asynchronous federated optimisation: models mixed by how stale they are (FedAsync)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from asyncdp_sim.errors import Fault
from asyncdp_sim.spec import NonNegative, Positive, Spec
from asyncdp_sim.streams import Scope

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(eq=False)
class CentralState:
    """One model per replicate; advanced in place.

    Attributes
    ----------
    central : array (R, p)
        θ.
    clipped : array of int (R,)
        Updates in which the projection onto Θ changed the model.
    """

    central: Array
    clipped: Indices


@dataclass(frozen=True, eq=False)
class FedAsyncSteps:
    """FedAsync with its numbers filled in, one noisy gradient for each answer.

    With θ_τ the model as read, s updates ago, and Q the owner's answer at θ_τ:

    x = θ_τ − η (σθ_τ + N (n_i/n) Q),  θ ← Π_Θ[(1 − α_s) θ + α_s x],  α_s = α w(s).

    Attributes
    ----------
    n_owners, n_features : int
        N, p.
    step : array (N,)
        η N n_i/n.
    shrink : float
        1 − ησ.
    mixing : float
        α.
    weighting : str
        w(s): 1 ("constant"), (1+s)^(−a) ("polynomial"), or 1 for s ≤ b and 1/(a(s−b)+1) beyond
        ("hinge").
    exponent, patience : float
        a and b.
    theta_max : float or None
        The box Θ.
    initial : str
        Where the model starts.
    """

    n_owners: int
    n_features: int
    step: Array
    shrink: float
    mixing: float
    weighting: Literal["constant", "polynomial", "hinge"]
    exponent: float
    patience: float
    theta_max: float | None
    initial: Literal["zeros", "ones", "uniform"]

    @property
    def apply_at(self) -> Literal["as-read"]:
        """Steps are taken from the model as it was read."""
        return "as-read"

    def init(self, replicates: Sequence[Scope]) -> CentralState:
        """Return the models at k = 0, one row per replicate."""
        shape = (len(replicates), self.n_features)
        if self.initial == "uniform":
            draws = [scope.generator("initial").random(self.n_features) for scope in replicates]
            model = np.stack(draws)
        else:
            model = np.full(shape, 0.0 if self.initial == "zeros" else 1.0)
        return CentralState(model, np.zeros(len(replicates), dtype=np.int64))

    def query(self, state: CentralState, owners: Indices, rows: Indices | None = None) -> Array:
        """Return θ for each replicate in ``rows`` (all of them by default), shape (R, p)."""
        return state.central[np.arange(len(owners)) if rows is None else rows]

    central = query

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
        model = state.central + weight * (local - state.central)
        if self.theta_max is not None:
            outside = np.abs(model).max(axis=1) > self.theta_max
            if outside.any():
                state.clipped += outside
                np.clip(model, -self.theta_max, self.theta_max, out=model)
        state.central = model

    def weight(self, staleness: Indices) -> Array:
        """Return w(s), elementwise."""
        late = staleness.astype(float)
        if self.weighting == "constant":
            return np.ones_like(late)
        if self.weighting == "polynomial":  # scalar powers: vectorised ones differ between CPUs
            return np.array([(1.0 + s) ** -self.exponent for s in late.tolist()])
        beyond = np.maximum(late - self.patience, 0.0)
        return 1 / (self.exponent * beyond + 1)


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
        "polynomial", "constant" or "hinge"; see :class:`FedAsyncSteps`.
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
    weighting: Literal["constant", "polynomial", "hinge"] = "polynomial"
    exponent: NonNegative = 0.5
    patience: NonNegative = 0.0
    initial: Literal["zeros", "ones", "uniform"] = "zeros"

    def faults(self, protocol: Any) -> list[Fault]:
        """Return what does not suit this algorithm in a protocol."""
        if protocol.asks == "average" and protocol.kind == "broadcast":
            allowed = 'algorithm fedasync has one model: allowed is payload = "central"'
            return [Fault("protocol.payload", repr(protocol.payload), allowed)]
        return []

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
