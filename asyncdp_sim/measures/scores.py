"""Scores of predictions on held-out rows, in units that people know: the target's own, or shares.

ψ and losses are the theory's measures; nobody's decision is in them. With targets y and predictions
z of m rows that have a target, RMSE = √(Σ(z − y)²/m) and MAE = Σ|z − y|/m are in the target's unit;
where targets are labels ±1, accuracy is the share of rows with sgn z = y (z = 0 counts half), AUC
the probability that a row of label 1 has a larger z than one of label −1 (ties count half), and log
loss the mean of ln(1 + e^(−yz)), for models whose z is the logarithm of odds. A model that has
diverged, so that some z is no number, errs infinitely, and its accuracy and AUC are 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from asyncdp_sim.learning.objectives import Loss

Array = npt.NDArray[np.float64]


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
        From predictions (…, m) and targets (m,), m ≥ 1, to scores (…,); NaN where they have no
        meaning.
    in_units : bool
        Whether it is in the target's unit.
    more_is_better : bool
    """

    name: str
    words: str
    meaning: str
    formula: Callable[[Array, Array], Array]
    in_units: bool = False
    more_is_better: bool = False

    def of(self, z: Array, y: Array) -> Array:
        """Return the scores (…,) of predictions z (…, m) of targets y (m,); NaN where m is 0."""
        if len(y) == 0:
            return np.full(z.shape[:-1], np.nan)
        with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
            found = self.formula(z, y)
        worst = 0.0 if self.more_is_better else np.inf
        return np.where(np.isnan(z).any(axis=-1), worst, found)


def scores_of(loss: "Loss") -> tuple[Score, ...]:
    """Return what can be said of predictions under a loss; the first is the headline."""
    if not loss.classifies:
        return (RMSE, MAE)
    return (ACCURACY, AUC, LOG_LOSS) if loss.logit else (ACCURACY, AUC)


def _rmse(z: Array, y: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(np.square(z - y), axis=-1)))


def _mae(z: Array, y: Array) -> Array:
    return np.asarray(np.mean(np.abs(z - y), axis=-1))


def _accuracy(z: Array, y: Array) -> Array:
    return np.asarray(np.mean((1 + y * np.sign(z)) / 2, axis=-1))


def _auc(z: Array, y: Array) -> Array:
    ones, others = z[..., y > 0], np.sort(z[..., y < 0], axis=-1)
    pairs = ones.shape[-1] * others.shape[-1]
    if pairs == 0:
        return np.full(z.shape[:-1], np.nan)
    rows = zip(np.atleast_2d(ones), np.atleast_2d(others), strict=True)
    below = [
        (np.searchsorted(other, one, "left") + np.searchsorted(other, one, "right")).sum()
        for one, other in rows
    ]
    return np.asarray(np.reshape(below, z.shape[:-1]) / (2 * pairs))


def _log_loss(z: Array, y: Array) -> Array:
    return np.asarray(np.mean(np.logaddexp(0.0, -y * z), axis=-1))


RMSE = Score("rmse", "RMSE", "the root of the mean squared error", _rmse, in_units=True)
MAE = Score("mae", "MAE", "the mean absolute error", _mae, in_units=True)
ACCURACY = Score(
    "accuracy",
    "accuracy",
    "the share of labels predicted, a zero counting half",
    _accuracy,
    more_is_better=True,
)
AUC = Score(
    "auc",
    "AUC",
    "the chance that a row of label 1 is placed above one of label −1",
    _auc,
    more_is_better=True,
)
LOG_LOSS = Score(
    "log_loss", "log loss", "the mean of −ln of the probability given to the label", _log_loss
)
SCORES = (RMSE, MAE, ACCURACY, AUC, LOG_LOSS)
"""All of them; a model has those of :func:`scores_of` its loss."""

__all__ = ["ACCURACY", "AUC", "LOG_LOSS", "MAE", "RMSE", "SCORES", "Score", "scores_of"]
