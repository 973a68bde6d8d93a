"""Second moments of owners' records as answers, in units in which they have bounded sensitivity."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.learning.algorithms.steps import Array, Indices
from asyncdp_sim.learning.objectives import Quadratic


@dataclass(frozen=True)
class Units:
    """The meaning of an answer's numbers, block by block.

    A record of the domain ‖x‖₁ ≤ r, |y| ≤ Y has ‖vech(xxᵀ)‖₁ = (‖x‖₁² + ‖x‖₂²)/2 ≤ r² and
    ‖xy‖₁ ≤ rY, both reached at x = r e_1, y = Y. It contributes (γ vech(xxᵀ)/r²,
    (1 − γ) xy/(rY)), whose L1 norm is at most 1: the answer has Ξ = 1, of which the first block
    takes the share γ.

    Attributes
    ----------
    gram : float
        r²/γ, of the numbers of vech(XᵀX/n).
    moment : float
        rY/(1 − γ), of those of Xᵀy/n.
    """

    gram: float = 1.0
    moment: float = 1.0


@dataclass(frozen=True, eq=False)
class Statistics:
    """Owners' answers (vech(X_iᵀX_i/n_i), X_iᵀy_i/n_i) in :class:`Units`, whatever the query.

    Attributes
    ----------
    blocks : array (N, q)
        q = p(p+1)/2 + p numbers: the upper triangle row by row, then Xᵀy/n.
    """

    blocks: Array

    @classmethod
    def of(cls, objective: Quadratic, units: Units) -> "Statistics":
        """Return the statistics of owners' records."""
        upper = np.triu_indices(objective.n_features)
        gram = objective.gram[:, upper[0], upper[1]] / units.gram
        return cls(np.concatenate([gram, objective.moment / units.moment], axis=1))

    def gradient(self, owners: Indices, points: Array) -> Array:  # noqa: ARG002
        """Return each row's owner's statistics, shape (r, q), in the place of gradients."""
        return np.asarray(self.blocks[owners])


def answer_numbers(n_features: int) -> int:
    """Return how many numbers the second moments of p features and a target are."""
    return n_features * (n_features + 3) // 2
