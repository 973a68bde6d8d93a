"""Models as scenarios name them, the fitness that is minimised, and linear models.

Linear regression is known by its second moments, exact, and without touching records:
f(θ) = (σ/2)‖θ‖² + (1/n) Σ_i Σ_{D_i} (y − θᵀx)² = θᵀHθ − 2bᵀθ + c, with
C_i = X_iᵀX_i/n_i, r_i = X_iᵀy_i/n_i, H = Σ (n_i/n) C_i + (σ/2) I, b = Σ (n_i/n) r_i
(Async, equation (2), with the ridge loss of its experiments).

f(θ) = (σ/2)‖θ‖² + (1/n) Σ_i Σ_{D_i} φ(θᵀx, y) for a linear model of any convex loss. With s_j the
subgradients at θ* for which σθ* + (1/n) Σ s_j x_j = 0 (in Θ's interior), and δ = θ − θ*,

f(θ) − f(θ*) = (σ/2)‖δ‖² + (1/n) Σ_j [φ(z_j* + δᵀx_j) − φ(z_j*) − s_j δᵀx_j],

a sum of terms none of which is negative, so that nothing cancels close to θ*.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Positive, Variant
from asyncdp_sim.core.validation import faults_of
from asyncdp_sim.learning.objectives.losses import SQUARED, Fit, Hinge, LogisticLoss, Loss, positive
from asyncdp_sim.learning.objectives.minimisers import minimum
from asyncdp_sim.learning.objectives.records import LinearRecords, Norm, Records, stacks


class Objective(ABC):
    """f(θ) = (σ/2)‖θ‖² + (1/n) Σ_i Σ_{D_i} ℓ(θ; x, y) over Θ = {‖θ‖_∞ ≤ θ_max}.

    Attributes
    ----------
    sigma : float
        σ > 0, the strong convexity of g(θ) = (σ/2)‖θ‖².
    theta_max : float or None
        None is the whole space.
    records : array of int (N,)
        n_i.
    """

    sigma: float
    theta_max: float | None
    records: Ints

    @property
    @abstractmethod
    def n_features(self) -> int:
        """p, the coordinates of θ."""

    @property
    @abstractmethod
    def smoothness(self) -> float | None:
        """Lipschitz constant of ∇f (an upper bound of it); None where f is not smooth."""

    @property
    @abstractmethod
    def optimum(self) -> Array:
        """θ* = argmin of f over Θ, shape (p,); the best minimum found where f is not convex."""

    @property
    @abstractmethod
    def least(self) -> float:
        """f(θ*) > 0.

        Raises
        ------
        DataError
            If it is not positive, so that the relative fitness is undefined.
        """

    @property
    def second_moments(self) -> "Quadratic | None":
        """The same f by the second moments of the training rows; None if it is not quadratic."""
        return None

    @property
    def judge(self) -> "Quadratic | None":
        """The second moments of f and θ*, if of more rows than the owners'; else None."""
        return None

    @cached_property
    def weights(self) -> Array:
        """n_i/n, shape (N,)."""
        return np.asarray(self.records / self.records.sum())

    @property
    def n_owners(self) -> int:
        """N."""
        return len(self.records)

    @abstractmethod
    def excess(self, theta: Array) -> Array:
        """Return f(θ) − f(θ*) for points of shape (…, p); no point's bits depend on the others."""

    def fitness(self, theta: Array) -> Array:
        """Return f(θ) for points of shape (…, p)."""
        return self.least + self.excess(theta)

    @abstractmethod
    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return owner i's mean record gradient, one owner (from 0) and point (R, p) per row."""


