"""Noise for answers. Simulated noise is not a release mechanism: see the README.

An answer is a mean record gradient plus noise; a mechanism says how the noise of unit scale is
drawn and by how much each owner multiplies it.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Shape = Literal["vector", "scalar-as-published"]


@dataclass(frozen=True, eq=False)
class LaplaceNoise:
    """Laplace noise w with scale b_i = 2ΞK_i/(n_i ε_i): E w = 0, Var w = 2b_i² per coordinate.

    Attributes
    ----------
    scale : array (N,)
        b_i ≥ 0; 0 where ε_i is infinite.
    shape : str
        "vector" draws every coordinate on its own; "scalar-as-published" adds one draw to all
        coordinates, which is not differentially private for any ε (differences between
        coordinates leak exactly).
    """

    scale: Array
    shape: Shape = "vector"

    def rows(self, generator: np.random.Generator, count: int, n_features: int) -> Array:
        """Return the next ``count`` rows of scale 1, shape (count, p)."""
        if self.shape == "vector":
            return generator.laplace(size=(count, n_features))
        return np.repeat(generator.laplace(size=(count, 1)), n_features, axis=1)


@dataclass(frozen=True, eq=False)
class NoNoise:
    """Exact answers: no privacy at all."""

    scale: Array

    def rows(self, generator: np.random.Generator, count: int, n_features: int) -> Array:  # noqa: ARG002
        """Return zeros, shape (count, p); nothing is drawn."""
        return np.zeros((count, n_features))


def laplace_scale(bound: float, answers: Array, records: Array, epsilon: Array) -> Array:
    """Return the Laplace scale b_i = 2ΞK_i/(n_i ε_i) per owner (Async, Theorem 1).

    Replacing one of n_i records moves a mean gradient by at most 2Ξ/n_i in L1, and each of K_i
    answers gets ε_i/K_i.

    Parameters
    ----------
    bound : float
        Ξ ≥ 0, the largest L1 norm of a record gradient.
    answers : array (N,)
        K_i, answers that share the budget.
    records : array (N,)
        n_i.
    epsilon : array (N,)
        ε_i > 0, possibly infinite.
    """
    return 2 * bound * answers / (records * epsilon)
