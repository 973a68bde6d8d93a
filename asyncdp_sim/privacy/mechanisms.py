"""Noise for answers. Simulated noise is not a release mechanism: see the README.

An answer is a mean record gradient plus noise. A mechanism says what is drawn for each answer,
the same for all owners, and what an owner makes of its gradient with that.
"""

from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Shape = Literal["vector", "scalar-as-published"]
FINEST = 2.0**44
"""Steps in a scale, at most: draws have 53 bits, so that each step near 0 is reached 2⁶ times."""
_SAME = 1e-9
"""Relative to the largest number at hand: residuals that close differ by rounding only."""


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

    @property
    def variance(self) -> Array:
        """2b_i², of each coordinate, shape (N,)."""
        return 2 * np.square(self.scale)

    @property
    def added(self) -> str:
        """The law of the rows; an answer is g + b_i w."""
        return f"laplace, {self.shape}"

    def width(self, size: int) -> int:
        """Return how many numbers are drawn for an answer of ``size`` numbers."""
        return size

    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return the next ``count`` rows of scale 1, shape (count, size)."""
        if self.shape == "vector":
            return generator.laplace(size=(count, size))
        return np.repeat(generator.laplace(size=(count, 1)), size, axis=1)

    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        """Return answers g + b_i w, shape (r, size)."""
        gradients += rows * self.scale[owners, None]
        return gradients

    def drawn(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return what rows answers are made with, if of these gradients, shape (r, size)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((answers - gradients) / self.scale[owners, None])

    def longest(self, size: int, quantile: float) -> Array:
        """Return the q-quantile of ‖b_i w‖₁, shape (N,).

        ‖w‖₁ of ``size`` draws is Gamma(size, 1); of one draw on all of them, size·|w|.
        """
        if self.shape == "scalar-as-published":
            return self.scale * -size * log(1 - quantile)
        from scipy.special import gammaincinv  # only where a bound is worked out

        return np.asarray(self.scale * gammaincinv(size, quantile))

    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return ln p(answer | gradient), shape (r,); −∞ where it cannot have come about."""
        residual, scale = answers - gradients, self.scale[owners]
        exact = _alike(residual, 0.0, answers)
        if self.shape == "scalar-as-published":
            possible = _alike(residual, residual[:, :1], answers)
            residual = residual[:, :1]
        else:
            possible = np.ones(len(owners), dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -np.abs(residual).sum(axis=1) / scale - residual.shape[1] * np.log(2 * scale)
        found = np.where(possible, found, -np.inf)
        return np.where(scale > 0, found, np.where(exact, 0.0, -np.inf))


@dataclass(frozen=True, eq=False)
class GaussianNoise:
    """Gaussian noise w with standard deviation s_i = z_i · 2Ξ/n_i on each coordinate.

    Attributes
    ----------
    scale : array (N,)
        s_i ≥ 0; 0 where ε_i is infinite.
    """

    scale: Array

    @property
    def variance(self) -> Array:
        """s_i², of each coordinate, shape (N,)."""
        return np.square(self.scale)

    @property
    def added(self) -> str:
        """The law of the rows; an answer is g + s_i w."""
        return "gaussian"

    def width(self, size: int) -> int:
        """Return how many numbers are drawn for an answer of ``size`` numbers."""
        return size

    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return the next ``count`` rows of unit variance, shape (count, size)."""
        return generator.standard_normal(size=(count, size))

    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        """Return answers g + s_i w, shape (r, size)."""
        gradients += rows * self.scale[owners, None]
        return gradients

    def drawn(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return what rows answers are made with, if of these gradients, shape (r, size)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((answers - gradients) / self.scale[owners, None])

    def longest(self, size: int, quantile: float) -> Array:
        """Return what ‖s_i w‖₁ ≤ √size ‖s_i w‖₂ exceeds with probability at most 1 − q, (N,)."""
        from scipy.special import gammaincinv  # ‖w‖₂²/2 is Gamma(size/2, 1)

        return np.asarray(self.scale * np.sqrt(2 * size * gammaincinv(size / 2, quantile)))

    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return ln p(answer | gradient), shape (r,); −∞ where it cannot have come about."""
        residual, scale = answers - gradients, self.scale[owners]
        exact = _alike(residual, 0.0, answers)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -np.square(residual / scale[:, None]).sum(axis=1) / 2
            found -= residual.shape[1] * np.log(scale * np.sqrt(2 * np.pi))
        return np.where(scale > 0, found, np.where(exact, 0.0, -np.inf))


@dataclass(frozen=True, eq=False)
class DiscreteLaplaceNoise:
    """Answers on a grid: γ_i (round(g/γ_i) + W) per coordinate.

    P(W = k) = (1 − a)/(1 + a) a^|k| with a = e^(−γ_i/b_i), of variance 2a/(1 − a)².
    γ_i is a power of two, so that every operation on the grid is exact and no answer has low bits
    that depend on the gradient's (Mironov 2012 is about the floating-point Laplace mechanism).
    Rounding adds at most γ_i per coordinate to the sensitivity: b_i = (2Ξ/n_i + pγ_i) K_i/ε_i.
    W = ⌊E b_i/γ_i⌋ − ⌊E' b_i/γ_i⌋ for exponential E, E', whose integer parts are geometric; their
    probabilities are exact to floating-point rounding, not beyond it.

    Attributes
    ----------
    scale : array (N,)
        b_i ≥ 0; 0 where ε_i is infinite.
    grid : array (N,)
        γ_i > 0, powers of two.
    """

    scale: Array
    grid: Array

    @property
    def variance(self) -> Array:
        """2γ_i² a/(1 − a)², of each coordinate's noise, shape (N,); rounding adds none."""
        with np.errstate(divide="ignore"):
            rate = self.grid / self.scale
        return np.asarray(np.square(self.grid) / (2 * np.square(np.sinh(rate / 2))))

    @property
    def added(self) -> None:
        """None: an answer on a grid is no sum of the gradient and something drawn."""
        return None

    def width(self, size: int) -> int:
        """Return how many numbers are drawn for an answer of ``size`` numbers."""
        return 2 * size

    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return the next ``count`` rows of unit exponentials, shape (count, 2 size)."""
        return generator.standard_exponential(size=(count, 2 * size))

    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        """Return answers on the grid, shape (r, size)."""
        size, grid = gradients.shape[1], self.grid[owners, None]
        whole = np.floor(rows * (self.scale[owners, None] / grid))
        steps = np.rint(gradients / grid) + (whole[:, :size] - whole[:, size:])
        return np.asarray(steps * grid)

    def drawn(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return W γ_i/b_i of answers, if of these gradients, shape (r, size)."""
        grid = self.grid[owners, None]
        steps = np.rint(answers / grid) - np.rint(gradients / grid)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(steps * (grid / self.scale[owners, None]))

    def longest(self, size: int, quantile: float) -> Array:
        """Return what ‖answer − g‖₁ exceeds with probability at most 1 − q, shape (N,).

        |⌊x⌋ − ⌊y⌋| ≤ |x − y| + 1 and rounding moves a coordinate by γ_i/2: Laplace's, and
        1.5 γ_i a coordinate.
        """
        return LaplaceNoise(self.scale).longest(size, quantile) + 1.5 * size * self.grid

    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return ln P(answer | gradient), shape (r,); −∞ where it cannot have come about."""
        grid, scale = self.grid[owners, None], self.scale[owners]
        places = answers / grid
        steps = places - np.rint(gradients / grid)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = grid[:, 0] / scale
            found = -np.abs(steps).sum(axis=1) * rate + steps.shape[1] * np.log(np.tanh(rate / 2))
        found = np.where((places == np.rint(places)).all(axis=1), found, -np.inf)
        exact = (steps == 0).all(axis=1)
        return np.where(scale > 0, found, np.where(exact, 0.0, -np.inf))


@dataclass(frozen=True, eq=False)
class NoNoise:
    """Exact answers: no privacy at all."""

    scale: Array

    @property
    def variance(self) -> Array:
        """Zeros, shape (N,)."""
        return np.zeros_like(self.scale)

    @property
    def added(self) -> str:
        """The law of the rows."""
        return "none"

    def width(self, size: int) -> int:
        """Return how many numbers are drawn for an answer of ``size`` numbers."""
        return size

    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:  # noqa: ARG002
        """Return −0, which added changes no bit, shape (count, size); nothing is drawn."""
        return np.full((count, size), -0.0)

    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:  # noqa: ARG002
        """Return the gradients as they are."""
        return gradients

    def drawn(self, owners: Indices, gradients: Array, answers: Array) -> Array:  # noqa: ARG002
        """Return what was added, shape (r, size): zeros where answers are of these gradients."""
        return answers - gradients

    def longest(self, size: int, quantile: float) -> Array:  # noqa: ARG002
        """Return zeros, shape (N,)."""
        return np.zeros_like(self.scale)

    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:  # noqa: ARG002
        """Return 0 where answer and gradient are the same, −∞ elsewhere, shape (r,)."""
        return np.where(_alike(answers - gradients, 0.0, answers), 0.0, -np.inf)


Mechanism = LaplaceNoise | GaussianNoise | DiscreteLaplaceNoise | NoNoise
"""Everything that may hide a gradient; a new one joins here."""


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


def grid_steps(bound: float, records: Array, size: int, scale: Array) -> Array:
    """Return γ_i, the largest power of two ≤ 2Ξ/(1024 p n_i), shape (N,).

    Rounding p coordinates then adds at most a thousandth to the sensitivity 2Ξ/n_i. Where that is
    finer than b_i/2⁴⁰, it is the least power of two that is not. Nothing in it is private: Ξ, p,
    n_i and b_i are public.

    Parameters
    ----------
    bound : float
        Ξ > 0.
    records : array (N,)
        n_i.
    size : int
        p, numbers in an answer.
    scale : array (N,)
        b_i ≥ 0, of Laplace noise without a grid.
    """
    finest = 2 * bound / (1024 * size * records)
    with np.errstate(divide="ignore"):
        coarse = 2.0 ** np.ceil(np.log2(scale) - 40)
    return np.asarray(np.maximum(2.0 ** np.floor(np.log2(finest)), coarse))


def _alike(left: Array, right: Array | float, size_of: Array) -> npt.NDArray[np.bool_]:
    """Return where rows are equal but for rounding, shape (r,)."""
    tolerance = _SAME * np.maximum(np.abs(size_of).max(axis=1, keepdims=True), 1e-300)
    return np.asarray((np.abs(left - right) <= tolerance).all(axis=1))
