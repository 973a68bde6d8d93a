"""Scores of models on held-out rows, which nothing was trained on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.data import Dataset
from asyncdp_sim.data.dataset import blank, only_labels, void
from asyncdp_sim.learning.objectives import Loss, Model, Norm, Squared
from asyncdp_sim.measures.scores import Score, right, scores_of
from asyncdp_sim.privacy.sensitivity import Sensitivity

Predict = Callable[[Array, Array], Array]
_AT_ONCE = 2**17
"""Predictions held at once, a megabyte, unless one model has more."""


def products(rows: Array, models: Array) -> Array:
    """Return θᵀx of rows (m, p) under models (J, p), (J, m): each model's product by itself."""
    return np.asarray(np.matmul(rows, models[:, :, None])[:, :, 0])


def _one_by_one(predict: Predict, rows: Array, models: Array) -> Array:
    """Return predictions (J, m) of what takes one model (p,) at a time."""
    return np.array([predict(rows, model) for model in models])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out rows, and the loss that judges models on them, without regulariser.

    Attributes
    ----------
    features : array (m, p)
        Rows that θ multiplies.
    targets : array (m,)
    records : int
        How many rows with a target they stand for, ≥ 0; m unless the loss is squared.
    loss : Loss
        φ.
    known : tuple of array
        Rows (k, p) that have a target, and their targets (k,), which scores are of.
    predict : callable
        From rows (m, p) and models (J, p) to predictions (J, m), of each model what it is alone;
        θᵀx by default.
    """

    features: Array
    targets: Array
    records: int
    loss: Loss
    known: tuple[Array, Array]
    predict: Predict = products

    @classmethod
    def from_rows(
        cls,
        features: Array,
        targets: Array,
        loss: Loss,
        predict: Predict = products,
        nothing: Bools | None = None,
    ) -> "HeldOut":
        """Return the judge over rows (m, p) and their targets (m,).

        Those of ``nothing`` have none, and count nowhere.

        Under a linear model's squared loss the triangular factor of (X, y) stands for the rows:
        ‖y − Xθ‖ = ‖r − Rθ‖, with p + 1 rows at most and without cancellation.
        """
        if nothing is not None and nothing.any():
            features, targets = np.asfortranarray(features[~nothing]), targets[~nothing]
        records, values = len(targets), (features, targets)
        linear = predict is products
        if linear and isinstance(loss, Squared) and records > features.shape[1] + 1:
            factor = np.asarray(np.linalg.qr(np.column_stack([features, targets]), mode="r"))
            features, targets = np.asfortranarray(factor[:, :-1]), factor[:, -1].copy()
        return cls(features, targets, records, loss, values, predict)

    @property
    def scores(self) -> tuple[Score, ...]:
        """Scores of predictions in addition to their mean loss."""
        return scores_of(self.loss)

    def scored(self, models: Array, scores: Sequence[Score] | None = None) -> dict[Score, Array]:
        """Return scores of models (J, p), (J,) each; NaN without rows that have a target.

        Parameters
        ----------
        models : array (J, p)
        scores : sequence of Score, optional
            Which; all by default.
        """
        features, targets = self.known
        wanted = self.scores if scores is None else scores
        by_name: dict[Score, list[Array]] = {score: [] for score in wanted}
        for z in self._predictions(features, models):
            for score, item in by_name.items():
                item.append(score.of(z, targets))
        return {score: np.concatenate(item) for score, item in by_name.items()}

    def headline(self, models: Array) -> Array:
        """Return the first score of models (J, p), (J,)."""
        first = self.scores[:1]
        return self.scored(models, first)[first[0]]

    def mean_loss(self, models: Array) -> Array:
        """Return the mean of φ(z, y) for models (J, p), each by itself; NaN without targets."""
        with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
            return self._mean(models, self.loss.value)

    def error_rate(self, models: Array) -> Array:
        """Return the share of labels that predictions miss, for models (J, p).

        Of two labels a prediction of 0 counts as half an error; NaN without labels, or where a
        model diverged.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._mean(models, lambda z, y: 1 - right(z, y))

    def predictions(self, models: Array) -> Array:
        """Return predictions (J, k) of the rows that have a target, for models (J, p)."""
        return np.concatenate(list(self._predictions(self.known[0], models)))

    def _mean(self, models: Array, judged: Callable[[Array, Array], Array]) -> Array:
        if self.records == 0:
            return np.full(len(models), np.nan)
        sums = [
            judged(z, self.targets).sum(axis=-1) for z in self._predictions(self.features, models)
        ]
        return np.concatenate(sums) / self.records

    def _predictions(self, rows: Array, models: Array) -> Iterator[Array]:
        """Yield predictions of rows for some models after others; one piece where there is none."""
        part = max(1, _AT_ONCE // max(1, len(rows)))
        with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
            for first in range(0, max(1, len(models)), part):
                yield self.predict(rows, models[first : first + part])


def held_out(
    dataset: Dataset, model: Model, sensitivity: Sensitivity | None, norm: Norm
) -> tuple[tuple[HeldOut, ...], HeldOut | None]:
    """Return the judges over each owner's held-out rows, and that over all of them.

    Where training rows are brought into a bounded domain, rows to be predicted are scaled alike,
    but their targets stay as they are.

    Parameters
    ----------
    dataset : Dataset
    model : Model
    sensitivity : Sensitivity or None
    norm : str
        That of a domain's rows where it names none.
    """
    features, targets = list(dataset.held_out_features), list(dataset.held_out_targets)
    if len(features) == 0:
        return (), None
    if model.classifies:
        targets = [only_labels(y, model.labels) for y in targets]
    nothing = void(targets)
    targets = blank(targets, nothing)
    if sensitivity is not None:
        features, _ = sensitivity.confine(features, targets, norm)
    features = blank(model.design(features), nothing)
    predict = products if model.linear else partial(_one_by_one, model.predictions)
    pairs = zip(features, targets, strict=True)
    values = [
        HeldOut.from_rows(x, y, model.phi, predict, none)
        for (x, y), none in zip(pairs, nothing, strict=True)
    ]
    return tuple(values), _together(values)


def _together(each: Sequence[HeldOut]) -> HeldOut:
    """Return one judge over the rows of several, of which every row counts the same."""
    x = np.concatenate([left.features for left in each])
    y = np.concatenate([left.targets for left in each])
    records = sum(left.records for left in each)
    rows, targets = (np.concatenate(parts) for parts in zip(*(e.known for e in each), strict=True))
    joined = HeldOut.from_rows(np.asfortranarray(x), y, each[0].loss, each[0].predict)
    return replace(joined, records=records, known=(np.asfortranarray(rows), targets))
