"""An owner's own models, and its uses of a joint one, fitted to some rows."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.decision.adapted import STRENGTHS, JointModels, LinearModels, pulled
from asyncdp_sim.decision.gain import OwnBest
from asyncdp_sim.decision.rows import OwnRows

BOOSTED_FROM = 100
"""Rows of an owner from which on boosting is among its own models."""
FINITE = STRENGTHS[:-1]


OWN = ("linear",) * len(FINITE) + ("constant", "boosting")
"""Names of what :meth:`OwnModels.scores` returns; all strengths of the linear one have one name."""


@dataclass(frozen=True, eq=False)
class OwnModels:
    """An owner's own models, fitted to rows: the constant, linear ones by strength, and boosting.

    Attributes
    ----------
    rows : OwnRows
    constant : array (S,)
    path : LinearModels or None
        Linear models (L, 1) that are pulled towards the constant; None where no model is fitted.
    """

    rows: OwnRows
    constant: Array
    path: LinearModels | None

    @cached_property
    def boosting(self) -> Any:
        """One small boosting of scikit-learn, fitted when it is first needed."""
        from sklearn import config_context
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        options: dict[str, Any] = {
            "max_iter": 30,
            "max_leaf_nodes": 4,
            "min_samples_leaf": 5,
            "early_stopping": False,
            "random_state": 0,
        }
        if self.rows.classes == 0:
            model = HistGradientBoostingRegressor(loss="absolute_error", **options)
        else:
            model = HistGradientBoostingClassifier(**options)
        # Its checks of what it is given take a twelfth of the time.
        with _one_thread(), config_context(assume_finite=True, skip_parameter_validation=True):
            return model.fit(self.rows.columns, self.rows.targets)

    def scores(self, columns: Array, *, boosted: bool) -> Array:
        """Return the predictions (C, n, S) of all of them, with boosting or without it."""
        constant = np.broadcast_to(self.constant, (1, len(columns), len(self.constant)))
        if self.path is None:
            return np.broadcast_to(constant, (len(OWN) - (not boosted), *constant.shape[1:]))
        found = [self.path.scores(columns)[:, 0], constant]
        if boosted:
            found.append(_of_boosting(self.boosting, columns, self.rows.classes)[None])
        return np.concatenate(found)


def _one_thread() -> AbstractContextManager[Any]:
    """Keep boosting to one thread: on few rows others only wait, and take 18 times the time."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="openmp")
    return limited


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # when scikit-learn has loaded its library

    return ThreadpoolController()


def _of_boosting(model: Any, columns: Array, classes: int) -> Array:
    """Return predictions (n, S); a class that was not among the rows has the least probability."""
    with _one_thread():
        predicted = model.predict(columns) if classes == 0 else model.predict_proba(columns)
    if classes == 0:
        return np.asarray(predicted)[:, None]
    logarithms = np.full((len(columns), classes), np.log(1e-6))
    places = model.classes_.astype(np.int64)
    logarithms[:, places] = np.log(np.maximum(predicted, 1e-6))
    return np.asarray(logarithms[:, :-1] - logarithms[:, -1:])


@dataclass(frozen=True, eq=False)
class Uses:
    """Uses of the joint models by an owner: adapted by each strength, the last as they are.

    Attributes
    ----------
    path : LinearModels or None
        Adapted models (L, J) of finite strengths; None where models are not adapted.
    own : array (S,) or None
        The constant that stands in place of adapted models, where no model is fitted.
    """

    path: LinearModels | None
    own: Array | None

    def scores(self, columns: Array, as_they_are: Array) -> Array:
        """Return predictions (U, J, n, S), given those (J, n, S) of the joint models."""
        last = as_they_are[None]
        if self.path is not None:
            return np.concatenate([self.path.scores(columns), last])
        if self.own is not None:
            constant = np.broadcast_to(self.own, (len(FINITE), *last.shape[1:]))
            return np.concatenate([constant, last])
        return last


def fitted(
    rows: OwnRows,
    sigma: float,
    joint: Sequence[JointModels] = (),
    near: LinearModels | None = None,
) -> tuple[OwnModels, list[Uses]]:
    """Fit own models to rows, and adapt sets of joint models, together.

    Where rows are few or of one class, the constant is all that is fitted. The search begins
    ``near`` one model of each strength.
    """
    constant, linear = rows.constant(), [each.linear for each in joint]
    if not rows.trainable:
        uses = [Uses(None, None if models is None else constant) for models in linear]
        return OwnModels(rows, constant, None), uses
    towards = LinearModels(np.zeros((1, rows.n_scores, rows.columns.shape[1])), constant[None])
    places = list[slice | None]()
    for models in linear:
        first = len(towards.constants)
        towards = towards if models is None else towards.followed_by(models.finite(constant))
        places.append(None if models is None else slice(first, len(towards.constants)))
    path = pulled(rows, sigma, towards, FINITE, near)
    uses = [Uses(None if place is None else path[:, place], None) for place in places]
    return OwnModels(rows, constant, path[:, :1]), uses


def boosts(rows: OwnRows, own_best: OwnBest) -> bool:
    """Return whether boosting is among an owner's own models."""
    return own_best == "any" and len(rows) >= BOOSTED_FROM


def least(total: Array) -> Ints:
    """Return which candidate errs least, of total errors (C, …), shape (…); ties: the last.

    The last linear candidate is the one that is pulled most, so that ties prefer the simpler one.
    """
    total = np.where(np.isnan(total), np.inf, total)
    reverse = np.argmin(total[::-1], axis=0)
    return np.asarray(len(total) - 1 - reverse)
