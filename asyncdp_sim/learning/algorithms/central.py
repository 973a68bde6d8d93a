"""What algorithms with one model have in common: its start, its queries, weights of stale answers.

Owners keep no copies: a query is θ itself, and a step is taken from θ as it was read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault
from asyncdp_sim.spec import NonNegative, Positive, Spec
from asyncdp_sim.streams import Scope

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Weighting = Literal["constant", "polynomial", "hinge"]


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

    def move(self, model: Array, theta_max: float | None) -> None:
        """Make Π_Θ[model] the model."""
        if theta_max is not None:
            outside = np.abs(model).max(axis=1) > theta_max
            if outside.any():
                self.clipped += outside
                np.clip(model, -theta_max, theta_max, out=model)
        self.central = model


@dataclass(frozen=True, eq=False, kw_only=True)
class CentralSteps:
    """The numbers that all algorithms with one model need.

    Attributes
    ----------
    n_owners, n_features : int
        N, p.
    step : array (N,)
        η N n_i/n.
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
    weighting: Weighting
    exponent: float
    patience: float
    theta_max: float | None
    initial: Literal["zeros", "ones", "uniform"]

    @property
    def apply_at(self) -> Literal["as-read"]:
        """Steps are taken from the model as it was read."""
        return "as-read"

    def start(self, replicates: Sequence[Scope]) -> Array:
        """Return the models at k = 0, one row per replicate."""
        if self.initial == "uniform":
            draws = [scope.generator("initial").random(self.n_features) for scope in replicates]
            return np.stack(draws)
        shape = (len(replicates), self.n_features)
        return np.full(shape, 0.0 if self.initial == "zeros" else 1.0)

    def query(self, state: CentralState, owners: Indices, rows: Indices | None = None) -> Array:
        """Return θ for each replicate in ``rows`` (all of them by default), shape (R, p)."""
        return state.central[np.arange(len(owners)) if rows is None else rows]

    central = query

    def weight(self, staleness: Indices) -> Array:
        """Return w(s), elementwise."""
        late = staleness.astype(float)
        if self.weighting == "constant":
            return np.ones_like(late)
        if self.weighting == "polynomial":  # scalar powers: vectorised ones differ between CPUs
            return np.array([(1.0 + s) ** -self.exponent for s in late.tolist()])
        beyond = np.maximum(late - self.patience, 0.0)
        return 1 / (self.exponent * beyond + 1)


class CentralSpec(Spec):
    """What the specifications of algorithms with one model have in common.

    Owner i's answer stands for one local step. Its expectation over uniform i is the gradient of
    the whole objective, so owners that answer unequally often bias it, as they do async-gossip.

    Attributes
    ----------
    step : float
        η > 0, the owners' step.
    weighting : str
        "polynomial", "constant" or "hinge"; see :class:`CentralSteps`.
    exponent : float
        a ≥ 0 of polynomial and hinge.
    patience : float
        b ≥ 0 of hinge.
    initial : str
        "zeros", "ones" or "uniform" on [0, 1).
    """

    step: Positive
    weighting: Weighting = "polynomial"
    exponent: NonNegative = 0.5
    patience: NonNegative = 0.0
    initial: Literal["zeros", "ones", "uniform"] = "zeros"

    @property
    def selection(self) -> Literal["uniform"]:
        """It takes all owners to be equally likely."""
        return "uniform"

    def faults(self, protocol: Any) -> list[Fault]:
        """Return what does not suit an algorithm without owners' copies in a protocol."""
        if protocol.asks == "average" and protocol.kind == "broadcast":
            kind = getattr(self, "kind", "")
            allowed = f'algorithm {kind} has one model: allowed is payload = "central"'
            return [Fault("protocol.payload", repr(protocol.payload), allowed)]
        return []

    def numbers(self, weights: Array, n_features: int, theta_max: float | None) -> dict[str, Any]:
        """Return the fields of :class:`CentralSteps`."""
        return {
            "n_owners": len(weights),
            "n_features": n_features,
            "step": self.step * len(weights) * weights,
            "weighting": self.weighting,
            "exponent": self.exponent,
            "patience": self.patience,
            "theta_max": theta_max,
            "initial": self.initial,
        }
