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
from itertools import product

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.decision.rows import OwnRows, probabilities

STRENGTHS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, np.inf)
"""λ that are tried, both ends included."""
SMALLEST = 1e-6
"""Smallest σ/2 in a classifier: classes that a line divides have no best model without it."""

_NEAR = 1e-8
"""Half of this is what the objective may still fall by, before the last Newton step."""
BLOCK = 2**17
"""Numbers, 1 MB, that weighted rows take at a time."""
_FEW = 30
"""Columns up to which a problem's second derivatives are formed and solved."""
_SHARE = 1e-3
"""The share of a slope's size, squared, that a direction may leave far from a minimum."""


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Linear models of encoded columns.

    Attributes
    ----------
    coefficients : array (J, S, c)
    constants : array (J, S)
    """

    coefficients: Array
    constants: Array

    def scores(self, columns: Array) -> Array:
        """Return predictions z (J, n, S) of rows (n, c)."""
        with np.errstate(over="ignore", invalid="ignore"):  # a run may have diverged
            products = self.coefficients.reshape(-1, columns.shape[1]) @ columns.T
            z = products.reshape(*self.constants.shape, -1) + self.constants[..., None]
            return np.swapaxes(z, 1, 2)

    @property
    def finite(self) -> "LinearModels":
        """The same with zeros in place of models that have diverged: nothing is to be had there."""
        kept = np.isfinite(self.coefficients).all(axis=(1, 2))
        kept = np.asarray(kept & np.isfinite(self.constants).all(axis=1))
        return LinearModels(
            np.where(kept[:, None, None], self.coefficients, 0.0),
            np.where(kept[:, None], self.constants, 0.0),
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
        """Return models whose scores are log-odds: those of margins by a sigmoid of each."""
        if not self.margins:
            return self
        slope, constant = np.zeros(len(self.scores)), np.zeros(len(self.scores))
        known = rows.take(trained)
        nothing = LinearModels(np.zeros((1, 1, 1)), known.constant()[None])
        constant[:] = nothing.constants[0, 0]
        if known.trainable:
            for j in np.flatnonzero(np.isfinite(self.scores).all(axis=(1, 2))):
                margin = replace(known, columns=self.scores[j, trained])
                path = pulled(margin, 0.0, nothing, [0.003])
                slope[j] = path.coefficients[0, 0, 0, 0]
                constant[j] = path.constants[0, 0, 0]
        with np.errstate(invalid="ignore"):
            scores = slope[:, None, None] * self.scores + constant[:, None, None]
        linear = self.linear
        if linear is not None:
            finite = linear.finite
            linear = LinearModels(
                slope[:, None, None] * finite.coefficients,
                slope[:, None] * finite.constants + constant[:, None],
            )
        return replace(self, scores=np.nan_to_num(scores), linear=linear, margins=False)


@dataclass(frozen=True, eq=False)
class Path:
    """Models by strength: ``coefficients`` (L, J, S, c) and ``constants`` (L, J, S)."""

    coefficients: Array
    constants: Array

    def scores(self, columns: Array) -> Array:
        """Return predictions (L, J, n, S)."""
        n_strengths, n_models = self.constants.shape[:2]
        flat = LinearModels(
            self.coefficients.reshape(-1, *self.coefficients.shape[2:]),
            self.constants.reshape(-1, self.constants.shape[-1]),
        )
        z = flat.scores(columns)
        return z.reshape(n_strengths, n_models, *z.shape[1:])


def pulled(rows: OwnRows, sigma: float, towards: LinearModels, strengths: Sequence[float]) -> Path:
    """Return the minima of f for some finite strengths and models to be pulled towards.

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
    """
    n, (centre, scale, turned, right, singular) = len(rows), rows.turned
    goal = towards.coefficients * scale
    b0 = towards.constants + towards.coefficients @ centre
    strength = np.asarray(strengths, dtype=float)[:, None, None]
    base = sigma / 2 if rows.classes == 0 else max(sigma / 2, SMALLEST)
    weight = base + strength
    share = np.divide(strength, weight, out=np.zeros_like(weight), where=weight > 0)
    start = share[..., None] * goal
    inside = start @ right.T
    if rows.classes == 0:
        target = rows.targets @ turned / n
        curvature = singular**2 / n
        total = curvature + weight[..., None]
        spanned = np.divide(
            target + weight[..., None] * inside, total, out=np.zeros_like(inside), where=total > 0
        )
        constant = (rows.targets.mean() + strength * b0) / (1 + strength)
    else:
        spanned, constant = _newton(rows, turned, inside, b0, weight, strength)
    scaled = start + (spanned - inside) @ right
    coefficients = scaled / scale
    return Path(coefficients, constant - coefficients @ centre)


def _newton(
    rows: OwnRows, turned: Array, inside: Array, b0: Array, weight: Array, strength: Array
) -> tuple[Array, Array]:
    """Minimise log losses by damped Newton steps, all strengths and models together.

    In coordinates w = (γ, b) of the rows' span and the constant, each class but the last its own.
    """
    n, rank = turned.shape
    shape = (*np.broadcast_shapes(inside.shape[:2], weight.shape[:2]), rows.scores, rank + 1)
    design = np.column_stack([turned, np.ones(n)])
    aim = np.concatenate([inside, np.broadcast_to(b0, shape[:-1])[..., None]], axis=-1)
    pull = np.empty(shape)
    pull[..., :-1], pull[..., -1:] = weight[..., None], strength[..., None]
    aim, pull = aim.reshape(-1, *shape[2:]), pull.reshape(-1, *shape[2:])
    own = np.arange(rows.scores)[:, None] == rows.targets
    w = np.zeros_like(aim)
    w[..., -1] = rows.constant()
    value = _fitness(design, own, w, aim, pull)
    active = np.arange(len(w))
    for _ in range(60):
        here = w[active]
        chances = probabilities(here @ design.T, axis=-2)[..., :-1, :]
        slope = (chances - own) @ design / n
        slope += 2 * pull[active] * (here - aim[active])
        step = -_solved(design, chances, pull[active], slope)
        decrease = -np.sum(step * slope, axis=(-1, -2))
        near = decrease <= _NEAR  # one more step squares what is left
        w[active[near]] = here[near] + step[near]
        active = active[~near]
        if len(active) == 0:
            break
        w[active], value[active] = _searched(
            design, own, here[~near], step[~near], aim[active], pull[active], value[active]
        )
    w = w.reshape(shape)
    return w[..., :-1], w[..., -1]


def _solved(design: Array, chances: Array, pull: Array, slope: Array) -> Array:
    """Return the Newton direction, without its sign, of each problem.

    By conjugate gradients, all problems together: the design's columns are orthogonal, so that the
    diagonal of the second derivatives is nearly all of them, and few steps suffice.
    """
    if design.shape[1] <= _FEW:
        return _solved_directly(design, chances, pull, slope)
    n, dimension = len(design), slope[0].size
    direction, solving = np.zeros_like(slope), np.arange(len(slope))
    left, pull = slope, 2 * pull + 1e-12
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


def _solved_directly(design: Array, chances: Array, pull: Array, slope: Array) -> Array:
    """Return the same by all second derivatives, which are quicker of few columns."""
    count, scores, n = chances.shape
    size = design.shape[1]
    second = np.empty((count, scores, size, scores, size))
    some = max(1, BLOCK // design.size)
    for first, row in product(range(0, count, some), range(scores)):
        part = slice(first, first + some)
        for other in range(row, scores):
            bend = chances[part, row] * ((row == other) - chances[part, other]) / n
            block = np.swapaxes(bend[..., None] * design, -1, -2) @ design
            second[part, row, :, other] = block
            second[part, other, :, row] = block
    whole = second.reshape(count, scores * size, scores * size)
    places = np.arange(scores * size)
    whole[:, places, places] += 2 * pull.reshape(count, -1) + 1e-12
    return np.asarray(np.linalg.solve(whole, slope.reshape(count, -1, 1)).reshape(slope.shape))


def _searched(
    design: Array,
    own: Array,
    here: Array,
    step: Array,
    aim: Array,
    pull: Array,
    value: Array,
) -> tuple[Array, Array]:
    """Halve steps until none makes its problem worse; one that cannot be helped stays."""
    moved, reached = here + step, _fitness(design, own, here + step, aim, pull)
    length = 1.0
    for _ in range(30):
        worse = np.flatnonzero(~(reached <= value))
        if len(worse) == 0:
            return moved, reached
        length /= 2
        moved[worse] = here[worse] + length * step[worse]
        reached[worse] = _fitness(design, own, moved[worse], aim[worse], pull[worse])
    helpless = ~(reached <= value)
    moved[helpless], reached[helpless] = here[helpless], value[helpless]
    return moved, reached


def _fitness(design: Array, own: Array, w: Array, aim: Array, pull: Array) -> Array:
    z = w @ design.T  # the cases come last: sums over few classes are quick then
    top = np.maximum(z.max(axis=-2), 0.0)
    total = top + np.log(np.exp(z - top[:, None]).sum(axis=-2) + np.exp(-top))
    losses = total - np.sum(z * own, axis=-2)
    return np.asarray(losses.mean(axis=-1) + np.sum(pull * (w - aim) ** 2, axis=(-1, -2)))
