"""Scores of predictions on held-out rows, in units that people know: the target's own, or shares.

ψ and losses are the theory's measures; nobody's decision is in them. With targets y and predictions
z of m rows that have a target, RMSE = √(Σ(z − y)²/m) and MAE = Σ|z − y|/m are in the target's unit,
and R² is 1 − Σ(z − y)²/Σ(y − ȳ)², ȳ being these rows' mean. Where targets are labels ±1, accuracy
is the share of rows with sgn z = y (z = 0 counts half), balanced accuracy the mean of that share
over the labels, AUC the probability that a row of label 1 has a larger z than one of label −1 (ties
count half), and log loss the mean of ln(1 + e^(−yz)), for models whose z is the logarithm of odds.
Of K classes z has K − 1 numbers a row, as in :mod:`~asyncdp_sim.learning.objectives.softmax`, the
prediction is the class of the largest, and log loss the mean of −ln p_y. A model that has diverged,
so that some z is no number, errs infinitely, and its shares are 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.learning.objectives.softmax import SoftmaxLoss

if TYPE_CHECKING:
    from asyncdp_sim.learning.objectives import Loss


@dataclass(frozen=True)
class Score:
    """A measure of predictions.

    Attributes
    ----------
    name : str
        Columns bear it behind ``held_out_``.
    words : str
        In tables and figures.
    meaning : str
        In the dictionary of columns.
    formula : callable
        From predictions (…, m), or (J, m, K − 1) of K classes, and targets (m,), m ≥ 1, to scores
        (…,); NaN where they have no meaning.
    in_units : bool
        Whether it is in the target's unit.
    more_is_better : bool
    worst : float
        That of a model that has diverged.
    """

    name: str
    words: str
    meaning: str
    formula: Callable[[Array, Array], Array]
    in_units: bool = False
    more_is_better: bool = False
    worst: float = np.inf

    def of(self, z: Array, y: Array) -> Array:
        """Return the scores (…,) of predictions of targets y (m,); NaN where m is 0."""
        lost = np.isnan(z).any(axis=(-2, -1) if z.ndim > 2 else -1)
        if len(y) == 0:
            return np.full(lost.shape, np.nan)
        with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
            score = self.formula(z, y)
        return np.where(lost, self.worst, score)


def scores_of(loss: "Loss") -> tuple[Score, ...]:
    """Return the scores of predictions under a loss; the first is the headline."""
    if not loss.classifies:
        return (RMSE, MAE, R_SQUARED)
    if isinstance(loss, SoftmaxLoss) and loss.classes > 2:
        return (ACCURACY, BALANCED, LOG_LOSS)
    return (ACCURACY, BALANCED, AUC, LOG_LOSS) if loss.logit else (ACCURACY, BALANCED, AUC)


def right(z: Array, y: Array) -> Array:
    """Return whether labels are predicted right, (…, m): 1 or 0, or a share where scores tie."""
    if z.ndim > 2:
        return SoftmaxLoss(z.shape[-1] + 1).right(z, y)
    return np.asarray((1 + y * np.sign(z)) / 2)


def _r_squared(z: Array, y: Array) -> Array:
    spread = np.mean(np.square(y - y.mean()))
    if spread == 0 or (y == y[0]).all():  # whose mean may be another number, by rounding
        return np.full(z.shape[:-1], np.nan)
    return np.asarray(1 - np.mean(np.square(z - y), axis=-1) / spread)


def _balanced(z: Array, y: Array) -> Array:
    hits = right(z, y)
    return np.asarray(np.mean([hits[..., y == label].mean(axis=-1) for label in np.unique(y)], 0))


def _auc(z: Array, y: Array) -> Array:
    if z.ndim > 2:  # softmax scores the label −1 against the label 1
        z = -z[..., 0]
    ones, negatives = z[..., y > 0], np.sort(z[..., y < 0], axis=-1)
    pairs = ones.shape[-1] * negatives.shape[-1]
    if pairs == 0:
        return np.full(z.shape[:-1], np.nan)
    rows = zip(np.atleast_2d(ones), np.atleast_2d(negatives), strict=True)
    below = [
        (
            np.searchsorted(other, positives, "left") + np.searchsorted(other, positives, "right")
        ).sum()
        for positives, other in rows
    ]
    return np.asarray(np.reshape(below, z.shape[:-1]) / (2 * pairs))


def _log_loss(z: Array, y: Array) -> Array:
    if z.ndim > 2:
        return np.asarray(np.mean(SoftmaxLoss(z.shape[-1] + 1).value(z, y), axis=-1))
    return np.asarray(np.mean(np.logaddexp(0.0, -y * z), axis=-1))


_better = partial(Score, more_is_better=True, worst=0.0)

RMSE = Score(
    "rmse",
    "RMSE",
    "root mean squared error",
    lambda z, y: np.asarray(np.sqrt(np.mean(np.square(z - y), axis=-1))),
    in_units=True,
)
MAE = Score(
    "mae",
    "MAE",
    "mean absolute error",
    lambda z, y: np.asarray(np.mean(np.abs(z - y), axis=-1)),
    in_units=True,
)
R_SQUARED = _better(
    "r_squared",
    "R²",
    "1 − squared error / squared error of the rows' own mean",
    _r_squared,
    worst=-np.inf,
)
ACCURACY = _better(
    "accuracy",
    "accuracy",
    "share of correct labels; a prediction of 0 counts as half",
    lambda z, y: np.asarray(np.mean(right(z, y), axis=-1)),
)
BALANCED = _better(
    "balanced_accuracy",
    "balanced accuracy",
    "mean over labels of the share of correct labels",
    _balanced,
)
AUC = _better(
    "auc",
    "AUC",
    "probability that a row of label 1 ranks above a row of label −1; ties count as half",
    _auc,
)
LOG_LOSS = Score(
    "log_loss", "log loss", "mean of −ln of the predicted probability of the label", _log_loss
)
SCORES = (RMSE, MAE, R_SQUARED, ACCURACY, BALANCED, AUC, LOG_LOSS)
"""All of them; a model has those of :func:`scores_of` its loss."""
