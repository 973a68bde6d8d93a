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
        From predictions and targets, (m,) each, m ≥ 1, to the score; NaN where it has no meaning.
    in_units : bool
        Whether it is in the target's unit.
    more_is_better : bool
    """

    name: str
    words: str
    meaning: str
    formula: Callable[[Array, Array], float]
    in_units: bool = False
    more_is_better: bool = False

    def of(self, z: Array, y: Array) -> float:
        """Return the score of predictions z of targets y, (m,) each; NaN where m is 0."""
        if len(y) == 0:
            return float("nan")
        if np.isnan(z).any():
            return 0.0 if self.more_is_better else float("inf")
        with np.errstate(over="ignore"):  # a run may diverge
            return self.formula(z, y)


def scores_of(loss: "Loss") -> tuple[Score, ...]:
    """Return what can be said of predictions under a loss; the first is the headline."""
    if not loss.classifies:
        return (RMSE, MAE)
    return (ACCURACY, AUC, LOG_LOSS) if loss.logit else (ACCURACY, AUC)


def _rmse(z: Array, y: Array) -> float:
    return float(np.sqrt(np.mean(np.square(z - y))))


def _mae(z: Array, y: Array) -> float:
    return float(np.mean(np.abs(z - y)))


def _accuracy(z: Array, y: Array) -> float:
    return float(np.mean((1 + y * np.sign(z)) / 2))


def _auc(z: Array, y: Array) -> float:
    ones, others = z[y > 0], np.sort(z[y < 0])
    if len(ones) == 0 or len(others) == 0:
        return float("nan")
    below = np.searchsorted(others, ones, "left") + np.searchsorted(others, ones, "right")
    return float(below.sum() / (2 * len(ones) * len(others)))


def _log_loss(z: Array, y: Array) -> float:
    return float(np.mean(np.logaddexp(0.0, -y * z)))


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
