"""Laplace noise: the mechanism of the papers."""

from dataclasses import dataclass
from math import log
from typing import ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.privacy.accountants.pairs import LaplacePair
from asyncdp_sim.privacy.mechanisms.kind import Allowance, Influence, PureMechanism, total
from asyncdp_sim.privacy.mechanisms.noise import (
    AnswerNoise,
    Array,
    Indices,
    Shape,
    alike,
    laplace_scale,
)


@dataclass(frozen=True, eq=False)
class LaplaceNoise(AnswerNoise):
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
    @override
    def variance(self) -> Array:
        return 2 * np.square(self.scale)

    @property
    @override
    def added(self) -> str:
        return f"laplace, {self.shape}"

    @property
    @override
    def figures(self) -> dict[str, Array]:
        return {"Laplace with scale": self.scale}

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        if self.shape == "vector":
            return generator.laplace(size=(count, size))
        return np.repeat(generator.laplace(size=(count, 1)), size, axis=1)

    @override
    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        gradients += rows * self.scale.take(owners)[:, None]
        return gradients

    @override
    def longest(self, size: int, quantile: float) -> Array:
        """Return the q-quantile of ‖b_i w‖₁, shape (N,).

        ‖w‖₁ of ``size`` draws is Gamma(size, 1); of one draw on all of them, size·|w|.
        """
        if self.shape == "scalar-as-published":
            return self.scale * -size * log(1 - quantile)
        from scipy.special import gammaincinv  # only where a bound is worked out

        return np.asarray(self.scale * gammaincinv(size, quantile))

    @override
    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        residual, scale = answers - gradients, self.scale[owners]
        exact = alike(residual, 0.0, answers)
        if self.shape == "scalar-as-published":
            possible = alike(residual, residual[:, :1], answers)
            residual = residual[:, :1]
        else:
            possible = np.ones(len(owners), dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -np.abs(residual).sum(axis=1) / scale - residual.shape[1] * np.log(2 * scale)
        found = np.where(possible, found, -np.inf)
        return np.where(scale > 0, found, np.where(exact, 0.0, -np.inf))


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
        self, influence: Influence, allowance: Allowance, shape: Shape, grid: float | None
    ) -> LaplaceNoise:
        return LaplaceNoise(scale_of(influence, allowance), shape)


def scale_of(influence: Influence, allowance: Allowance) -> Array:
    """Return b_i of pure answers."""
    answers = allowance.answers.astype(float)
    return laplace_scale(influence.xi, answers, influence.records, total(allowance))
