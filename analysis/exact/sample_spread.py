"""The expected spread of gradients over Poisson samples about the gradient over all records.

With every record in an answer with probability q, and the sum over q n_i, the gradient at θ has

    Cov g_i = (1 − q)/(q n_i²) Σ_j ∇ℓ_j ∇ℓ_jᵀ,    ∇ℓ_j = 2 (x_jᵀθ − y_j) x_j  (unclipped ridge),

which is quadratic in the model: with u = θ − θ*, e_j = x_jᵀθ* − y_j and z_j = (x_j, e_j),

    E Cov g_i = 4 (1 − q)/(q n_i) · (1/n_i) Σ_j x_j x_jᵀ (z_jᵀ W z_j),    W = E (u, 1)(u, 1)ᵀ.

So it depends on the records through their fourth moments alone, and on the model through its first
two: the exact recursions of both stay closed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array

_BLOCK = 2**14
"""Records whose products are worked out at a time."""
LARGEST = 2**23
"""Fourth moments that are kept at most, of all owners together."""


@dataclass(frozen=True, eq=False)
class SampleSpread:
    """Covariances of gradients over samples, from moments of the model.

    Attributes
    ----------
    fourth : array (N, p(p + 1)/2, (p + 1)(p + 2)/2)
        4 (1 − q)/(q n_i) times the mean of x_a x_b z_c z_d over owner i's records, a ≤ b and
        c ≤ d; twice that where c < d.
    """

    fourth: Array

    @classmethod
    def from_records(
        cls, features: Sequence[Array], targets: Sequence[Array], optimum: Array, probability: float
    ) -> "SampleSpread":
        """Go through every owner's records once, O(n p⁴).

        Parameters
        ----------
        features, targets : sequence of array (n_i, p), (n_i,)
        optimum : array (p,)
            θ*, from which deviations are taken.
        probability : float
            q in (0, 1).
        """
        odds = (1 - probability) / probability
        pairs = zip(features, targets, strict=True)
        return cls(np.stack([4 * odds / len(y) * _fourth(x, y, optimum) for x, y in pairs]))

    def at(self, second: Array, mean: Array) -> Array:
        """Return E Cov g_i, shape (N, p, p).

        Parameters
        ----------
        second, mean : array (N, p, p), array (N, p)
            E uuᵀ and E u of the model that owner i is asked at.
        """
        laws = _augmented(second, mean, np.ones(len(mean)))
        return _square(np.einsum("iad,id->ia", self.fourth, laws))

    def of_owner(self, owner: int, second: Array, mean: Array, chance: Array) -> Array:
        """Return E Cov g_i of one owner (from 0), on each of several events, shape (S, p, p).

        Parameters
        ----------
        owner : int
        second, mean : array (S, p, p), array (S, p)
            E uuᵀ and E u on events
        chance : array (S,)
            of these probabilities.
        """
        return _square(_augmented(second, mean, chance) @ self.fourth[owner].T)


def fourth_moments(n_owners: int, n_features: int) -> int:
    """Return how many numbers a :class:`SampleSpread` keeps."""
    p = n_features
    return n_owners * (p * (p + 1) // 2) * ((p + 1) * (p + 2) // 2)


def _augmented(second: Array, mean: Array, chance: Array) -> Array:
    """Return W of (u, 1), its upper triangle by rows, (S, (p + 1)(p + 2)/2)."""
    p = mean.shape[1]
    joint = np.empty((len(mean), p + 1, p + 1))
    joint[:, :p, :p], joint[:, :p, p], joint[:, p, p] = second, mean, chance
    rows, columns = np.triu_indices(p + 1)
    return joint[:, rows, columns]


def _square(triangles: Array) -> Array:
    """Return symmetric matrices (S, p, p) from their upper triangles by rows."""
    p = int((2 * triangles.shape[1]) ** 0.5)
    rows, columns = np.triu_indices(p)
    squares = np.empty((len(triangles), p, p))
    squares[:, rows, columns] = squares[:, columns, rows] = triangles
    return squares


def _fourth(features: Array, targets: Array, optimum: Array) -> Array:
    """Return means of x_a x_b z_c z_d over records, those with c < d doubled."""
    p = features.shape[1]
    total = np.zeros((p * (p + 1) // 2, (p + 1) * (p + 2) // 2))
    inner, outer = np.triu_indices(p), np.triu_indices(p + 1)
    for first in range(0, len(targets), _BLOCK):
        x, y = features[first : first + _BLOCK], targets[first : first + _BLOCK]
        z = np.column_stack([x, x @ optimum - y])
        total += (x[:, inner[0]] * x[:, inner[1]]).T @ (z[:, outer[0]] * z[:, outer[1]])
    twice = np.where(outer[0] < outer[1], 2.0, 1.0)
    return np.asarray(total * twice / len(targets))