@dataclass(frozen=True, eq=False)
class Quadratic(Objective):
    """A sum of owners' mean squared errors and a regulariser, known by its second moments.

    Attributes
    ----------
    gram : array (N, p, p)
        C_i, symmetric.
    moment : array (N, p)
        r_i.
    energy : array (N,)
        Mean of y² over owner i's records.
    records : array of int (N,)
        n_i.
    sigma : float
        σ > 0, the strong convexity of g(θ) = (σ/2)‖θ‖².
    theta_max : float or None
        Θ = {‖θ‖_∞ ≤ θ_max}; None is the whole space.
    """

    gram: Array
    moment: Array
    energy: Array
    records: Ints
    sigma: float
    theta_max: float | None

    @classmethod
    def from_records(
        cls,
        features: Sequence[Array],
        targets: Sequence[Array],
        sigma: float,
        theta_max: float | None,
    ) -> "Quadratic":
        """Return f from every owner's records, X_i of shape (n_i, p) and y_i of shape (n_i,)."""
        pairs = list(zip(features, targets, strict=True))
        return cls(
            gram=np.stack([x.T @ x / len(y) for x, y in pairs]),
            moment=np.stack([x.T @ y / len(y) for x, y in pairs]),
            energy=np.array([y @ y / len(y) for _, y in pairs]),
            records=np.array([len(y) for _, y in pairs], dtype=np.int64),
            sigma=sigma,
            theta_max=theta_max,
        )

    def of_owner(self, owner: int) -> "Quadratic":
        """Return f over one owner's records alone; ``owner`` counts from 0."""
        row = slice(owner, owner + 1)
        return replace(
            self,
            gram=self.gram[row],
            moment=self.moment[row],
            energy=self.energy[row],
            records=self.records[row],
        )

    @property
    def second_moments(self) -> "Quadratic":
        """The objective itself."""
        return self

    @cached_property
    def n_features(self) -> int:
        """p, the coordinates of θ."""
        return int(self.moment.shape[1])

    @cached_property
    def hessian(self) -> Array:
        """H, half the second derivative of f, shape (p, p)."""
        ridge = self.sigma / 2 * np.eye(self.n_features)
        return np.asarray(np.einsum("i,ijk->jk", self.weights, self.gram) + ridge)

    @cached_property
    def linear(self) -> Array:
        """b, shape (p,)."""
        return np.asarray(np.einsum("i,ij->j", self.weights, self.moment))

    @cached_property
    def smoothness(self) -> float:
        """Largest eigenvalue of the second derivative of f, 2 λ_max(H)."""
        return 2 * float(np.linalg.eigvalsh(self.hessian)[-1])

    @cached_property
    def free_optimum(self) -> Array:
        """Argmin of f over the whole space, shape (p,)."""
        return solved(self.hessian, self.linear, self.sigma / 2)

    @property
    def interior(self) -> bool:
        """Whether the free optimum lies in Θ, so that the slope at θ* is zero."""
        return self.theta_max is None or bool(np.max(np.abs(self.free_optimum)) <= self.theta_max)

    @cached_property
    def optimum(self) -> Array:
        """θ* = argmin of f over Θ, shape (p,)."""
        bound = self.theta_max
        if bound is None or self.interior:
            return self.free_optimum
        from scipy.optimize import lsq_linear  # only where the box is active: a slow import

        root = _root(self.hessian, self.sigma / 2)
        right = solved(root, self.linear, (self.sigma / 2) ** 0.5)
        fit = lsq_linear(root.T, right, (-bound, bound), tol=1e-14)
        return np.asarray(fit.x)

    @cached_property
    def least(self) -> float:
        """f(θ*) > 0."""
        theta = self.optimum
        constant = float(self.weights @ self.energy)
        least = float(theta @ self.hessian @ theta - 2 * self.linear @ theta + constant)
        # The regulariser alone has this much, whatever cancels among records of very large numbers.
        return positive(max(least, float(self.sigma / 2 * theta @ theta)))

    def excess(self, theta: Array) -> Array:
        """Return f(θ) − f(θ*) for points of shape (…, p), without cancellation.

        Each point is one matrix product of its own, so that a point's bits do not depend on how
        many are asked for.
        """
        step = theta - self.optimum
        curved = np.matmul(step[..., None, :], self.hessian)[..., 0, :]
        slope = 2 * (self.hessian @ self.optimum - self.linear)
        first = 0.0 if self.interior else np.einsum("...j,j->...", step, slope)
        return np.asarray(np.einsum("...j,...j->...", curved, step) + first)

    def relative_fitness(self, theta: Array) -> Array:
        """Return ψ(θ) = f(θ)/f(θ*) − 1 ≥ 0 for points of shape (…, p)."""
        return self.excess(theta) / self.least

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return owner i's mean record gradient 2(C_i θ − r_i), one owner and point per row.

        Parameters
        ----------
        owners : array of int (R,)
            Owners, from 0.
        points : array (R, p)
            Where each row's gradient is taken.
        """
        if self.n_features > FIXED:
            product = np.stack([self.gram[i] @ x for i, x in zip(owners, points, strict=True)])
        else:
            product = np.einsum("rjk,rj->rk", self.gram.take(owners, axis=0), points)
        product -= self.moment.take(owners, axis=0)
        product *= 2
        return product


def solved(matrix: Array, right: Array, least: float) -> Array:
    """Solve a system whose singular values are at least ``least`` in exact arithmetic.

    Columns of very large numbers next to small ones make a matrix singular in floating point. Its
    small singular values are then raised to ``least``.
    """
    try:
        solution = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        if np.isfinite(solution).all():
            return solution
    except np.linalg.LinAlgError:
        pass
    left, singular, rightmost = np.linalg.svd(matrix)
    return np.asarray(rightmost.T @ ((left.T @ right) / np.maximum(singular, least)))


def _root(matrix: Array, least: float) -> Array:
    """Return R with R Rᵀ = ``matrix``, whose eigenvalues are at least ``least``, up to rounding."""
    try:
        return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        return np.asarray(vectors * np.sqrt(np.maximum(values, least)))


FIXED = 64
"""Up to this p, gathered matrices beat a loop over replicates."""


@dataclass(frozen=True)
class Constants:
    """Constants of Assumptions 1 and 2 of Async.

    Attributes
    ----------
    sigma : float
        Strong convexity of g; f itself need not be convex.
    smoothness : float or None
        Largest eigenvalue of the second derivative of f, or an upper bound of it: 2λ_max(H) for
        the ridge loss, σ + sup φ'' λ_max(XᵀX/n) for other linear models; None where f is not
        smooth, and for the neural network, of which no bound is claimed.
    xi : float or None
        Ξ = sup over Θ and the owners' records of ‖∇ℓ‖ in the records' norm: max 2(|y| +
        θ_max‖x‖₁)‖x‖ for the ridge loss, max sup|φ'|‖x‖ for a loss of bounded slope (1 for
        the logistic and the hinge loss), an upper bound for the neural network; None where it is
        infinite.
    xi_g : float or None
        Ξ_g = sup over Θ of ‖∇g‖₂ = σ θ_max √p; None where Θ is the whole space.
    """

    sigma: float
    smoothness: float | None
    xi: float | None
    xi_g: float | None


def constants(objective: Objective, records: Records) -> Constants:
    """Return the constants of an objective and the records behind it."""
    bound = objective.theta_max
    xi_g = None
    if bound is not None:
        xi_g = objective.sigma * bound * float(np.sqrt(objective.n_features))
    return Constants(objective.sigma, objective.smoothness, records.gradient_bound(bound), xi_g)


class RowsObjective(Objective):
    """The mean loss over all owners' records, and a regulariser.

    Parameters
    ----------
    rows : Records
        Unclipped.
    sigma : float
        σ > 0.
    theta_max : float or None
        Θ = {‖θ‖_∞ ≤ θ_max}; None is the whole space.
    """

    def __init__(self, rows: Records, sigma: float, theta_max: float | None) -> None:
        self.rows, self.sigma, self.theta_max = rows, sigma, theta_max
        self.records = rows.counts

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return owner i's mean record gradient, one owner (from 0) and point (R, p) per row."""
        return self.rows.gradient(owners, points)


