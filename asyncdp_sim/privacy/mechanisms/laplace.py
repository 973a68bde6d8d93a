"""Laplace noise, the mechanism of the papers, and discrete Laplace noise on a grid."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.learning.answers import AnswerNoise, Shape
from asyncdp_sim.privacy.accountants.pairs import LaplacePair
from asyncdp_sim.privacy.mechanisms.kind import (
    OwnerBudgets,
    PureMechanism,
    RecordSensitivity,
    alike,
    laplace_scale,
    total,
)


@dataclass(frozen=True, eq=False)
class LaplaceNoise(AnswerNoise):
    """Laplace noise w with scale b_i = 2ΞK_i/(n_i ε_i): E w = 0, Var w = 2b_i² per coordinate.

    Attributes
    ----------
    scale : array (N,)
        b_i ≥ 0; 0 where ε_i is infinite.
    shape : str
        "vector" draws coordinates independently; "scalar-as-published" adds one draw to all
        coordinates, which is not differentially private for any ε (differences between coordinates
        leak exactly).
    """

    figure: ClassVar[str | None] = "Laplace with scale"
    scale: Array
    shape: Shape = "vector"

    @property
    @override
    def variance(self) -> Array:
        return 2 * np.square(self.scale)

    @property
    @override
    def added(self) -> str:
        return f"laplace, {self.shape}"

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        if self.shape == "vector":
            return generator.laplace(size=(count, size))
        return np.repeat(generator.laplace(size=(count, 1)), size, axis=1)

    @override
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        gradients += rows * self.scale.take(owners)[:, None]
        return gradients

    @override
    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        residual, scale = answers - gradients, self.scale[owners]
        if self.shape == "scalar-as-published":
            possible = alike(residual, residual[:, :1], answers)
            residual = residual[:, :1]
        else:
            possible = np.ones(len(owners), dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = -np.abs(residual).sum(axis=1) / scale - residual.shape[1] * np.log(2 * scale)
        density = np.where(possible, density, -np.inf)
        if (scale > 0).all():  # else the answers that are exact are looked for
            return density
        exact = alike(answers - gradients, 0.0, answers)
        return np.where(scale > 0, density, np.where(exact, 0.0, -np.inf))


class LaplaceMechanism(PureMechanism):
    """Laplace noise on every coordinate: ε-DP at L1 sensitivity (Async, Theorem 1)."""

    pair = LaplacePair
    over_samples: ClassVar[Literal["pure", "gaussian"] | None] = "pure"
    laplace_variance = True
    shapes: ClassVar[tuple[Shape, ...]] = ("vector", "scalar-as-published")
    gridded = False
    noise_name = "Laplace"

    kind: Literal["laplace"] = "laplace"

    @override
    def noise(
        self,
        influence: RecordSensitivity,
        allowance: OwnerBudgets,
        shape: Shape,
        grid: float | None,
    ) -> LaplaceNoise:
        return LaplaceNoise(scale_of(influence, allowance), shape)


def scale_of(influence: RecordSensitivity, allowance: OwnerBudgets) -> Array:
    """Return b_i of pure answers."""
    answers = allowance.answers.astype(float)
    return laplace_scale(influence.xi, answers, influence.records, total(allowance))


FINEST = 2.0**44
"""Steps in a scale, at most: draws have 53 bits, so that each step near 0 is reached 2⁶ times."""


@dataclass(frozen=True, eq=False)
class DiscreteLaplaceNoise(AnswerNoise):
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

    figure: ClassVar[str | None] = "discrete Laplace with scale"
    scale: Array
    grid: Array

    @property
    @override
    def variance(self) -> Array:
        """2γ_i² a/(1 − a)², of each coordinate's noise, shape (N,); rounding adds none."""
        with np.errstate(divide="ignore", over="ignore"):
            rate = self.grid / self.scale
            return np.asarray(np.square(self.grid) / (2 * np.square(np.sinh(rate / 2))))

    @override
    def width(self, size: int) -> int:
        return 2 * size

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return the next ``count`` rows of unit exponentials, shape (count, 2 size)."""
        return generator.standard_exponential(size=(count, 2 * size))

    @override
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        """Return answers on the grid, shape (r, size)."""
        size, grid = gradients.shape[1], self.grid[owners, None]
        whole_steps = np.floor(rows * (self.scale[owners, None] / grid))
        steps = np.rint(gradients / grid) + (whole_steps[:, :size] - whole_steps[:, size:])
        return np.asarray(steps * grid)

    @override
    def drawn(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        """Return W γ_i/b_i of answers to these gradients, shape (r, size)."""
        grid = self.grid[owners, None]
        steps = np.rint(answers / grid) - np.rint(gradients / grid)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(steps * (grid / self.scale[owners, None]))

    @override
    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        grid, scale = self.grid[owners, None], self.scale[owners]
        places = answers / grid
        steps = places - np.rint(gradients / grid)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = grid[:, 0] / scale
            density = -np.abs(steps).sum(axis=1) * rate + steps.shape[1] * np.log(np.tanh(rate / 2))
        density = np.where((places == np.rint(places)).all(axis=1), density, -np.inf)
        exact = (steps == 0).all(axis=1)
        return np.where(scale > 0, density, np.where(exact, 0.0, -np.inf))


class DiscreteLaplaceMechanism(PureMechanism):
    """Discrete Laplace noise on a grid: ε-DP at L1 sensitivity, including rounding."""

    laplace_variance = False
    shapes: ClassVar[tuple[Shape, ...]] = ("vector",)
    gridded = True
    noise_name = "discrete Laplace"

    kind: Literal["discrete-laplace"] = "discrete-laplace"

    @override
    def noise(
        self,
        influence: RecordSensitivity,
        allowance: OwnerBudgets,
        shape: Shape,
        grid: float | None,
    ) -> DiscreteLaplaceNoise:
        """Return noise on ``grid``, or the one of :func:`grid_steps`.

        Raises
        ------
        SpecError
            If ``grid`` is too fine for draws of so large a scale to reach each of its steps.
        """
        scale, held = scale_of(influence, allowance), influence.records
        finest = grid_steps(influence.xi, held, influence.size, scale)
        steps = finest if grid is None else np.full(len(held), grid)
        answers, cost = allowance.answers.astype(float), total(allowance)
        noise = DiscreteLaplaceNoise(scale + influence.size * steps * answers / cost, steps)
        steepest = float((noise.scale / steps).max())
        if steepest > FINEST:
            value = f"{steepest:.3g} steps in the noise's scale"
            hint = "allowed are at most 2^44: take a coarser grid, fewer answers or a larger ε"
            raise SpecError([Fault("privacy.grid", value, hint)])
        return noise


def grid_steps(bound: float, records: Array, size: int, scale: Array) -> Array:
    """Return γ_i, the largest power of two ≤ 2Ξ/(1024 p n_i), shape (N,).

    Rounding p coordinates then adds at most a thousandth to the sensitivity 2Ξ/n_i. If this is
    finer than b_i/2⁴⁰, γ_i is the smallest power of two that is not. γ_i is public, because Ξ, p,
    n_i and b_i are.

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
