"""Linear models of an owner's own rows that are pulled towards another model, by any strength.

With x̃ the encoded columns, centred and scaled to deviation 1 over the training rows, a model has
coefficients β and a constant b, and

f(β, b) = (1/n) Σ ℓ(βᵀx̃ + b, y) + (σ/2)‖β‖² + λ(‖β − β₀‖² + (b − b₀)²),

ℓ the squared or the log loss and σ the scenario's. λ = 0 is the package's own model, λ = ∞ the
model (β₀, b₀) itself: the joint one, adapted, or the constant, of which own models are shrunk ones.
Both penalties are one around λβ₀/(σ/2 + λ), so that the minimum differs from it only within the
span of the rows, where a singular value decomposition gives at most n coordinates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.decision.rows import OwnRows, probabilities

STRENGTHS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, np.inf)
"""λ that are tried, both ends included."""
SMALLEST = 1e-6
"""Smallest σ/2 in a classifier: classes that a line divides have no best model without it."""

_NEAR = 1e-8
"""Half of this is what the objective may still fall by, before the last Newton step."""
_SURE = 1.79
"""A Newton step that changes no row's log-odds by more makes no log loss larger: with third
derivatives at most u times second ones, f falls by D − D(eᵘ − u − 1)/u², where D is the decrease
that is expected (Bach, "Self-concordant analysis for logistic regression", 2010)."""
BLOCK = 2**17
"""Numbers, 1 MB, that products of columns take at a time."""
_FEW = 30
"""Columns up to which every problem's second derivatives are formed and solved."""
_SHARED = 7
"""Steps that all models of a strength take by the same second derivatives, before one more."""
_DONE = 1e-14
"""What the objective may still fall by before that one, which leaves a hundredth of it, to be the
last: as little as Newton's steps leave."""
_SHARE = 1e-3
"""The share of a slope's size, squared, that a direction may leave far from a minimum."""


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Linear models of encoded columns; … stands for J models, or (L, J) of L strengths.

    Attributes
    ----------
    coefficients : array (…, S, c)
    constants : array (…, S)
    """

    coefficients: Array
    constants: Array

    def __getitem__(self, chosen: Any) -> "LinearModels":
        """Return some of the models."""
        return LinearModels(self.coefficients[chosen], self.constants[chosen])

    def scores(self, columns: Array) -> Array:
        """Return predictions z (…, n, S) of rows (n, c)."""
        with np.errstate(over="ignore", invalid="ignore"):  # a run may have diverged
            products = self.coefficients.reshape(-1, columns.shape[1]) @ columns.T
            z = products.reshape(*self.constants.shape, -1) + self.constants[..., None]
            return np.swapaxes(z, -1, -2)

    def followed_by(self, others: "LinearModels") -> "LinearModels":
        """Return these models and others as one table."""
        both = np.concatenate([self.coefficients, others.coefficients])
        return LinearModels(both, np.concatenate([self.constants, others.constants]))

    def finite(self, constant: Array) -> "LinearModels":
        """Return the same with a constant (S,) in place of models that have diverged.

        Pulled towards the constant of own models, these are own models, and gain nothing.
        """
        kept = np.isfinite(self.coefficients).all(axis=(1, 2))
        kept = np.asarray(kept & np.isfinite(self.constants).all(axis=1))
        return LinearModels(
            np.where(kept[:, None, None], self.coefficients, 0.0),
            np.where(kept[:, None], self.constants, constant),
        )


@dataclass(frozen=True, eq=False)
class JointModels:
    """The final models of runs, as one owner meets them.

    Attributes
    ----------
    scores : array (J, n, S)
        Predictions of the owner's rows by each model as it is.
    linear : LinearModels or None
        The same models in encoded columns; None where a model is not linear, which is not adapted.
    redraw : array (J,) or None
        Which redraw of the others' rows each learned from; None where it is one.
    margins : bool
        Whether scores are margins, of which a sigmoid makes probabilities, fitted to training rows.
    """

    scores: Array
    linear: LinearModels | None
    redraw: Ints | None = None
    margins: bool = False

    def calibrated(self, rows: OwnRows, trained: Ints) -> "JointModels":
        """Return models whose scores are log-odds: those of margins by a sigmoid of each.

        Scores of a model that has diverged are NaN.
        """
        if not self.margins:
            return self
        known = rows.take(trained)
        nothing = LinearModels(np.zeros((1, 1, 1)), known.constant()[None])
        slope = np.zeros(len(self.scores))
        constant = np.full(len(self.scores), nothing.constants[0, 0])
        # Squares of larger ones are infinite: their model has diverged, too.
        finite = np.asarray((np.abs(self.scores) < 1e150).all(axis=(1, 2)))
        if known.trainable:
            for j in np.flatnonzero(finite):
                margin = replace(known, columns=self.scores[j, trained])
                path = pulled(margin, 0.0, nothing, [0.003])
                slope[j] = path.coefficients[0, 0, 0, 0]
                constant[j] = path.constants[0, 0, 0]
        scores = np.where(finite[:, None, None], self.scores, np.nan)
        scores = slope[:, None, None] * scores + constant[:, None, None]
        linear = self.linear
        if linear is not None:
            of_finite = linear.finite(np.zeros(1))
            linear = LinearModels(
                slope[:, None, None] * of_finite.coefficients,
                slope[:, None] * of_finite.constants + constant[:, None],
            )
        return replace(self, scores=scores, linear=linear, margins=False)


def pulled(
    rows: OwnRows,
    sigma: float,
    towards: LinearModels,
    strengths: Sequence[float],
    start: LinearModels | None = None,
) -> LinearModels:
    """Return the minima (L, J) of f for some finite strengths and models to be pulled towards.

    Parameters
    ----------
    rows : OwnRows
        What is trained on.
    sigma : float
        σ ≥ 0.
    towards : LinearModels
        (β₀, b₀), J of them, in encoded columns.
    strengths : sequence of float
        λ ≥ 0, finite, L of them.
    start : LinearModels, optional
        One model for each strength that is near the minima, where a search begins.
    """
    n, (centre, scale, coordinates, directions, lengths) = len(rows), rows.principal
    goal = towards.coefficients * scale
    b0 = towards.constants + towards.coefficients @ centre
    strength = np.asarray(strengths, dtype=float)[:, None, None]
    base = sigma / 2 if rows.classes == 0 else max(sigma / 2, SMALLEST)
    weight = base + strength
    share = np.divide(strength, weight, out=np.zeros_like(weight), where=weight > 0)
    middle = share[..., None] * goal
    inside = middle @ directions.T
    if rows.classes == 0:
        target = rows.targets @ coordinates / n
        curvature = lengths**2 / n
        total = curvature + weight[..., None]
        spanned = np.divide(
            target + weight[..., None] * inside, total, out=np.zeros_like(inside), where=total > 0
        )
        constant = (rows.targets.mean() + strength * b0) / (1 + strength)
    else:
        first = np.zeros((len(strength), rows.n_scores, len(directions) + 1))
        first[..., -1] = rows.constant()
        if start is not None:
            near = start.coefficients[:, 0]
            first[..., :-1] = (near * scale) @ directions.T
            first[..., -1] = start.constants[:, 0] + near @ centre
        aim = np.concatenate([inside, np.broadcast_to(b0, inside.shape[:-1])[..., None]], axis=-1)
        pull = np.broadcast_to(2 * weight, first.shape).copy()
        pull[..., -1] = 2 * strength[..., 0]
        own = (np.arange(rows.n_scores)[:, None] == rows.targets).astype(float)
        losses = _Losses(np.column_stack([coordinates, np.ones(n)]), own)
        solutions = _minima(losses, first, aim, pull)
        spanned, constant = solutions[..., :-1], solutions[..., -1]
    scaled = middle + (spanned - inside) @ directions
    coefficients = scaled / scale
    return LinearModels(coefficients, constant - coefficients @ centre)


@dataclass(frozen=True, eq=False)
class _Losses:
    """Mean log losses of rows (n, c), each plus a penalty Σ pull (w − aim)²/2.

    They are of coordinates w = (γ, b) (…, S, c) of the rows' span and the constant, each class but
    the last its own; ``own`` (S, n) is 1 where a row is of a class, else 0.
    """

    design: Array
    own: Array

    def chances(self, w: Array) -> Array:
        """Return the probabilities (…, S, n) of all classes but the last."""
        z = (w.reshape(-1, w.shape[-1]) @ self.design.T).reshape(*w.shape[:-1], len(self.design))
        if z.shape[-2] == 1:  # takes half the time
            return np.asarray(1 / (1 + np.exp(-z)))
        return probabilities(z, axis=-2)[..., :-1, :]

    def slope(self, chances: Array, w: Array, aim: Array, pull: Array) -> Array:
        """Return first derivatives (…, S, c) at points w."""
        n = len(self.design)
        missed = (chances - self.own).reshape(-1, n) @ self.design
        return missed.reshape(w.shape) / n + pull * (w - aim)

    @cached_property
    def products(self) -> list[Array]:
        """Products of each two columns, over n, of blocks of rows: (B, c²)."""
        n, size = self.design.shape
        some = max(1, BLOCK // size**2)
        blocks = (self.design[first : first + some] for first in range(0, n, some))
        return [(x[:, :, None] / n * x[:, None, :]).reshape(-1, size**2) for x in blocks]

    def second(self, chances: Array, pull: Array) -> Array:
        """Return all second derivatives (A, S·c, S·c).

        These are sums over the rows of products of two columns, weighted.
        """
        count, scores, n = chances.shape
        size = self.design.shape[1]
        bend = chances[:, :, None] * (np.eye(scores)[..., None] - chances[:, None])
        bend, some = bend.reshape(-1, n), len(self.products[0])
        second = bend[:, :some] @ self.products[0]
        for number, products in enumerate(self.products[1:], 1):
            second += bend[:, number * some : (number + 1) * some] @ products
        hessian = second.reshape(count, scores, scores, size, size).swapaxes(2, 3)
        hessian = hessian.reshape(count, (scores * size) ** 2)
        hessian[:, :: scores * size + 1] += pull.reshape(count, -1) + 1e-12
        return hessian.reshape(count, scores * size, scores * size)

    def direction(self, chances: Array, pull: Array, slope: Array) -> Array:
        """Return the Newton direction (A, S, c), without its sign, of each problem."""
        if self.design.shape[1] > _FEW:
            return _solved(self.design, chances, pull, slope)
        second = self.second(chances, pull)
        solved = np.linalg.solve(second, slope.reshape(*second.shape[:2], 1))
        return np.asarray(solved.reshape(slope.shape))

    def fitness(self, w: Array, aim: Array, pull: Array) -> Array:
        """Return the losses (A,) with their penalties."""
        z = w @ self.design.T  # the cases come last: sums over few classes are quick then
        top = np.maximum(z.max(axis=-2), 0.0)
        total = top + np.log(np.exp(z - top[..., None, :]).sum(axis=-2) + np.exp(-top))
        losses = total - np.sum(z * self.own, axis=-2)
        penalties = np.sum(pull * (w - aim) ** 2, axis=(-1, -2)) / 2
        return np.asarray(losses.mean(axis=-1) + penalties)


def _minima(losses: _Losses, first: Array, aim: Array, pull: Array) -> Array:
    """Return the minima (L, J, S, c) of losses with aims, J of each strength.

    The search begins at ``first`` (L, S, c); ``pull`` has this shape, too.
    """
    pulls = np.repeat(pull[:, None], aim.shape[1], axis=1)
    apart = (pulls * (aim != aim[:, :1])).any(axis=(1, 2, 3))
    left = np.zeros(aim.shape[:2], dtype=np.bool_)
    left[:, 0] = True  # of models that nothing pulls apart the first is all
    with np.errstate(over="ignore", invalid="ignore"):
        if apart.any():  # all models begin where a step of the first leads
            first = _descended(losses, first, aim[:, 0], pull, most=1)
        w = np.repeat(first[:, None], aim.shape[1], axis=1)
        if apart.any():
            w[apart], there = _neared(losses, w[apart], aim[apart], pulls[apart])
            left[apart] = ~there
        w[left] = _descended(losses, w[left], aim[left], pulls[left])
    w[~apart] = w[~apart, :1]
    return w


def _neared(losses: _Losses, start: Array, aim: Array, pull: Array) -> tuple[Array, Bools]:
    """Return points (L, J, S, c) nearer to the minima than the start, and which are there.

    All models of a strength start at one point and take a few steps by the second derivatives
    there, each of which leaves a small share of the way. All steps but the last are in single
    precision, which takes a third of the time.
    """
    inverse = np.asarray(np.linalg.inv(losses.second(losses.chances(start[:, 0]), pull[:, 0])))
    exact = losses, inverse, aim, pull
    single = _Losses(_single(losses.design), _single(losses.own))
    rough = single, _single(inverse), _single(aim), _single(pull)
    w, decreases = _single(start), list[Array]()
    for of_rows, shared, aims, pulls in (*[rough] * _SHARED, exact):
        slope = of_rows.slope(of_rows.chances(w), w, aims, pulls).reshape(*w.shape[:2], -1)
        step = slope @ shared
        decreases.append(np.einsum("ljc,ljc->lj", step, slope))
        w = w - step.reshape(w.shape)
    nearer = decreases[-1] < decreases[0]
    return np.where(nearer[..., None, None], w, start), nearer & (decreases[-1] <= _DONE)


def _single(numbers: Array) -> Array:
    """Return numbers in single precision, the only place where they are."""
    single: Any = np.float32
    return np.asarray(numbers, dtype=single)


def _descended(losses: _Losses, start: Array, aim: Array, pull: Array, *, most: int = 60) -> Array:
    """Return the minima (A, S, c) that Newton steps reach, or where so many lead."""
    w, active = start.copy(), np.arange(len(start))
    for _ in range(most):
        if len(active) == 0:
            break
        here, aim_here, pull_here = w[active], aim[active], pull[active]
        chances = losses.chances(here)
        slope = losses.slope(chances, here, aim_here, pull_here)
        step = -losses.direction(chances, pull_here, slope)
        far = np.flatnonzero(-np.einsum("asc,asc->a", step, slope) > _NEAR)
        reach = np.abs(step[far] @ losses.design.T).max(axis=(1, 2), initial=0.0)
        doubted = far[reach * min(len(losses.own), 2) > _SURE]
        if len(doubted) > 0:
            problems = aim_here[doubted], pull_here[doubted]
            step[doubted] *= _length(losses, here[doubted], step[doubted], *problems)
        w[active] += step  # where little is left, one step squares it, and is the last
        active = active[far]
    return w


def _length(losses: _Losses, here: Array, step: Array, aim: Array, pull: Array) -> Array:
    """Return lengths (A, 1, 1) of steps, halved until none makes its problem worse."""
    length = np.ones((len(here), 1, 1))
    value, worse = losses.fitness(here, aim, pull), np.arange(len(here))
    for _ in range(30):
        points = here[worse] + length[worse] * step[worse]
        reached = losses.fitness(points, aim[worse], pull[worse])
        worse = worse[~(reached <= value[worse])]
        if len(worse) == 0:
            break
        length[worse] /= 2
    return length


def _solved(design: Array, chances: Array, pull: Array, slope: Array) -> Array:
    """Return the Newton direction, without its sign, of each problem of many columns.

    By conjugate gradients, all problems together: the design's columns are orthogonal, so that the
    diagonal of the second derivatives is nearly all of them, and few steps suffice.
    """
    n, dimension = len(design), slope[0].size
    direction, solving = np.zeros_like(slope), np.arange(len(slope))
    left, pull = slope, pull + 1e-12
    diagonal = (chances * (1 - chances)) @ design**2 / n + pull
    toward = left / diagonal
    size = np.sum(left * toward, axis=(-1, -2), keepdims=True)
    small = np.minimum(size, _SHARE) * size  # exacter near a minimum, as Newton's steps are
    for _ in range(4 * dimension):
        unsolved = np.flatnonzero(size > small)
        if len(unsolved) < len(solving):
            solving, pull, diagonal = solving[unsolved], pull[unsolved], diagonal[unsolved]
            left, toward, chances = left[unsolved], toward[unsolved], chances[unsolved]
            size, small = size[unsolved], small[unsolved]
        if len(solving) == 0:
            break
        seen = toward @ design.T
        bent = chances * (seen - np.sum(chances * seen, axis=-2, keepdims=True))
        changed = bent @ design / n + pull * toward
        length = size / np.sum(toward * changed, axis=(-1, -2), keepdims=True)
        direction[solving] += length * toward
        left = left - length * changed
        nearer = left / diagonal
        before, size = size, np.sum(left * nearer, axis=(-1, -2), keepdims=True)
        toward = nearer + size / before * toward
    return direction
