"""Owners' rows, whatever the model: how many there are, and how long they are."""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.objectives.largest import Bounded, largest_of_all
from asyncdp_sim.learning.objectives.losses import Array

Norm = Literal["l1", "l2"]


class JudgedRows:
    """Rows over which f and θ* are; a base of frozen dataclasses that hold them.

    Attributes
    ----------
    features : sequence of array (n_i, ·)
    targets : sequence of array (n_i,)
    """

    features: Sequence[Array]
    targets: Sequence[Array]

    @cached_property
    def records(self) -> npt.NDArray[np.int64]:
        """n_i, shape (N,)."""
        return np.array([len(y) for y in self.targets], dtype=np.int64)

    @cached_property
    def weights(self) -> Array:
        """n_i/n, shape (N,)."""
        return np.asarray(self.records / self.records.sum())

    @property
    def n_owners(self) -> int:
        """N."""
        return len(self.targets)

    @property
    def second_moments(self) -> None:
        """None: they do not tell f."""
        return

    @property
    def judge(self) -> None:
        """None: f and θ* are of the owners' rows."""
        return


class MeasuredRows:
    """Rows whose gradients are measured in a norm; a base of frozen dataclasses that hold them.

    Attributes
    ----------
    features : sequence of array (n_i, ·)
    targets : sequence of array (n_i,)
    norm : str
    """

    features: Sequence[Array]
    targets: Sequence[Array]
    norm: Norm

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """n_i, shape (N,)."""
        return np.array([len(y) for y in self.targets], dtype=np.int64)

    @cached_property
    def lengths(self) -> list[Array]:
        """‖x‖ of every row, one array per owner."""
        order = 1 if self.norm == "l1" else 2
        return [np.linalg.norm(x, ord=order, axis=1) for x in self.features]

    @cached_property
    def _spreads(self) -> list[Array]:
        """‖x‖₂ of every row, one array per owner: how far θᵀx goes for a step of θ."""
        if self.norm == "l2":
            return self.lengths
        return [np.linalg.norm(x, axis=1) for x in self.features]

    def largest_gradient(self: Bounded, models: Array) -> Array:
        """Return, per owner, the largest unclipped ‖∇ℓ‖ at any of the models (m, p), shape (N,)."""
        return largest_of_all(self, models, np.zeros(len(self.targets)))


def unbounded_where_sums_overflow(ceilings: Array, spreads: Array, far: Array) -> None:
    """Set bounds (m, q) to NaN where a sum θᵀx may overflow, in one order or in another.

    Then it is ∞ or no number by the order alone, and neither is a bound of the other.

    Parameters
    ----------
    ceilings : array (m, q)
        Changed.
    spreads : array (m, 1)
        ‖x‖₂ of the records.
    far : array (q,)
        ‖θ‖₂ at most, in each ball.
    """
    if spreads.size > 0 and far.size > 0 and not spreads.max() * far.max() < _SAFE:
        ceilings[~(spreads * far < _SAFE)] = np.nan


_SAFE = 1e300
"""|θᵀx| below which no part of the sum overflows."""