class LinearObjective(RowsObjective):
    """f of a model of one score, or of several, each linear in θ."""

    @cached_property
    def n_features(self) -> int:
        """p, the coordinates of θ."""
        return self.rows.loss.numbers(int(self.rows.features[0].shape[1]))

    @cached_property
    def smoothness(self) -> float | None:
        """σ + sup φ'' λ_max(XᵀX/n), which bounds the second derivative of f."""
        if self.rows.loss.curvature is None:
            return None
        gram = sum(x.T @ x for x in self.rows.features) / int(self.records.sum())
        return self.sigma + self.rows.loss.curvature * float(np.linalg.eigvalsh(gram)[-1])

    @cached_property
    def _fit(self) -> Fit:
        x, y = np.concatenate(self.rows.features), np.concatenate(self.rows.targets)
        return minimum(self.rows.loss, np.asfortranarray(x), y, self.sigma, self.theta_max)

    @cached_property
    def optimum(self) -> Array:
        """θ* = argmin of f over Θ, shape (p,)."""
        return self._fit.theta

    @cached_property
    def _met(self) -> list[tuple[Array, Array]]:
        """Predictions and subgradients at θ*, owner by owner."""
        slopes = np.split(self._fit.slopes, np.cumsum(self.records)[:-1])
        return [
            (self.rows.loss.scores(x, self.optimum), s)
            for x, s in zip(self.rows.features, slopes, strict=True)
        ]

    @cached_property
    def _pull(self) -> Array:
        """∇f(θ*) where θ* lies on Θ's boundary; zero in all other coordinates."""
        slopes = zip(self.rows.features, self._met, strict=True)
        mean = sum(self.rows.loss.pulled(x, s) for x, (_, s) in slopes)
        gradient = self.sigma * self.optimum + mean / int(self.records.sum())
        bound = np.inf if self.theta_max is None else self.theta_max
        inwards = np.where(self.optimum > 0, np.minimum(gradient, 0), np.maximum(gradient, 0))
        return np.where(np.abs(self.optimum) >= bound, inwards, 0.0)

    @cached_property
    def least(self) -> float:
        """f(θ*) > 0."""
        predictions, theta = zip(self._met, self.rows.targets, strict=True), self.optimum
        losses = [self.rows.loss.value(z, y).sum() for (z, _), y in predictions]
        return positive(float(self.sigma / 2 * theta @ theta + sum(losses) / self.records.sum()))

    def excess(self, theta: Array) -> Array:
        """Return f(θ) − f(θ*) for points of shape (…, p), without cancellation.

        Each point is a matrix product of its own, so that a point's bits do not depend on how
        many are asked for.
        """
        steps = theta.reshape(-1, self.n_features) - self.optimum
        total = np.zeros(len(steps))
        for x, y, (z, slope) in zip(self.rows.features, self.rows.targets, self._met, strict=True):
            for stack in stacks(len(steps), z.size):
                moved = self.rows.loss.scores(x, steps[stack])
                total[stack] += self.rows.loss.above_tangent(moved, z, y, slope).sum(axis=-1)
        square = np.array([float(step @ step) for step in steps])
        pull = np.array([float(self._pull @ step) for step in steps])
        excess = self.sigma / 2 * square + total / float(self.records.sum()) + pull
        return np.asarray(excess.reshape(theta.shape[:-1]))


