"""Noise on answers, as all mechanisms have it. Simulated noise is no release mechanism: see README.

An answer is a mean record gradient plus noise. Noise says what is drawn for each answer, the same
for all owners, and what an owner makes of its gradient with that.
"""

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Shape = Literal["vector", "scalar-as-published"]
_SAME = 1e-9
"""Relative to the largest number at hand: residuals that close differ by rounding only."""


class AnswerNoise(ABC):
    """The noise on the answers of all owners of a run.

    Attributes
    ----------
    scale : array (N,)
        How large each owner's noise is, ≥ 0; 0 where answers are exact.
    shape : str
        "vector": coordinates are uncorrelated; "scalar-as-published": all have the same draw.
    """

    scale: Array
    shape: Shape = "vector"

    @property
    @abstractmethod
    def variance(self) -> Array:
        """Variance of each coordinate of each owner's noise, shape (N,)."""

    @property
    @abstractmethod
    def added(self) -> str | None:
        """The law of w where an answer is g + ``scale`` w, w the row; None where it is not.

        Of two with the same law, the same streams give the same rows.
        """

    @property
    @abstractmethod
    def figures(self) -> dict[str, Array]:
        """What is said of its size: a few words, and a number for each owner (N,)."""

    def width(self, size: int) -> int:
        """Return how many numbers are drawn for an answer of ``size`` numbers."""
        return size

    @abstractmethod
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return what is drawn for the next ``count`` answers, shape (count, width)."""

    @abstractmethod
    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        """Return noisy answers, shape (r, size); ``gradients`` may be used up."""

    def drawn(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return what was added over the scale, if to these gradients, shape (r, size)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((answers - gradients) / self.scale[owners, None])

    @abstractmethod
    def longest(self, size: int, quantile: float) -> Array:
        """Return what ‖noise‖₁ exceeds with probability at most 1 − q, shape (N,)."""

    @abstractmethod
    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return ln p(answer | gradient), shape (r,); −∞ where it cannot have come about."""


def alike(left: Array, right: Array | float, size_of: Array) -> npt.NDArray[np.bool_]:
    """Return where rows are equal but for rounding, shape (r,)."""
    tolerance = _SAME * np.maximum(np.abs(size_of).max(axis=1, keepdims=True), 1e-300)
    return np.asarray((np.abs(left - right) <= tolerance).all(axis=1))


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
