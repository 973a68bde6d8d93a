"""The fitness of a network with one hidden layer, and the best minimum that is found of it.

f(θ) = (σ/2)‖θ‖² + (1/n) Σ_i Σ_{D_i} φ(z(x; θ), y) is not convex (Collab, Remark 1, names neural
networks): θ* is the best local minimum of several descents, not known to be global.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.objectives.losses import Array, Loss, positive
from asyncdp_sim.learning.objectives.perceptron.descent import best_of
from asyncdp_sim.learning.objectives.perceptron.network import Perceptron
from asyncdp_sim.learning.objectives.perceptron.records import PerceptronRecords
from asyncdp_sim.learning.objectives.rows import JudgedRows


@dataclass(frozen=True, eq=False)
class PerceptronObjective(JudgedRows):
    """A sum of owners' mean losses and a regulariser.

    Attributes
    ----------
    net : Perceptron
    features : sequence of array (n_i, d + 1)
        Rows (x, 1), best in Fortran order.
    targets : sequence of array (n_i,)
    loss : Loss
        φ.
    sigma : float
        σ > 0, the strong convexity of g(θ) = (σ/2)‖θ‖²; f is not convex.
    theta_max : float or None
        Θ = {‖θ‖_∞ ≤ θ_max}; None is the whole space.
    """

    net: Perceptron
    features: Sequence[Array]
    targets: Sequence[Array]
    loss: Loss
    sigma: float
    theta_max: float | None

    @property
    def n_features(self) -> int:
        """p, the coordinates of θ."""
        return self.net.numbers

    @property
    def smoothness(self) -> None:
        """None: no bound of the second derivative is claimed."""
        return

    @cached_property
    def optimum(self) -> Array:
        """θ*, the best of 8 local minima, shape (p,).

        The descents start at networks drawn from a seed that never changes, so that θ* is a
        function of the records alone; see
        :func:`asyncdp_sim.learning.objectives.perceptron.descent.best_of`.

        Raises
        ------
        DataError
            If ∇f is not found to vanish there, or to point out of Θ.
        """
        x, y = np.concatenate(self.features), np.concatenate(self.targets)
        return best_of(self.net, np.asfortranarray(x), y, self.loss, self.sigma, self.theta_max)

    @cached_property
    def least(self) -> float:
        """f(θ*) > 0.

        Raises
        ------
        DataError
            If it is not positive, so that the relative fitness is undefined.
        """
        return positive(float(self.fitness(self.optimum)))

    def fitness(self, theta: Array) -> Array:
        """Return f(θ) for points of shape (…, p), each a matrix product of its own."""
        points = theta.reshape(-1, self.n_features)
        total = np.zeros(len(points))
        for x, y in zip(self.features, self.targets, strict=True):
            for some in self.net.stacks(len(points), len(y)):
                z = self.net.outputs(x, points[some], self.net.active(x, points[some]))
                total[some] += self.loss.value(z, y).sum(axis=-1)
        found = self.sigma / 2 * (points * points).sum(axis=-1) + total / self.records.sum()
        return np.asarray(found.reshape(theta.shape[:-1]))

    def excess(self, theta: Array) -> Array:
        """Return f(θ) − f(θ*) for points of shape (…, p), the plain difference.

        It is negative where a model is better than θ*, which no descent found. Close to θ* its
        error is some 1e-16 f(θ*).
        """
        return self.fitness(theta) - self.least

    def relative_fitness(self, theta: Array) -> Array:
        """Return ψ(θ) = f(θ)/f(θ*) − 1, negative where θ is better than θ*."""
        return self.excess(theta) / self.least

    @cached_property
    def _unclipped(self) -> PerceptronRecords:
        return PerceptronRecords(self.net, self.features, self.targets, self.loss)

    def gradient(self, owners: npt.NDArray[np.int64], points: Array) -> Array:
        """Return owner i's mean record gradient, one owner (from 0) and point (R, p) per row."""
        return self._unclipped.gradient(owners, points)
