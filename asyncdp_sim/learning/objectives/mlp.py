"""A network with one hidden layer: its outputs and record gradients, its fitness, its descent.

z = w₂ᵀa + b₂ with a = tanh(W₁x + b₁) and H hidden units, so that

∂z/∂w₂ = a, ∂z/∂b₂ = 1, ∂z/∂(W₁, b₁)_h = w₂_h (1 − a_h²) (x, 1).

All functions take stacks of models, θ of shape (…, p). Each model is a matrix product of its own,
so that its bits do not depend on how many there are. Gradients are clipped or measured without
forming them.

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
from asyncdp_sim.learning.objectives.models import ModelKind, RowsObjective
from asyncdp_sim.learning.objectives.records import Norm, Records, Rows, stacks


@dataclass(frozen=True)
class Perceptron:
    """The shape of a network, and the layout of its p = H(d + 2) + 1 parameters.

    θ holds hidden unit after hidden unit, each with its d weights and then its threshold (a row of
    W₁ and b₁), then w₂, then b₂. Rows x of features come with their constant: (x, 1).

    Attributes
    ----------
    inputs : int
        d ≥ 1, without the constant.
    hidden : int
        H ≥ 1.
    """

    inputs: int
    hidden: int

    @property
    def numbers(self) -> int:
        """p, the number of parameters."""
        return self.hidden * (self.inputs + 2) + 1

    def parts(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return views of (W₁, b₁) (…, H, d + 1), w₂ (…, H) and b₂ (…, 1)."""
        end = self.hidden * (self.inputs + 1)
        units = theta[..., :end].reshape(*theta.shape[:-1], self.hidden, self.inputs + 1)
        return units, theta[..., end:-1], theta[..., -1:]

    def active(self, x: Array, theta: Array) -> Array:
        """Return a, shape (…, H, n), of rows (x, 1) of shape (n, d + 1)."""
        sums = self.parts(theta)[0] @ x.T
        return np.asarray(np.tanh(sums, out=sums))

    def outputs(self, x: Array, theta: Array, active: Array) -> Array:
        """Return z, shape (…, n), of rows (x, 1) of shape (n, d + 1) and their activations a.

        The constant 1 of a row multiplies b₂ too, so that z = 0 for a row of zeros: a record that
        contributes nothing.
        """
        _, weights, threshold = self.parts(theta)
        return np.asarray((weights[..., None, :] @ active)[..., 0, :] + threshold * x[:, -1])

    def pulled(self, x: Array, theta: Array, active: Array, slope: Array) -> Array:
        """Return Σ_j s_j ∂z_j/∂θ, shape (…, p), for slopes s of shape (…, n)."""
        _, weights, _ = self.parts(theta)
        inner = active * active
        np.subtract(1, inner, out=inner)
        inner *= slope[..., None, :]
        gradients = np.empty(theta.shape)
        units, outer, threshold = self.parts(gradients)  # views, through which it is filled
        np.multiply(weights[..., None], inner @ x, out=units)
        outer[...] = (active @ slope[..., None])[..., 0]
        threshold[..., 0] = slope.sum(axis=-1)
        return gradients

    def lengths(self, theta: Array, active: Array, rows: Array, norm: Norm) -> Array:
        """Return ‖∂z/∂θ‖ ≥ 1, shape (…, n), for rows of norms ‖(x, 1)‖ (n,) in the same norm.

        L1: 1 + Σ_h |a_h| + |w₂_h|(1 − a_h²)‖(x, 1)‖₁; L2 is the root of the sum of the squares.
        """
        weights = np.abs(self.parts(theta)[1])[..., None, :]
        bends = 1 - active * active
        if norm == "l1":
            through = (weights @ bends)[..., 0, :]
            return np.asarray(1 + np.abs(active).sum(axis=-2) + through * rows)
        through = ((weights * weights) @ (bends * bends))[..., 0, :]
        return np.asarray(np.sqrt(1 + (active * active).sum(axis=-2) + through * rows**2))

    def longest(self, box: float, rows: Array | float, norm: Norm) -> Array:
        """Return a bound of ‖∂z/∂θ‖ over ‖θ‖_∞ ≤ ``box`` for rows of norms ``rows``.

        With c = box‖(x, 1)‖, a unit adds at most max_{t ≤ 1} t + c(1 − t²) in L1, which is
        c + 1/(4c), or 1 where c ≤ ½; in L2 its square adds at most max_{u ≤ 1} u + c²(1 − u)²,
        which is max(1, c²).
        """
        c = box * np.asarray(rows)
        if norm == "l1":
            c = np.maximum(c, 0.5)
            return np.asarray(1 + self.hidden * (c + 1 / (4 * c)))
        return np.asarray(np.sqrt(1 + self.hidden * np.maximum(1, c * c)))

    def reach(self, box: float) -> float:
        """Return a bound of |z| over ‖θ‖_∞ ≤ ``box``: all activations at ±1."""
        return box * (self.hidden + 1)