class ModelKind(Variant):
    """A model with a quadratic regulariser on a box."""

    augmented: ClassVar[bool]
    """A constant 1 is appended to every row of features."""
    linear: ClassVar[bool]
    """A prediction is θᵀx, x a row of :meth:`design`."""
    quadratic: ClassVar[bool]
    """f is quadratic in θ, so that the records' second moments determine it."""
    estimator: ClassVar[str | None] = None
    """Module and class of scikit-learn with the same predictions; None where there is none."""
    first_of_two: ClassVar[bool] = False
    """Of two classes the score is of the first, and not of the second."""
    phi: ClassVar[Loss]
    """φ, the loss of a prediction."""

    kind: str
    regularisation: Positive
    regulariser: Literal["half-square", "square"] = "half-square"
    theta_max: Positive | None = None

    intercept: bool | None = None

    @model_validator(mode="after")
    def _one_intercept(self) -> Self:
        if self.augmented and self.intercept is not None:
            remedy = f"not allowed with model.kind = {self.kind}, which has an intercept"
            raise faults_of([Fault("intercept", str(self.intercept).lower(), remedy)])
        return self

    @property
    def sigma(self) -> float:
        """σ, the strong convexity of g."""
        return self.regularisation * (1 if self.regulariser == "half-square" else 2)

    @property
    def labels(self) -> tuple[float, ...]:
        """The labels of targets; empty where targets are numbers."""
        return (-1.0, 1.0) if self.phi.classifies else ()

    @property
    def classifies(self) -> bool:
        """Whether targets are labels."""
        return len(self.labels) > 0

    @abstractmethod
    def predictions(self, rows: Array, theta: Array) -> Array:
        """Return z, shape (n,), for rows of :meth:`design` and one model (p,)."""

    def guess(self, targets: Array) -> Array:
        """Return the best prediction z that is the same for all rows, shape ().

        For numbers it is their mean, for labels ln(m₊/m₋), where m is the count of a label plus 1.
        Targets that are NaN, or no labels, do not count.
        """
        if not self.classifies:
            return np.asarray(np.nanmean(targets))
        return np.asarray(-log_odds(targets, self.labels)[0])

    @abstractmethod
    def numbers(self, features: int) -> int:
        """Return p, the coordinates of a model of this number of features."""

    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> Objective:
        """Return f over the owners' records, ``features`` being rows of :meth:`design`."""
        rows = self.records(features, targets, None, "l1")
        return LinearObjective(rows, self.sigma, self.theta_max)

    @abstractmethod
    def records(
        self, features: Sequence[Array], targets: Sequence[Array], clip: float | None, norm: Norm
    ) -> Records:
        """Return the records' gradients, clipped to norm ≤ ``clip`` unless it is None."""

    @abstractmethod
    def gradient_bound(
        self, row_norm: float, target_max: float, n_features: int, norm: Norm
    ) -> float | None:
        """Return Ξ over Θ and all records of ‖x‖ ≤ ``row_norm``, |y| ≤ ``target_max``.

        Parameters
        ----------
        row_norm, target_max : float
        n_features : int
            Numbers in x, without the constant of an intercept.
        norm : str
            Of ‖x‖ and ‖∇ℓ‖.

        Returns
        -------
        float or None
            None where there is no bound.
        """

    def coefficients(self, theta: Array) -> Array:
        """Return a model (p,) as ``coef_`` of its :attr:`estimator`."""
        return theta[None] if self.classifies else theta

    def start_faults(self, initial: str | None) -> list[Fault]:  # noqa: ARG002
        """Return the faults of the start of an algorithm's models; None if it has no choice."""
        return []

    def design(self, features: Sequence[Array]) -> list[Array]:
        """Return the rows that θ multiplies, owner by owner, in Fortran order."""
        if not self.augmented:
            return list(features)
        return [np.asfortranarray(np.column_stack([x, np.ones(len(x))])) for x in features]

    def longest(self, row_norm: float, norm: Norm) -> float:
        """Return the largest norm of a row of :meth:`design` where ‖x‖ ≤ ``row_norm``."""
        if not self.augmented:
            return row_norm
        return row_norm + 1 if norm == "l1" else float(np.hypot(row_norm, 1.0))


