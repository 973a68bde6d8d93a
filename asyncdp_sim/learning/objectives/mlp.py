"""A network with one hidden layer: its kind of model, its fitness, and how that is descended.

f(θ) = (σ/2)‖θ‖² + (1/n) Σ_i Σ_{D_i} φ(z(x; θ), y) is not convex (Collab, Remark 1, names neural
networks): θ* is the best local minimum of several descents, not known to be global.

The descent is a truncated Newton on a box (Nash, "Newton-type minimization via the Lanczos method",
SIAM J. Numer. Anal. 21 (1984)), which gets along the flat valleys of such networks. It works on
v = θ/s, s measuring every coordinate in its own units: one over the root mean square of its input
for a weight of W₁, that of the targets for w₂ and b₂, and 1 for a threshold of b₁. Units of
features and targets then do no harm.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Count, trait
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.objectives.losses import SQUARED, LogisticLoss, Loss, positive, unsolved
from asyncdp_sim.learning.objectives.models import ModelKind
from asyncdp_sim.learning.objectives.perceptron import Perceptron, PerceptronRecords
from asyncdp_sim.learning.objectives.rows import JudgedRows, Norm, Objective, Records, stacks

PROMISED = 1e-6
"""Largest |∂f/∂v_j| at θ*, along directions that stay in Θ, relative to f(0)."""
_AIM = 1e-7
_STARTS, _TRIAL, _EVALUATIONS = 8, 300, 20_000
_SEED = 1
_BLOCK = 4096


def best_of(
    net: Perceptron, x: Array, y: Array, loss: Loss, sigma: float, theta_max: float | None
) -> Array:
    """Return the best local minimum of (σ/2)‖θ‖² + (1/n) Σ φ(z(x_j; θ), y_j) that is found in Θ.

    From each of 8 starts, v ~ N(0, 1/(d + 1)) for the hidden units and N(0, 1/(H + 1)) for the
    output (seed 1, stream ``("mlp", "start", j)``), f descends for 300 evaluations; the lowest, or
    0 where that is lower still, is followed to its end.

    Parameters
    ----------
    net : Perceptron
    x : array (n, d + 1)
        Rows (x, 1).
    y : array (n,)
    loss, sigma, theta_max
        As in :class:`~asyncdp_sim.learning.objectives.PerceptronObjective`.

    Raises
    ------
    DataError
        If the slope that remains is above :data:`PROMISED`.
    """
    fitness = _Scaled(net, x, y, loss, sigma, theta_max)
    streams = Streams(_SEED)
    trials = [np.zeros(net.numbers)]
    for number in range(1, _STARTS + 1):
        drawn = streams.generator("mlp", "start", number).standard_normal(net.numbers)
        units, outer, threshold = net.parts(drawn)
        units /= np.sqrt(net.inputs + 1)
        outer /= np.sqrt(net.hidden + 1)
        threshold /= np.sqrt(net.hidden + 1)
        trials.append(fitness.descend(drawn, _TRIAL))
    best = min(trials, key=lambda v: fitness(v)[0])
    if fitness.left(best) > _AIM:
        best = fitness.descend(best, _EVALUATIONS)
    reached = fitness.left(best)
    if not reached <= PROMISED:
        raise unsolved(sigma, reached, PROMISED)
    return fitness.theta(best)


class _Scaled:
    """f(sv)/f(0) and its slope, on the box of v."""

    def __init__(
        self,
        net: Perceptron,
        x: Array,
        y: Array,
        loss: Loss,
        sigma: float,
        theta_max: float | None,
    ) -> None:
        self._net, self._x, self._y, self._loss, self._sigma = net, x, y, loss, sigma
        self._bound = np.inf if theta_max is None else theta_max
        inputs, target = np.sqrt((x * x).mean(axis=0)), np.sqrt((y * y).mean())
        self._scale = np.full(net.numbers, target if target > 0 else 1.0)
        units, _, _ = net.parts(self._scale)
        units[...] = 1 / np.where(inputs > 0, inputs, 1.0)  # 1 where there is nothing to measure by
        self._box = self._bound / self._scale
        zero, _ = self._fitness(np.zeros(net.numbers))
        self._zero = zero if zero > 0 else 1.0

    def theta(self, v: Array) -> Array:
        """Return θ in Θ."""
        return np.clip(self._scale * v, -self._bound, self._bound)

    def __call__(self, v: Array) -> tuple[float, Array]:
        """Return the relative fitness and its slope."""
        value, slope = self._fitness(self._scale * v)
        return value / self._zero, slope * self._scale / self._zero

    def left(self, v: Array) -> float:
        """Return the largest slope along a coordinate that does not lead out of the box."""
        _, slope = self(v)
        return float(np.max(np.abs(np.clip(v - slope, -self._box, self._box) - v)))

    def descend(self, v: Array, evaluations: int) -> Array:
        """Return where a descent from ``v`` ends."""
        from scipy.optimize import minimize  # a slow import

        begun = np.clip(v, -self._box, self._box)
        box = list(zip(-self._box, self._box, strict=True))
        aims = {"maxfun": evaluations, "ftol": 0.0, "xtol": 0.0, "gtol": _AIM}
        same = {"scale": np.ones(len(v)), "offset": np.zeros(len(v))}  # either alone is undefined
        with np.errstate(all="ignore"):  # what is found is judged, however it was
            result = minimize(
                self, begun, jac=True, method="TNC", bounds=box, options={**aims, **same}
            )
        return np.asarray(np.clip(result.x, -self._box, self._box))

    def _fitness(self, theta: Array) -> tuple[float, Array]:
        """Return f and ∇f, by blocks of rows that stay in the cache."""
        net, total, slopes = self._net, 0.0, np.zeros(self._net.numbers)
        for first in range(0, len(self._y), _BLOCK):
            rows, targets = self._x[first : first + _BLOCK], self._y[first : first + _BLOCK]
            active = net.active(rows, theta)
            z = net.outputs(rows, theta, active)
            total += float(self._loss.value(z, targets).sum())
            slopes += net.pulled(rows, theta, active, self._loss.slope(z, targets))
        value = self._sigma / 2 * float(theta @ theta) + total / len(self._y)
        return value, self._sigma * theta + slopes / len(self._y)


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
        :func:`asyncdp_sim.learning.objectives.mlp.best_of`.

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
            for stack in stacks(len(points), self.net.hidden * len(y)):
                z = self.net.outputs(x, points[stack], self.net.active(x, points[stack]))
                total[stack] += self.loss.value(z, y).sum(axis=-1)
        fitness = self.sigma / 2 * (points * points).sum(axis=-1) + total / self.records.sum()
        return np.asarray(fitness.reshape(theta.shape[:-1]))

    def excess(self, theta: Array) -> Array:
        """Return f(θ) − f(θ*) for points of shape (…, p), the plain difference.

        It is negative where a model is better than θ*, which no descent found. Close to θ* its
        error is some 1e-16 f(θ*).
        """
        return self.fitness(theta) - self.least

    @cached_property
    def _unclipped(self) -> PerceptronRecords:
        return PerceptronRecords(self.net, self.features, self.targets, self.loss)

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return owner i's mean record gradient, one owner (from 0) and point (R, p) per row."""
        return self._unclipped.gradient(owners, points)