@dataclass(frozen=True, eq=False)
class PerceptronRecords(Records):
    """Owners' records; ∇ℓ = φ'(z, y) ∂z/∂θ.

    Attributes
    ----------
    net : Perceptron
    features : sequence of array (n_i, d + 1)
        Rows (x, 1).
    targets : sequence of array (n_i,)
    loss : Loss
        φ.
    clip : float or None
        C: each record's gradient is scaled down to norm ≤ C; None clips nothing.
    norm : str
        The norm of ``clip`` and of measured gradients.
    """

    net: Perceptron
    features: Sequence[Array]
    targets: Sequence[Array]
    loss: Loss
    clip: float | None = None
    norm: Norm = "l1"

    @property
    @override
    def width(self) -> int:
        return self.net.hidden

    @override
    def total(self, x: Array, y: Array, lengths: Array, theta: Array, clip: float | None) -> Array:
        active = self.net.active(x, theta)
        slope = self.loss.slope(self.net.outputs(x, theta, active), y)
        if clip is not None:  # ‖∇ℓ‖ = |φ'|‖∂z/∂θ‖: to clip it is to clip φ'
            bound = clip / self.net.lengths(theta, active, lengths, self.norm)
            np.clip(slope, -bound, bound, out=slope)
            slope[np.isnan(slope)] = 0.0  # ∞ − ∞ in a model that has diverged
        return self.net.pulled(x, theta, active, slope)

    @override
    def ceilings(self, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
        """Return NaN: a ball of networks bounds little, so that all gradients are measured."""
        return np.full((len(self.targets[owner][rows]), len(centres)), np.nan)

    @override
    def lengths_at(self, owner: int, rows: Ints, points: Array) -> Array:
        """Return |φ'(z, y)|‖∂z/∂θ‖, shape (m,), one record and point per row."""
        x, y, lengths = (
            table[owner][rows] for table in (self.features, self.targets, self.lengths)
        )
        units, weights, threshold = self.net.parts(points)
        active = np.tanh(np.einsum("ihj,ij->ih", units, x))
        slope = self.loss.slope(
            np.einsum("ih,ih->i", weights, active) + threshold[:, 0] * x[:, -1], y
        )
        longest = self.net.lengths(points, active[..., None], lengths[:, None], self.norm)
        return np.asarray(np.abs(slope) * longest[:, 0])

    def gradient_bound(self, theta_max: float | None) -> float | None:
        """Return an upper bound of ‖∇ℓ‖ over Θ and these records; None where Θ is the whole space.

        max sup|φ'| · :meth:`Perceptron.longest`, sup|φ'| over |z| ≤ θ_max(H + 1).
        """
        if theta_max is None:
            return None
        reach, bounds = self.net.reach(theta_max), []
        for y, length in zip(self.targets, self.lengths, strict=True):
            steepest = self.loss.steepest(reach, np.abs(y))
            bounds.append(np.max(steepest * self.net.longest(theta_max, length, self.norm)))
        return float(max(bounds))


PROMISED = 1e-6
"""Largest |∂f/∂v_j| at θ*, along directions that stay in Θ, relative to f(0)."""
_AIM = 1e-7
_STARTS, _TRIAL, _EVALUATIONS = 8, 300, 20_000
_SEED = 1
_BLOCK = 4096


def best_of(objective: "PerceptronObjective") -> Array:
    """Return the best local minimum in Θ, of several, of an objective.

    From each of 8 starts, v ~ N(0, 1/(d + 1)) for the hidden units and N(0, 1/(H + 1)) for the
    output (seed 1, stream ``("mlp", "start", j)``), f descends for 300 evaluations; the lowest, or
    0 where that is lower still, is followed to its end.

    Raises
    ------
    DataError
        If the slope that remains is above :data:`PROMISED`.
    """
    fitness, net, streams = _Scaled(objective), objective.rows.net, Streams(_SEED)
    trials = [np.zeros(net.numbers)]
    for number in range(1, _STARTS + 1):
        drawn = streams.generator("mlp", "start", number).standard_normal(net.numbers)
        units, outer, threshold = net.parts(drawn)  # views: ``drawn`` is scaled in place
        units /= np.sqrt(net.inputs + 1)
        outer /= np.sqrt(net.hidden + 1)
        threshold /= np.sqrt(net.hidden + 1)
        trials.append(fitness.descend(drawn, _TRIAL))
    best = min(trials, key=lambda v: fitness(v)[0])
    if fitness.remaining_slope(best) > _AIM:
        best = fitness.descend(best, _EVALUATIONS)
    reached = fitness.remaining_slope(best)
    if not reached <= PROMISED:
        raise unsolved(objective.sigma, reached, PROMISED)
    return fitness.theta(best)


class _Scaled:
    """f(sv)/f(0) and its slope, on the box of v."""

    def __init__(self, objective: "PerceptronObjective") -> None:
        rows, net = objective.rows, objective.rows.net
        x, y = np.asfortranarray(np.concatenate(rows.features)), np.concatenate(rows.targets)
        self._net, self._x, self._y, self._loss = net, x, y, rows.loss
        self._sigma = objective.sigma
        self._bound = np.inf if objective.theta_max is None else objective.theta_max
        inputs, target = np.sqrt((x * x).mean(axis=0)), np.sqrt((y * y).mean())
        self._scale = np.full(net.numbers, target if target > 0 else 1.0)
        units, _, _ = net.parts(self._scale)  # a view, through which the scales of W₁ are set
        units[...] = 1 / np.where(inputs > 0, inputs, 1.0)  # 1 for inputs that are always 0
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

    def remaining_slope(self, v: Array) -> float:
        """Return the largest slope along a coordinate that does not lead out of the box."""
        _, slope = self(v)
        return float(np.max(np.abs(np.clip(v - slope, -self._box, self._box) - v)))

    def descend(self, v: Array, evaluations: int) -> Array:
        """Return the end of a descent from ``v``."""
        from scipy.optimize import minimize  # a slow import

        begun = np.clip(v, -self._box, self._box)
        box = list(zip(-self._box, self._box, strict=True))
        aims = {"maxfun": evaluations, "ftol": 0.0, "xtol": 0.0, "gtol": _AIM}
        same = {"scale": np.ones(len(v)), "offset": np.zeros(len(v))}  # either alone is undefined
        with np.errstate(all="ignore"):  # the result is judged by its slope, however it was found
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


class PerceptronObjective(RowsObjective):
    """A sum of owners' mean losses and a regulariser; f is not convex."""

    rows: PerceptronRecords
    smoothness = None  # no bound of the second derivative is claimed

    @cached_property
    def n_features(self) -> int:
        """p, the coordinates of θ."""
        return self.rows.net.numbers

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
        return best_of(self)

    @cached_property
    def least(self) -> float:
        """f(θ*) > 0."""
        return positive(float(self.fitness(self.optimum)))

    def fitness(self, theta: Array) -> Array:
        """Return f(θ) for points of shape (…, p), each a matrix product of its own."""
        net, points = self.rows.net, theta.reshape(-1, self.n_features)
        total = np.zeros(len(points))
        for x, y in zip(self.rows.features, self.rows.targets, strict=True):
            for stack in stacks(len(points), net.hidden * len(y)):
                z = net.outputs(x, points[stack], net.active(x, points[stack]))
                total[stack] += self.rows.loss.value(z, y).sum(axis=-1)
        fitness = self.sigma / 2 * (points * points).sum(axis=-1) + total / self.records.sum()
        return np.asarray(fitness.reshape(theta.shape[:-1]))

    def excess(self, theta: Array) -> Array:
        """Return f(θ) − f(θ*) for points of shape (…, p), the plain difference.

        It is negative where a model is better than θ*, which no descent found. Close to θ* its
        error is some 1e-16 f(θ*).
        """
        return self.fitness(theta) - self.least


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
    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> PerceptronObjective:
        rows = self.records(features, targets, None, "l1")
        return PerceptronObjective(rows, self.sigma, self.theta_max)

    @override
    def records(
        self, features: Sequence[Array], targets: Sequence[Array], clip: float | None, norm: Norm
    ) -> PerceptronRecords:
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
