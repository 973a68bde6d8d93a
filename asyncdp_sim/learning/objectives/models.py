"""Models as scenarios name them: what the rest of the house asks of each, and linear ones."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Positive, Variant
from asyncdp_sim.core.validation import faults_of
from asyncdp_sim.learning.objectives.linear import LinearObjective
from asyncdp_sim.learning.objectives.losses import SQUARED, Hinge, LogisticLoss, Loss
from asyncdp_sim.learning.objectives.quadratic import Quadratic
from asyncdp_sim.learning.objectives.records import LinearRecords
from asyncdp_sim.learning.objectives.rows import Norm, Objective, Records


class ModelKind(Variant):
    """A model with a quadratic regulariser on a box."""

    augmented: ClassVar[bool]
    """A constant 1 is appended to every row of features."""
    linear: ClassVar[bool]
    """A prediction is θᵀx, x a row of :meth:`design`."""
    quadratic: ClassVar[bool]
    """f is quadratic in θ: second moments of the records are all that it takes."""
    estimator: ClassVar[str | None] = None
    """Module and class of scikit-learn that predicts alike; None where none does."""
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
        """The labels that targets are; empty where they are numbers."""
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

        Of numbers their mean; of labels ln(m₊/m₋), each counted once more than it is there.
        Targets that are NaN, or no labels, do not count.
        """
        if not self.classifies:
            return np.asarray(np.nanmean(targets))
        return np.asarray(-log_odds(targets, self.labels)[0])

    @abstractmethod
    def numbers(self, features: int) -> int:
        """Return p, the coordinates of a model of so many features."""

    @abstractmethod
    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> Objective:
        """Return f over the owners' records, ``features`` being rows of :meth:`design`."""

    @abstractmethod
    def records(
        self, features: Sequence[Array], targets: Sequence[Array], clip: float | None, norm: Norm
    ) -> Records:
        """Return the records' gradients, clipped to norm ≤ ``clip`` where it is given."""

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
        """Return what is wrong with where an algorithm's models start; None says nothing."""
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
    """Return ln(m_c/m_K) of all labels but the last, m counting each once more than it is there."""
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
    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> Objective:
        return LinearObjective(features, targets, self.phi, self.sigma, self.theta_max)

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
