"""Staircase noise for answers: one draw of a whole vector, whose coordinates are dependent.

Private for every answer at L1 sensitivity; :mod:`~asyncdp_sim.privacy.staircase_law` says why, and
why independent coordinates of the one-dimensional law are not.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.mechanisms import _alike
from asyncdp_sim.privacy.staircase_law import STEEPEST, Staircase, best_gamma

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StaircaseNoise:
    """Staircase noise of L1 sensitivity Δ_i = b_i ε_i, for answers that cost ε_i each.

    K_i answers that share a budget get a K_i-th of it each, Δ_i = 2Ξ/n_i.

    Attributes
    ----------
    scale : array (N,)
        b_i = Δ_i/ε_i ≥ 0, the scale of Laplace noise for the same; 0 where ε_i is infinite.
    epsilon : array (N,)
        ε_i > 0 of one answer.
    gamma : array (N,)
        γ_i in [0, 1].
    size : int
        p, numbers in an answer.
    """

    scale: Array
    epsilon: Array
    gamma: Array
    size: int

    @classmethod
    def best(cls, scale: Array, epsilon: Array, size: int) -> "StaircaseNoise":
        """Return the noise whose variance is least, at the γ_i that makes it so."""
        charges, place = np.unique(np.minimum(epsilon, STEEPEST), return_inverse=True)
        gamma = np.array([best_gamma(each, size) for each in charges.tolist()])
        return cls(scale, epsilon, gamma[place.reshape(-1)], size)

    @property
    def variance(self) -> Array:
        """E w_j² Δ_i², of each coordinate, shape (N,)."""
        return np.square(self._period) * self._each([law.variance for law in self._laws])

    @property
    def added(self) -> None:
        """None: what is added is no multiple of rows that all owners share."""
        return None

    def width(self, size: int) -> int:
        """Return how many numbers are drawn for an answer: p + 1, p + 1 and 1."""
        return 2 * size + 3

    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return the next ``count`` rows of unit Laplace draws, shape (count, 2 size + 3)."""
        return generator.laplace(size=(count, self.width(size)))

    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        """Return answers g + Δ_i w, shape (r, size).

        x_1 … x_p over Σ_(j≤p+1) |x_j| is uniform on the L1 ball; ⌊E/ε⌋ is geometric for E ~ Exp(1).
        """
        p, lengths = gradients.shape[1], np.abs(rows)
        started = (lengths[:, -1:] > self._exceeded[self._law_of[owners]]).sum(axis=1)
        steps = np.floor(lengths[:, p + 1 : -1] / self._charge[owners, None]).sum(axis=1)
        radius = self._period[owners] * (started + steps + self.gamma[owners])
        gradients += rows[:, :p] * (radius / lengths[:, : p + 1].sum(axis=1))[:, None]
        return gradients

    def drawn(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return what was added over b_i, if to these gradients, shape (r, size)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((answers - gradients) / self.scale[owners, None])

    def longest(self, size: int, quantile: float) -> Array:  # noqa: ARG002
        """Return the q-quantile of ‖Δ_i w‖₁, shape (N,)."""
        return self._period * self._each([law.quantile(quantile) for law in self._laws])

    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return ln p(answer | gradient), shape (r,); −∞ where it cannot have come about."""
        residual, period = answers - gradients, self._period[owners]
        peak = self._each([law.log_peak for law in self._laws])[owners]
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.floor(np.abs(residual).sum(axis=1) / period - self.gamma[owners]) + 1
            found = peak - self.size * np.log(period) - self._charge[owners] * steps
        return np.where(period > 0, found, np.where(_alike(residual, 0.0, answers), 0.0, -np.inf))

    @cached_property
    def _charge(self) -> Array:
        """ε_i, at most :data:`STEEPEST`."""
        return np.minimum(self.epsilon, STEEPEST)

    @cached_property
    def _period(self) -> Array:
        """Δ_i; 0 without noise."""
        return self.scale * np.where(self.scale > 0, self.epsilon, 0.0)

    @cached_property
    def _distinct(self) -> tuple[Array, Indices]:
        """The pairs (ε, γ) that occur, and each owner's: a law is worked out once."""
        pairs = np.stack([self._charge, self.gamma], axis=1)
        found, place = np.unique(pairs, axis=0, return_inverse=True)
        return found, np.asarray(place).reshape(-1)

    @cached_property
    def _laws(self) -> list[Staircase]:
        return [Staircase(float(e), float(g), self.size) for e, g in self._distinct[0]]

    @property
    def _law_of(self) -> Indices:
        return self._distinct[1]

    @cached_property
    def _exceeded(self) -> Array:
        return np.stack([law.exceeded for law in self._laws])

    def _each(self, values: list[float]) -> Array:
        """Return each owner's of the laws' values, shape (N,)."""
        return np.array(values)[self._law_of]
