"""Faults of noise, to be planted in any mechanism."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.privacy.mechanisms import AnswerNoise, Array, alike


@dataclass(frozen=True, eq=False)
class Planted(AnswerNoise):
    """Noise that says of itself what the right one says."""

    right: Any

    @property
    def scale(self) -> Array:
        return self.right.scale

    @property
    def shape(self) -> Any:
        return self.right.shape

    @property
    def variance(self) -> Array:
        return self.right.variance

    @property
    def added(self) -> str | None:
        return self.right.added

    @property
    def figures(self) -> dict[str, Array]:
        return self.right.figures

    def width(self, size: int) -> int:
        return self.right.width(size)

    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        return self.right.rows(generator, count, size)

    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        return self.right.add_noise(owners, gradients, rows)

    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        return self.right.log_likelihood(owners, gradients, answers)

    def exact(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        """Return what is sent of gradients without noise: on a grid, the nearest point."""
        silent = replace(self.right, scale=np.zeros_like(self.right.scale))
        return silent.add_noise(owners, gradients.copy(), rows)


class Silent(Planted):
    """No noise at all, whatever it says."""

    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        return self.exact(owners, gradients, rows)


class Quieter(Planted):
    """0.8 of the noise that its density has."""

    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        return smaller(self.right).add_noise(owners, gradients, rows)


class OneDraw(Planted):
    """The first coordinate's noise on all of them, as an attacker knows who knows that."""

    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        noise = self.right.add_noise(owners, np.zeros_like(gradients), rows)
        return self.exact(owners, gradients, rows) + noise[:, :1]

    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        rows = np.ones((len(owners), self.width(answers.shape[1])))
        noise = answers - self.exact(owners, np.broadcast_to(gradients, answers.shape), rows)
        return np.where(alike(noise, noise[:, :1], answers), 0.0, -np.inf)


def smaller(noise: Any) -> AnswerNoise:
    """Noise of 0.8 of its scale."""
    return replace(noise, scale=0.8 * noise.scale)


FAULTS = {"no noise": Silent, "0.8 of the noise": smaller, "one draw": OneDraw}