def log_odds(targets: Array, labels: Sequence[float]) -> Array:
    """Return ln(m_c/m_K) of all labels but the last, m being the count of a label plus 1."""
    counts = np.array([1 + np.count_nonzero(targets == label) for label in labels])
    return np.asarray(np.log(counts[:-1] / counts[-1]))


class LinearKind(ModelKind):
    """A linear model with a loss φ(θᵀx, y) and a quadratic regulariser.

    Attributes
    ----------
    regularisation, regulariser, theta_max
        See :class:`ModelKind`.
    """

    augmented = False
    linear = True
    quadratic = False

    @override
    def predictions(self, rows: Array, theta: Array) -> Array:
        return self.phi.scores(rows, theta)

    @override
    def numbers(self, features: int) -> int:
        return self.phi.numbers(features + int(self.augmented))

    @override
    def records(
        self, features: Sequence[Array], targets: Sequence[Array], clip: float | None, norm: Norm
    ) -> Records:
        return LinearRecords(features, targets, clip, norm, self.phi)

    @override
    def gradient_bound(
        self, row_norm: float, target_max: float, n_features: int, norm: Norm
    ) -> float | None:
        # max|φ'| times the longest row; none where Θ is the whole space and no slope bounds φ'
        box, reach = self.theta_max, np.inf
        if box is not None:
            spread = 1.0 if norm == "l1" else float(np.sqrt(n_features))
            reach = box * spread * row_norm + (box if self.augmented else 0.0)
        steepest = float(self.phi.steepest(reach, target_max))
        return None if np.isinf(steepest) else steepest * self.longest(row_norm, norm)


class Ridge(LinearKind):
    """Linear regression, ℓ = (y − θᵀx)² (no ½); ∇ℓ = 2(θᵀx − y)x."""

    quadratic = True
    estimator = "sklearn.linear_model.Ridge"
    phi = SQUARED

    kind: Literal["ridge"] = "ridge"

    @override
    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> Quadratic:
        return Quadratic.from_records(features, targets, self.sigma, self.theta_max)


class Logistic(LinearKind):
    """Logistic regression, ℓ = ln(1 + e^{−yθᵀx}) with y ∈ {−1, 1}; ‖∇ℓ‖ ≤ ‖x‖."""

    estimator = "sklearn.linear_model.LogisticRegression"
    phi = LogisticLoss()

    kind: Literal["logistic"] = "logistic"


class SVM(LinearKind):
    """Linear SVM, ℓ = max(0, 1 − yθᵀ(x, 1)) with y ∈ {−1, 1}; ‖∇ℓ‖ ≤ ‖(x, 1)‖ (Collab).

    Features are augmented by 1, so that θ has p = ``data.features`` + 1 coordinates, of which the
    last is the intercept. It is regularised too, as published. f is not smooth.
    """

    augmented = True
    estimator = "sklearn.svm.LinearSVC"
    phi = Hinge()

    kind: Literal["svm"] = "svm"
