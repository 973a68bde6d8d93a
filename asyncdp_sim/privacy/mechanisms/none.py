"""No noise: answers are exact, and nothing is private."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.privacy.mechanisms.kind import Allowance, Influence, PureMechanism
from asyncdp_sim.privacy.mechanisms.noise import AnswerNoise, Array, Indices, Shape, alike
from asyncdp_sim.privacy.sensitivity import NormChoice


@dataclass(frozen=True, eq=False)
class NoNoise(AnswerNoise):
    """Exact answers: no privacy at all."""

    scale: Array

    @property
    @override
    def variance(self) -> Array:
        return np.zeros_like(self.scale)

    @property
    @override
    def added(self) -> str:
        return "none"

    @property
    @override
    def figures(self) -> dict[str, Array]:
        return {}

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return −0, which added changes no bit, shape (count, size); nothing is drawn."""
        return np.full((count, size), -0.0)

    @override
    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        return gradients

    @override
    def drawn(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return what was added, shape (r, size): zeros where answers are of these gradients."""
        return answers - gradients

    @override
    def longest(self, size: int, quantile: float) -> Array:
        return np.zeros_like(self.scale)

    @override
    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        return np.where(alike(answers - gradients, 0.0, answers), 0.0, -np.inf)


class NoMechanism(PureMechanism):
    """Exact answers, whatever ε says."""

    exact = True
    norms: ClassVar[tuple[NormChoice, ...]] = ("l1", "l2", "l2-as-published")
    laplace_variance = False
    shapes: ClassVar[tuple[Shape, ...]] = ("vector", "scalar-as-published")
    gridded = False
    noise_name = "no"

    kind: Literal["none"] = "none"

    @override
    def noise(
        self, influence: Influence, allowance: Allowance, shape: Shape, grid: float | None
    ) -> NoNoise:
        return NoNoise(np.zeros(len(influence.records)))
