"""A mechanism that is no member: pure at L2 sensitivity, by the length of one draw of all."""

from dataclasses import dataclass
from math import lgamma, log, pi
from typing import ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.learning.objectives import Norm
from asyncdp_sim.privacy.mechanisms.kind import (
    AnswerNoise,
    Array,
    PureMechanism,
    Shape,
    alike,
    scale_of,
)
from asyncdp_sim.privacy.sensitivity import NormChoice


@dataclass(frozen=True, eq=False)
class SphericalNoise(AnswerNoise):
    """Noise w of density ∝ e^(−‖w‖₂/b): its length is Gamma(p, b), its direction uniform.

    A shift of length Δ = bε costs at most ε, and ε only where w lies along it.
    """

    scale: Array
    size: int

    @property
    @override
    def variance(self) -> Array:
        return (self.size + 1) * np.square(self.scale)

    @property
    @override
    def added(self) -> None:
        return None

    @property
    @override
    def figures(self) -> dict[str, Array]:
        return {"spherical with scale": self.scale}

    @override
    def width(self, size: int) -> int:
        """Return how many numbers are drawn: p for a direction, 2p for a length."""
        return 3 * size

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        return generator.standard_normal((count, self.width(size)))

    @override
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        """Return g + b w: half of a χ² number of 2p degrees is a Gamma(p, 1) number."""
        toward, squares = rows[:, : self.size], np.square(rows[:, self.size :]).sum(axis=1)
        length = self.scale[owners] * squares / 2
        return gradients + toward * (length / np.linalg.norm(toward, axis=1))[:, None]

    @override
    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        residual, scale, p = answers - gradients, self.scale[owners], self.size
        sphere = log(2) + p / 2 * log(pi) - lgamma(p / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -np.linalg.norm(residual, axis=1) / scale - p * np.log(scale)
        found = found - lgamma(p) - sphere
        return np.where(scale > 0, found, np.where(alike(residual, 0.0, answers), 0.0, -np.inf))


class SphericalMechanism(PureMechanism):
    """Spherical noise on a whole answer: ε-DP at L2 sensitivity."""

    norm: ClassVar[Norm] = "l2"
    norms: ClassVar[tuple[NormChoice, ...]] = ("l2",)
    pair = None
    laplace_variance = False
    shapes: ClassVar[tuple[Shape, ...]] = ("vector",)
    gridded = False
    together = True
    noise_name = "spherical"

    kind: Literal["spherical"] = "spherical"

    @override
    def noise(self, influence, allowance, shape, grid):
        return SphericalNoise(scale_of(influence, allowance), influence.size)