class MLP(ModelKind):
    """A multilayer perceptron, z = w₂ᵀ tanh(W₁x + b₁) + b₂, ℓ = φ(z, y) (Collab, Remark 1).

    θ has p = H(``data.features`` + 2) + 1 coordinates, all of them regularised. f is not convex: θ*
    is the best of several local minima, and ψ < 0 means that a run found a better model. No theorem
    of the papers applies.
    """

    augmented = True
    linear = False
    quadratic = False
    phi = trait(lambda self: SQUARED if self.loss == "squared" else LogisticLoss())

    kind: Literal["mlp"] = "mlp"
    hidden: Count
    loss: Literal["squared", "logistic"] = "squared"

    @override
    def start_faults(self, initial: str | None) -> list[Fault]:
        # hidden units that start alike have gradients that are alike, too
        if initial in ("uniform", None):
            return []
        remedy = "allowed is uniform with model.kind = mlp: hidden units must start apart"
        return [Fault("algorithm.initial", initial, remedy)]

    @override
    def numbers(self, features: int) -> int:
        return Perceptron(features, self.hidden).numbers

    @override
    def predictions(self, rows: Array, theta: Array) -> Array:
        net = self._net([rows])
        return net.outputs(rows, theta, net.active(rows, theta))

    @override
    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> Objective:
        net = self._net(features)
        return PerceptronObjective(net, features, targets, self.phi, self.sigma, self.theta_max)

    @override
    def records(
        self, features: Sequence[Array], targets: Sequence[Array], clip: float | None, norm: Norm
    ) -> Records:
        return PerceptronRecords(self._net(features), features, targets, self.phi, clip, norm)

    def _net(self, features: Sequence[Array]) -> Perceptron:
        return Perceptron(features[0].shape[1] - 1, self.hidden)

    @override
    def gradient_bound(
        self, row_norm: float, target_max: float, n_features: int, norm: Norm
    ) -> float | None:
        """Return Ξ over Θ and all records of ‖x‖ ≤ ``row_norm``, |y| ≤ ``target_max``.

        It is an upper bound: sup|φ'| times that of ‖∂z/∂θ‖, each over its own worst case. It
        holds for ‖θ‖_∞ ≤ max(θ_max, 1), so that models may start in [0, 1)ᵖ whatever Θ is.

        Parameters
        ----------
        row_norm, target_max : float
        n_features : int
            d.
        norm : str
            Of ‖x‖ and ‖∇ℓ‖.

        Returns
        -------
        float or None
            None where Θ is the whole space: w₂ multiplies the gradient of W₁.
        """
        if self.theta_max is None:
            return None
        net, box = Perceptron(n_features, self.hidden), max(self.theta_max, 1.0)
        steepest = float(self.phi.steepest(net.reach(box), target_max))
        return steepest * float(net.longest(box, self.longest(row_norm, norm), norm))
