"""Multinomial logistic regression: a score for each class but the last, which is the reference.

With z = Θx the K − 1 scores of a row, 0 the last class's, and p_c ∝ e^{z_c} their probabilities,
ℓ = −ln p_y and ∇ℓ = s xᵀ, where s_c = p_c − [y = c], so that ‖∇ℓ‖ = ‖s‖‖x‖ in L1 and in L2. Models
are vectors θ, class by class. The second derivative of ℓ in z is diag(p) − ppᵀ ≤ ½: s moves by at
most ½‖Δz‖₂ in L2, and in L1 by E|Δz − EΔz| ≤ ‖Δz‖₂/√2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.specification import trait
from asyncdp_sim.learning.objectives.losses import Loss
from asyncdp_sim.learning.objectives.models import LinearKind, log_odds
from asyncdp_sim.learning.objectives.records import (
    ROUNDING,
    Norm,
    Records,
    Rows,
    stacks,
    unbounded_where_sums_overflow,
)


@dataclass(frozen=True)
class SoftmaxLoss(Loss):
    """φ(z, y) = ln(1 + Σ e^{z_c}) − z_y, with the K − 1 scores z on the last axis.

    Labels are −1 and 1 of two classes, 1 to K of more, as
    :class:`~asyncdp_sim.data.tables.encodings.ClassLabels` makes them. A target of 0 is no
    label: φ = 0 at every z.

    Attributes
    ----------
    classes : int
        K ≥ 2.
    sharp : bool
        Whether s_y = −Σ p_c, c ≠ y, in place of p_y − 1, which cancels where y is nearly certain.
        The latter takes less time.
    """

    classes: int
    sharp: bool = False
    classifies = True
    logit = True
    curvature = 0.5

    @property
    @override
    def sharper(self) -> "SoftmaxLoss":
        return replace(self, sharp=True)

    @override
    def numbers(self, features: int) -> int:
        return (self.classes - 1) * features

    @override
    def scores(self, x: Array, theta: Array) -> Array:
        """Return z, shape (…, n, K − 1), of rows (n, p) under models (…, (K − 1)p)."""
        by_class = theta.reshape(*theta.shape[:-1], -1, x.shape[1])
        return np.asarray(x @ np.swapaxes(by_class, -1, -2))

    @override
    def pulled(self, x: Array, slopes: Array) -> Array:
        """Return Σ_j s_j x_jᵀ, shape (…, (K − 1)p), for slopes (…, n, K − 1)."""
        gradients = np.swapaxes(slopes, -1, -2) @ x
        return np.asarray(gradients.reshape(*gradients.shape[:-2], -1))

    @override
    def curvatures(self, x: Array, z: Array, y: Array) -> Iterator[Array]:
        p = probabilities(z)[:, :-1] * np.abs(np.sign(y))[:, None]
        count, d = p.shape[1], x.shape[1]
        curvature = np.empty((count, d, count, d))
        for row in range(count):
            for other in range(row, count):
                bend = p[:, row] * ((row == other) - p[:, other])
                curvature[row, :, other] = (x * bend[:, None]).T @ x
                curvature[other, :, row] = curvature[row, :, other].T
        yield curvature.reshape(count * d, count * d)
        yield np.asarray(np.kron(np.eye(count), x.T @ x / 2))

    @override
    def value(self, z: Array, y: Array) -> Array:
        """Return −ln p_y = ln Σ e^{z_c − z_y}, shape (…, n), accurately where it is small."""
        away = _scores_of_all_classes(z) - np.take_along_axis(
            _scores_of_all_classes(z), _places(z, y), axis=-1
        )
        return np.asarray(np.abs(np.sign(y)) * np.logaddexp.reduce(away, axis=-1))

    @override
    def slope(self, z: Array, y: Array, out: Array | None = None) -> Array:
        """Return s, shape (…, n, K − 1)."""
        p, own = probabilities(z), np.arange(self.classes) == _places(z, y)
        if self.sharp:
            rest = np.where(own, 0.0, p).sum(axis=-1, keepdims=True)
            slopes = np.where(own, -rest, p)[..., :-1]
        else:
            slopes = p[..., :-1] - own[..., :-1]
        return np.asarray(slopes * np.abs(np.sign(y))[:, None])

    @override
    def steepest(self, reach: Array | float, target: Array | float) -> Array | float:
        """Return the supremum of ‖s‖₁."""
        return self.longest("l1")

    def longest(self, norm: Norm) -> float:
        """Return the supremum of ‖s‖: all of the probability on another class than y."""
        if self.classes == 2:
            return 1.0
        return 2.0 if norm == "l1" else sqrt(2)

    def right(self, z: Array, y: Array) -> Array:
        """Return 1 where y has the largest score, 1/m where m classes share it, else 0, (…, n)."""
        all_scores = _scores_of_all_classes(z)
        best = all_scores == all_scores.max(axis=-1, keepdims=True)
        own = np.take_along_axis(best, _places(z, y), axis=-1)[..., 0]
        return np.asarray(own / np.maximum(1, best.sum(axis=-1)))

    @override
    def above_tangent(self, step: Array, z: Array, y: Array, slope: Array) -> Array:
        """Return ln Σ p_c e^{d_c}, where d = t − Σ p_c t_c and t has the steps of all classes.

        As Σ p_c d_c = 0, that is ln(1 + Σ p_c (e^{d_c} − 1 − d_c)), a sum of terms ≥ 0. Where a
        step is large, the difference itself is computed.
        """
        p, t = probabilities(z), _scores_of_all_classes(step)
        mean = (p * t).sum(axis=-1)
        away = t - mean[..., None]
        distance = np.log1p((p * _beyond_linear(np.minimum(away, _FAR))).sum(axis=-1))
        far = away.max(axis=-1) > _FAR
        both = (z + step, np.broadcast_to(z, step.shape))
        ends = [np.logaddexp.reduce(_scores_of_all_classes(end[far]), axis=-1) for end in both]
        distance[far] = ends[0] - ends[1] - mean[far]
        return np.asarray(np.abs(np.sign(y)) * np.maximum(distance, 0))


def probabilities(z: Array) -> Array:
    """Return p, shape (…, K), of scores (…, K − 1)."""
    all_scores = _scores_of_all_classes(z)
    exponentials = np.exp(all_scores - all_scores.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def _scores_of_all_classes(z: Array) -> Array:
    """Return scores of all classes."""
    return np.concatenate([z, np.zeros((*z.shape[:-1], 1))], axis=-1)


def _places(z: Array, y: Array) -> Ints:
    """Return the class of each target, from 0, shape (…, n, 1); 0 where there is no label."""
    classes = np.maximum(y if z.shape[-1] == 1 else y - 1, 0).astype(np.int64)
    return np.broadcast_to(classes, z.shape[:-1])[..., None]


def _beyond_linear(d: Array) -> Array:
    """Return e^d − 1 − d without cancellation."""
    few = d * d * (1 / 2 + d * (1 / 6 + d * (1 / 24 + d * (1 / 120 + d * (1 / 720 + d / 5040)))))
    return np.where(np.abs(d) < _FEW, few, np.expm1(d) - d)


@dataclass(frozen=True, eq=False)
class SoftmaxRecords(Records):
    """Owners' records; ∇ℓ = s xᵀ.

    Attributes
    ----------
    features : sequence of array (n_i, p)
    targets : sequence of array (n_i,)
    loss : SoftmaxLoss
        φ.
    clip : float or None
        C: each record's gradient is scaled down to norm ≤ C; None clips nothing.
    norm : str
        The norm of ``clip`` and of measured gradients.
    """

    features: Sequence[Array]
    targets: Sequence[Array]
    loss: SoftmaxLoss
    clip: float | None = None
    norm: Norm = "l1"

    @property
    @override
    def width(self) -> int:
        return self.loss.classes

    @override
    def total(self, x: Array, y: Array, lengths: Array, theta: Array, clip: float | None) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
            slopes = self.loss.slope(self.loss.scores(x, theta), y)
        if clip is not None:
            slopes[np.isnan(slopes)] = 0.0  # ∞ − ∞ in a model that has diverged
            long = self._size(slopes) * lengths
            slopes *= (clip / np.maximum(long, clip))[..., None]
        return self.loss.pulled(x, slopes)

    def _size(self, slopes: Array) -> Array:
        """Return ‖s‖, shape (…, n)."""
        return np.asarray(np.linalg.norm(slopes, ord=1 if self.norm == "l1" else 2, axis=-1))

    @override
    def ceilings(self, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
        """Return bounds of ‖∇ℓ‖ over balls of models; see :class:`~.records.Records`.

        s moves by at most r‖x‖₂/√2 in L1 and r‖x‖₂/2 in L2, and is never beyond its supremum.
        """
        x, y = self.features[owner][rows], self.targets[owner][rows]
        spreads, lengths = self.spreads[owner][rows], self.lengths[owner][rows]
        far = np.linalg.norm(centres, axis=1) + radius
        radius += ROUNDING * (centres.shape[1] + 8) * float(far.max())
        moved = radius * spreads * (1 / sqrt(2) if self.norm == "l1" else 1 / 2)
        bounds = np.empty((len(y), len(centres)))
        for stack in stacks(len(centres), self.width * len(y)):
            size = self._size(self.loss.slope(self.loss.scores(x, centres[stack]), y))
            longest = np.minimum(size + moved, self.loss.longest(self.norm))
            bounds[:, stack] = (longest * lengths).T
        bounds *= 1 + 1e-9
        unbounded_where_sums_overflow(bounds, spreads[:, None], far)
        return bounds

    @override
    def lengths_at(self, owner: int, rows: Ints, points: Array) -> Array:
        x, y = self.features[owner][rows], self.targets[owner][rows]
        z = np.einsum("ij,icj->ic", x, points.reshape(len(x), -1, x.shape[1]))
        return self._size(self.loss.slope(z, y)) * self.lengths[owner][rows]

    def gradient_bound(self, theta_max: float | None) -> float | None:  # noqa: ARG002
        """Return sup of ‖∇ℓ‖ over all models and these records."""
        return self.loss.longest(self.norm) * max(float(lengths.max()) for lengths in self.lengths)


class Softmax(LinearKind):
    """Multinomial logistic regression of K classes, the last of which is the reference.

    θ has p = (K − 1) ``data.features`` coordinates, class by class. ‖∇ℓ‖₁ ≤ 2‖x‖₁ and ‖∇ℓ‖₂ ≤
    √2‖x‖₂; for two classes it is ‖x‖, and the model is logistic regression.
    """

    linear = False
    first_of_two = True
    estimator = "sklearn.linear_model.LogisticRegression"
    phi: ClassVar[SoftmaxLoss] = trait(lambda self: SoftmaxLoss(self.classes))

    kind: Literal["softmax"] = "softmax"
    classes: Annotated[int, Field(ge=2, le=10_000)]

    @property
    @override
    def labels(self) -> tuple[float, ...]:
        if self.classes == 2:
            return (-1.0, 1.0)
        return tuple(float(label) for label in range(1, self.classes + 1))

    @override
    def coefficients(self, theta: Array) -> Array:
        by_class = theta.reshape(self.classes - 1, -1)
        if self.classes == 2:
            return -by_class  # scikit-learn scores the second class, θ the first
        return np.concatenate([by_class, np.zeros_like(by_class[:1])])

    @override
    def guess(self, targets: Array) -> Array:
        return log_odds(targets, self.labels)

    @override
    def records(
        self, features: Sequence[Array], targets: Sequence[Array], clip: float | None, norm: Norm
    ) -> SoftmaxRecords:
        return SoftmaxRecords(features, targets, self.phi, clip, norm)

    @override
    def gradient_bound(
        self, row_norm: float, target_max: float, n_features: int, norm: Norm
    ) -> float | None:
        return self.phi.longest(norm) * row_norm


_FAR = 30.0
"""Steps of a score up to which e^d is used: it overflows at about 700."""
_FEW = 0.02
"""Steps below which the series is more accurate."""
